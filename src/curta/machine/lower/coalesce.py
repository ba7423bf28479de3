"""Coalesce: values that a copy connects share a register, if they never differ while both live.

Two webs conflict where one is written, other than by a copy of the other, while the other is read
later. Webs without a conflict can become one, and the copy between them is nothing; then all get
registers anew, the ones they had where possible. What lives across a call lies below its frame.
"""

from __future__ import annotations

from curta.machine.instructions import GLOBALS
from curta.machine.lower.code import ENDS, LABEL, NO_LABEL, FunctionCode, Step
from curta.machine.lower.loops import loop_depths
from curta.machine.lower.share import share
from curta.machine.lower.webs import Part, Webs, bits, find_webs

_TURNS = 8
_DEEPEST = 4
_CALLS = ("call", "call_to")


def coalesce(code: FunctionCode) -> None:
    """Rename registers so that copies vanish, the most frequent first."""
    webs = find_webs(code.steps, code.labels)
    steps = share(code.steps, webs)
    joined = _Joined(steps, webs)
    for d, b in _copies(steps, webs):
        joined.join(d, b)
    registers = joined.choose_registers()
    if registers is None:
        return
    kept = []
    for step, part in zip(steps, webs.parts, strict=True):
        if part is not None:
            _rename(step, part, registers)
        if step.name != "copy" or step.b < 0 or step.b != step.d:
            kept.append(step)
    code.steps = kept
    code.frame = max([code.frame, *(register + 1 for register in registers)])


def _rename(step: Step, part: Part, registers: list[int]) -> None:
    for name, web in part.sources.items():
        setattr(step, name, registers[web])
    if part.writes and step.name not in _CALLS:
        step.d = registers[part.writes[0]]


def _copies(steps: list[Step], webs: Webs) -> list[tuple[int, int]]:
    """Pairs of webs with a copy between them, those deep in loops first."""
    counts: dict[tuple[int, int], int] = {}
    for step, part, depth in zip(steps, webs.parts, loop_depths(steps), strict=True):
        if step.name == "copy" and part is not None and part.sources and part.writes:
            pair = part.writes[0], part.sources["b"]
            counts[pair] = counts.get(pair, 0) + _TURNS ** min(depth, _DEEPEST)
    return sorted(counts, key=lambda pair: -counts[pair])


class _Joined:
    """Webs, some of which have become one: the smaller number stands for all."""

    def __init__(self, steps: list[Step], webs: Webs) -> None:
        count = len(webs.register)
        self.webs = webs
        self.conflicts = [0] * count
        self.limits = [GLOBALS] * count
        """Registers have to lie below."""
        self.heads = list(range(count))
        self.pins = [webs.register[web] if webs.pinned[web] else -1 for web in range(count)]
        self.pinned_to: dict[int, int] = {}
        """For every register the webs that are pinned to it, as bits."""
        for web, register in enumerate(self.pins):
            if register >= 0:
                self.pinned_to[register] = self.pinned_to.get(register, 0) | 1 << web
        self._find_conflicts(steps)

    def _find_conflicts(self, steps: list[Step]) -> None:
        webs, conflicts = self.webs, self.conflicts
        live = 0
        for step, part in zip(reversed(steps), reversed(webs.parts), strict=True):
            if step.name == LABEL or part is None:
                continue
            if step.name in ENDS:
                live = 0
            for label in (step.label, *step.ways):
                if label != NO_LABEL:
                    live |= webs.at_labels[label]
            for web in part.writes:
                live &= ~(1 << web)
            if step.name in _CALLS:
                for web in bits(live):
                    self.limits[web] = min(self.limits[web], step.slot)
            kept = 1 << part.sources["b"] if step.name == "copy" and part.sources else 0
            written = sum(1 << web for web in set(part.writes))
            for web in part.writes:
                conflicts[web] |= (live | written) & ~kept & ~(1 << web)
            for web in part.reads:
                live |= 1 << web
        for web in range(len(conflicts)):
            for other in bits(conflicts[web]):
                conflicts[other] |= 1 << web

    def head(self, web: int) -> int:
        while self.heads[web] != web:
            self.heads[web] = self.heads[self.heads[web]]
            web = self.heads[web]
        return web

    def join(self, one: int, other: int) -> bool:
        """Make two webs one, if that is possible."""
        one, other = sorted((self.head(one), self.head(other)))
        if one == other:
            return True
        if self.conflicts[one] >> other & 1:
            return False
        pin = max(self.pins[one], self.pins[other])
        limit = min(self.limits[one], self.limits[other])
        conflicts = self.conflicts[one] | self.conflicts[other]
        if pin >= 0:
            if min(self.pins[one], self.pins[other]) not in (-1, pin) or pin >= limit:
                return False
            if conflicts & self.pinned_to[pin]:
                return False
            self.pinned_to[pin] |= 1 << one
        self.heads[other] = one
        for web in bits(self.conflicts[other]):
            self.conflicts[web] |= 1 << one
        self.conflicts[one], self.limits[one], self.pins[one] = conflicts, limit, pin
        return True

    def choose_registers(self) -> list[int] | None:
        """A register for every web; None if there are too few of them below a call's frame."""
        count = len(self.heads)
        heads = [web for web in range(count) if self.head(web) == web]
        chosen: dict[int, int] = {web: self.pins[web] for web in heads if self.pins[web] >= 0}
        waiting = [web for web in heads if web not in chosen]
        waiting.sort(key=lambda web: (self.limits[web], self.webs.register[web]))
        for web in waiting:
            taken = {chosen.get(self.head(other)) for other in bits(self.conflicts[web])}
            register = self.webs.register[web]
            if register in taken or register >= self.limits[web]:
                register = next(r for r in range(len(taken) + 1) if r not in taken)
            if register >= self.limits[web]:
                return None
            chosen[web] = register
        return [chosen[self.head(web)] for web in range(count)]
