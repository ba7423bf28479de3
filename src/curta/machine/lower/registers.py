"""Registers: one for every value, such that as few copies as possible are left.

Values that an edge connects, or a copy, want the same register; arguments and results want those
where callers and callees expect them. The most frequent wishes are granted first, if the values do
not conflict. What lives across a call lies below its frame; where there is no room, the frame
begins higher up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
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
from curta.machine.lower.conflicts import Conflicts, Site, members
from curta.machine.lower.flow import Flow, find_flow

Wish = tuple[float, Value, int]
"""How often it matters, a value, and another one that it wants to share a register with; register r
is ~r here.
"""


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
        webs = _Webs(code, conflicts, slots, room)
        for wish in [(0, conflicts.returned, ~back), *_wishes(code, flow, slots)]:
            webs.grant(wish)
        chosen, higher = webs.choose()
        room += higher
    chosen |= conflicts.in_shared
    frame = max([back, *(r for r in chosen.values() if r < GLOBALS)]) + 1
    for site, call in calls.items():
        needed = return_register(len(call.arguments), len(call.results)) + 1
        frame = max(frame, slots[site] + needed)
    return Registers(chosen, slots, back, frame, _count_calls(code, flow), conflicts)


def _count_calls(code: Code, flow: Flow) -> dict[Callee | None, float]:
    counts: defaultdict[Callee | None, float] = defaultdict(float)
    for label, block in code.blocks.items():
        for step in (*block.steps, block.end):
            if isinstance(step, Call | TailCall):
                counts[step.callee] += flow.often(label)
    return counts


def _wishes(code: Code, flow: Flow, slots: dict[Site, int]) -> list[Wish]:
    """Who wants to share a register, the most frequent first."""
    wishes = _in_row(1, code.entry.parameters, 0)
    for label, block in code.blocks.items():
        often = flow.often(label)
        for index, step in enumerate(block.steps):
            if isinstance(step, Call):
                slot = slots[label, index]
                wishes += _in_row(often, step.arguments, slot) + _in_row(often, step.results, slot)
            elif step.operation == "copy" and step.b is not None and step.d is not None:
                wishes.append((often, step.d, step.b))
        for edge in edges(block.end):
            parameters = code.blocks[edge.label].parameters
            wishes += [(often, p, v) for p, v in zip(parameters, edge.arguments, strict=True)]
        if isinstance(block.end, Return | TailCall):
            wishes += _in_row(often, end_reads(block.end), 0)
    return sorted(wishes, key=lambda wish: -wish[0])


def _in_row(often: float, values: Iterable[Value], first: int) -> list[Wish]:
    return [(often, value, ~register) for register, value in enumerate(values, first)]


class _Web(NamedTuple):
    """Values that share a register. `conflicts` are those that are read after one of these is
    written; the register has to lie below `limit`.
    """

    members: int = 0
    conflicts: int = 0
    limit: int = GLOBALS
    home: int | None = None

    def differs(self, other: _Web) -> bool:
        return bool(self.conflicts & other.members or other.conflicts & self.members)

    def joined(self, other: _Web) -> _Web:
        homes = [home for home in (self.home, other.home) if home is not None]
        return _Web(
            self.members | other.members,
            self.conflicts | other.conflicts,
            min(self.limit, other.limit),
            min(homes, default=None),
        )


class _Webs:
    """The webs of all values and of registers; `heads` leads from each of them to the one that
    stands for its web. What is in a register is in the register's web.
    """

    def __init__(self, code: Code, conflicts: Conflicts, slots: dict[Site, int], room: int) -> None:
        limits = _limits(conflicts, slots)
        self.webs: dict[int, _Web] = {}
        for value, others in conflicts.of.items():
            if value not in conflicts.in_shared:
                home = code.home.get(value)
                home = home if home is None or home < code.first_cell else home + room
                self.webs[value] = _Web(1 << value, others, limits.get(value, GLOBALS), home)
        self.heads = {value: value for value in self.webs}

    def head(self, value: int) -> int:
        heads = self.heads
        if value not in heads:
            heads[value], self.webs[value] = value, _Web()
        while heads[value] != value:
            heads[value] = heads[heads[value]]
            value = heads[value]
        return value

    def grant(self, wish: Wish) -> None:
        """Fulfil a wish, if that is possible; constants and what is shared have no webs."""
        _, value, other = wish
        if value in self.heads and (other < 0 or other in self.heads):
            self.join(self.head(value), self.head(other))

    def join(self, one: int, other: int) -> bool:
        """Let two webs be one, if they can."""
        if other < 0:
            one, other = other, one
        first, second = self.webs[one], self.webs[other]
        both = first.joined(second)
        if one == other or other < 0 or first.differs(second) or (one < 0 and ~one >= both.limit):
            return False
        del self.webs[other]
        self.heads[other] = one
        self.webs[one] = both
        return True

    def choose(self) -> tuple[dict[Value, int], int]:
        """A register for every value, and by how much frames would have to be higher for that."""
        higher = 0
        waiting = [head for head in self.webs if head >= 0]
        for head in sorted(waiting, key=lambda h: (self.webs[h].limit, self.webs[h].home or 0)):
            web = self.webs[head]
            if not self.join(self.head(~(web.home or 0)), head):
                self.webs[head] = web._replace(limit=GLOBALS)
                register = next(r for r in count() if self.join(self.head(~r), head))
                higher = max(higher, register + 1 - web.limit)
        return {value: ~self.head(value) for value in self.heads if value >= 0}, higher


def _limits(conflicts: Conflicts, slots: dict[Site, int]) -> dict[Value, int]:
    """The registers that values have to lie below, as they live across calls."""
    limits: dict[Value, int] = {}
    seen = 0
    for slot, values in sorted((slots[site], values) for site, values in conflicts.across.items()):
        limits.update(dict.fromkeys(members(values & ~seen), slot))
        seen |= values
    return limits
