"""Registers: one for every value, such that as few copies as possible are left.

Values that an edge connects, or a copy, want the same register; arguments and results want those
where callers and callees expect them. The most frequent wishes are granted first, if the values do
not conflict. What lives across a call lies below its frame; where there is no room, the frame
begins higher up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from curta.machine.instructions import GLOBALS
from curta.machine.lowering.code import (
    Call,
    Callee,
    Code,
    Return,
    TailCall,
    Value,
    edges,
    return_register,
)
from curta.machine.lowering.conflicts import Conflicts, Site, find_conflicts
from curta.machine.lowering.flow import Flow, find_flow
from curta.machine.lowering.liveness import members

Wish = tuple[float, Value, Value | None, int]
"""How often it matters, a value, and another one or a register that it wants to share."""


@dataclass(frozen=True, slots=True)
class Registers:
    """`of` has a register for every value but constants, `slots` the first register of the frame
    of every call. Where to return to is in register `back`. `calls` is how often each function is
    called when this one runs once, at a guess; None is those that there are pointers to.
    """

    of: dict[Value, int]
    slots: dict[Site, int]
    back: int
    frame: int
    calls: dict[Callee | None, float]
    flow: Flow
    conflicts: Conflicts


def choose_registers(code: Code) -> Registers:
    """Registers for all values; frames of calls are moved up until there are enough."""
    flow = find_flow(code)
    conflicts = find_conflicts(code)
    back = return_register(code.parameters, code.results)
    calls = {
        (label, index): step
        for label, block in code.blocks.items()
        for index, step in enumerate(block.steps)
        if isinstance(step, Call)
    }
    room = 0
    higher = 1
    while higher:
        slots = {site: code.first_cell + room + call.height for site, call in calls.items()}
        joined = _Joined(code, conflicts, slots, back, room)
        for wish in _wishes(code, flow, slots):
            joined.grant(wish)
        chosen, higher = joined.choose()
        room += higher
    frame = max([back, *(r for r in chosen.values() if r < GLOBALS)]) + 1
    for site, call in calls.items():
        needed = return_register(len(call.arguments), len(call.results)) + 1
        frame = max(frame, slots[site] + needed)
    return Registers(chosen, slots, back, frame, _count_calls(code, flow), flow, conflicts)


def _count_calls(code: Code, flow: Flow) -> dict[Callee | None, float]:
    counts: dict[Callee | None, float] = {}
    for label, block in code.blocks.items():
        called = [step.callee for step in block.steps if isinstance(step, Call)]
        if isinstance(block.end, TailCall):
            called.append(block.end.callee)
        for callee in called:
            counts[callee] = counts.get(callee, 0.0) + flow.often(label)
    return counts


def _wishes(code: Code, flow: Flow, slots: dict[Site, int]) -> list[Wish]:
    """Who wants to share a register, the most frequent first."""
    wishes: list[Wish] = [(1, v, None, place) for place, v in enumerate(code.entry.parameters)]
    for label, block in code.blocks.items():
        often = flow.often(label)
        for index, step in enumerate(block.steps):
            if isinstance(step, Call):
                slot = slots[label, index]
                wishes += [(often, v, None, slot + n) for n, v in enumerate(step.arguments)]
                wishes += [(often, v, None, slot + n) for n, v in enumerate(step.results)]
            elif step.operation == "copy" and step.b is not None and step.d is not None:
                wishes.append((often, step.d, step.b, 0))
        for edge in edges(block.end):
            parameters = code.blocks[edge.label].parameters
            wishes += [(often, p, v, 0) for p, v in zip(parameters, edge.arguments, strict=True)]
        wishes += [(often, v, None, place) for place, v in enumerate(_given(block.end))]
    constants = code.constants
    kept = [w for w in wishes if w[1] not in constants and w[2] not in constants]
    kept.sort(key=lambda wish: -wish[0])
    return kept


def _given(end: object) -> tuple[Value, ...]:
    """What has to be in the first registers at the end of a block."""
    match end:
        case Return():
            return end.values
        case TailCall():
            return end.arguments
    return ()


class _Joined:
    """Values, some of which have become one: `heads` leads from each to the one that stands for
    them, whose conflicts and limits are those of all.
    """

    def __init__(
        self, code: Code, conflicts: Conflicts, slots: dict[Site, int], back: int, room: int
    ) -> None:
        first = code.first_cell
        self.home = {v: r if r < first else r + room for v, r in code.home.items()}
        self.in_shared = conflicts.in_shared
        self.conflicts = {v: c for v, c in conflicts.of.items() if v not in self.in_shared}
        self.heads = {value: value for value in self.conflicts}
        self.members = {value: 1 << value for value in self.conflicts}
        self.limits = dict.fromkeys(self.conflicts, GLOBALS)
        """Registers have to lie below."""
        for site, values in conflicts.across.items():
            slot = slots[site]
            for value in members(values):
                if self.limits.get(value, 0) > slot:
                    self.limits[value] = slot
        self.pins: dict[Value, int] = {}
        self.pinned_to: dict[int, int] = {}
        """For every register the values that are pinned to it."""
        if conflicts.returned in self.conflicts:
            self.pins[conflicts.returned] = back
            self.pinned_to[back] = 1 << conflicts.returned

    def head(self, value: Value) -> Value:
        heads = self.heads
        while heads[value] != value:
            heads[value] = heads[heads[value]]
            value = heads[value]
        return value

    def grant(self, wish: Wish) -> None:
        """Fulfil a wish, if that is possible."""
        _, value, other, register = wish
        if value in self.in_shared or (other is not None and other in self.in_shared):
            return
        if other is None:
            self._pin(self.head(value), register)
        else:
            self._join(self.head(value), self.head(other))

    def _pin(self, value: Value, register: int) -> None:
        if value in self.pins or register >= self.limits[value]:
            return
        there = self.pinned_to.get(register, 0)
        if not there & self.conflicts[value]:
            self.pins[value] = register
            self.pinned_to[register] = there | self.members[value]

    def _join(self, one: Value, other: Value) -> None:
        if one == other or self.conflicts[one] & self.members[other]:
            return
        limit = min(self.limits[one], self.limits[other])
        conflicts = self.conflicts[one] | self.conflicts[other]
        pin = self.pins.get(one, self.pins.get(other))
        together = self.members[one] | self.members[other]
        if pin is not None:
            if self.pins.get(other, pin) != pin or pin >= limit:
                return
            if conflicts & self.pinned_to[pin]:
                return
            self.pinned_to[pin] |= together
            self.pins[one] = pin
        self.heads[other] = one
        self.conflicts[one], self.limits[one], self.members[one] = conflicts, limit, together

    def choose(self) -> tuple[dict[Value, int], int]:
        """A register for every value, and by how much frames would have to be higher for that."""
        heads = [value for value in self.heads if self.heads[value] == value]
        chosen = {value: self.pins[value] for value in heads if value in self.pins}
        waiting = [value for value in heads if value not in chosen]
        homes = {value: self._home(value) for value in waiting}
        waiting.sort(key=lambda value: (self.limits[value], homes[value]))
        higher = 0
        for value in waiting:
            taken = set(self._taken(value, chosen))
            register = homes[value]
            if register in taken or register >= self.limits[value]:
                register = next(r for r in range(len(taken) + 1) if r not in taken)
            higher = max(higher, register + 1 - self.limits[value])
            chosen[value] = register
        found = {value: chosen[self.head(value)] for value in self.heads}
        return {**found, **self.in_shared}, higher

    def _home(self, value: Value) -> int:
        """The register that a value would have anyway."""
        return min(
            (self.home[v] for v in members(self.members[value]) if v in self.home), default=0
        )

    def _taken(self, value: Value, chosen: dict[Value, int]) -> Iterator[int]:
        for other in members(self.conflicts[value]):
            if other in self.heads:
                register = chosen.get(self.head(other))
                if register is not None:
                    yield register
