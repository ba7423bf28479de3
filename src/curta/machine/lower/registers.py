"""Registers: one for every value, such that as few copies as possible are left.

Values that an edge connects, or a copy, want the same register; arguments and results want those
where callers and callees expect them. The most frequent wishes are granted first, if the values do
not conflict. What lives across a call lies below its frame; where there is no room, the frame
begins higher up.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

from curta.machine.instructions import GLOBALS
from curta.machine.lower.code import (
    Call,
    Callee,
    Code,
    Return,
    TailCall,
    Value,
    edges,
    end_reads,
    return_register,
)
from curta.machine.lower.conflicts import Conflicts, Site
from curta.machine.lower.flow import Flow, find_flow
from curta.machine.lower.liveness import members

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
    flow, conflicts = find_flow(code), Conflicts(code)
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
    counts: defaultdict[Callee | None, float] = defaultdict(float)
    for label, block in code.blocks.items():
        for step in (*block.steps, block.end):
            if isinstance(step, Call | TailCall):
                counts[step.callee] += flow.often(label)
    return counts


def _wishes(code: Code, flow: Flow, slots: dict[Site, int]) -> list[Wish]:
    """Who wants to share a register, the most frequent first."""
    wishes: list[Wish] = [(1, v, None, place) for place, v in enumerate(code.entry.parameters)]
    for label, block in code.blocks.items():
        often = flow.often(label)
        for index, step in enumerate(block.steps):
            if isinstance(step, Call):
                for row in (step.arguments, step.results):
                    wishes += [(often, v, None, n) for n, v in enumerate(row, slots[label, index])]
            elif step.operation == "copy" and step.b is not None and step.d is not None:
                wishes.append((often, step.d, step.b, 0))
        for edge in edges(block.end):
            parameters = code.blocks[edge.label].parameters
            wishes += [(often, p, v, 0) for p, v in zip(parameters, edge.arguments, strict=True)]
        if isinstance(block.end, Return | TailCall):
            wishes += [(often, v, None, place) for place, v in enumerate(end_reads(block.end))]
    return sorted(wishes, key=lambda wish: -wish[0])


class _Web(NamedTuple):
    """Values that share a register, or several of them that are in one. `conflicts` are the values
    that are read after one of these is written.
    """

    members: int
    conflicts: int
    limit: int = GLOBALS
    """The register has to lie below."""
    home: int | None = None
    pin: int | None = None
    """The register, if it is chosen already."""

    def differs(self, other: _Web) -> bool:
        return bool(self.conflicts & other.members or other.conflicts & self.members)

    def joined(self, other: _Web) -> _Web:
        homes = [home for home in (self.home, other.home) if home is not None]
        return _Web(
            self.members | other.members,
            self.conflicts | other.conflicts,
            min(self.limit, other.limit),
            min(homes, default=None),
            other.pin if self.pin is None else self.pin,
        )


_NOTHING = _Web(0, 0)


class _Joined:
    """The webs of all values; `heads` leads from each value to one that stands for its web."""

    def __init__(
        self, code: Code, conflicts: Conflicts, slots: dict[Site, int], back: int, room: int
    ) -> None:
        self.in_shared = conflicts.in_shared
        limits = _limits(conflicts, slots)
        self.webs: dict[Value, _Web] = {}
        self.in_register: dict[int, _Web] = {}
        for value, others in conflicts.of.items():
            if value not in self.in_shared:
                home = code.home.get(value)
                home = home if home is None or home < code.first_cell else home + room
                self.webs[value] = _Web(1 << value, others, limits.get(value, GLOBALS), home)
        self.heads = {value: value for value in self.webs}
        if conflicts.returned in self.webs:
            self._put(conflicts.returned, back)

    def head(self, value: Value) -> Value:
        heads = self.heads
        while heads[value] != value:
            heads[value] = heads[heads[value]]
            value = heads[value]
        return value

    def grant(self, wish: Wish) -> None:
        """Fulfil a wish, if that is possible; constants and what is shared have no webs."""
        _, value, other, register = wish
        if value not in self.heads or (other is not None and other not in self.heads):
            return
        one = self.head(value)
        if other is not None:
            self._join(one, self.head(other))
        elif self.webs[one].pin is None and self._fits(self.webs[one], register):
            self._put(one, register)

    def _fits(self, web: _Web, register: int) -> bool:
        return register < web.limit and not web.differs(self.in_register.get(register, _NOTHING))

    def _put(self, head: Value, register: int) -> None:
        web = self.webs[head] = self.webs[head]._replace(pin=register)
        self.in_register[register] = web.joined(self.in_register.get(register, _NOTHING))

    def _join(self, one: Value, other: Value) -> None:
        first, second = self.webs[one], self.webs[other]
        if one == other or first.differs(second):
            return
        both = first.joined(second)
        pin = both.pin
        if pin is not None and (second.pin not in (None, pin) or not self._fits(both, pin)):
            return
        del self.webs[other]
        self.heads[other] = one
        self.webs[one] = both
        if pin is not None:
            self._put(one, pin)

    def choose(self) -> tuple[dict[Value, int], int]:
        """A register for every value, and by how much frames would have to be higher for that."""
        higher = 0
        waiting = [head for head, web in self.webs.items() if web.pin is None]
        for head in sorted(waiting, key=lambda h: (self.webs[h].limit, self.webs[h].home or 0)):
            web = self.webs[head]
            register = web.home or 0
            if not self._fits(web, register):
                there = self.in_register.get
                register = next(r for r in count() if not web.differs(there(r, _NOTHING)))
                higher = max(higher, register + 1 - web.limit)
            self._put(head, register)
        found = {value: self.webs[self.head(value)].pin for value in self.heads}
        return {**{v: r for v, r in found.items() if r is not None}, **self.in_shared}, higher


def _limits(conflicts: Conflicts, slots: dict[Site, int]) -> dict[Value, int]:
    """The registers that values have to lie below, as they live across calls."""
    limits: dict[Value, int] = {}
    seen = 0
    for slot, values in sorted((slots[site], values) for site, values in conflicts.across.items()):
        limits.update(dict.fromkeys(members(values & ~seen), slot))
        seen |= values
    return limits
