"""Webs: which writes and reads of a register have to do with each other.

Compilers use one local for many values. A web is a value with all its reads, and with the other
values that some read may mean: a register of its own, if one wants. Where calls and returns expect
a value in a certain place, its web is *pinned* to its register.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from curta.machine.instructions import GLOBALS
from curta.machine.lower.code import ENDS, LABEL, NO_LABEL, Step
from curta.machine.lower.liveness import live_at_labels

SOURCES = ("a", "b", "c")
_CALLS = ("call", "call_to")


@dataclass(slots=True)
class Part:
    """What one step reads and writes, as webs; None: the step is never reached."""

    sources: dict[str, int] = field(default_factory=dict)
    reads: list[int] = field(default_factory=list)
    writes: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Webs:
    """`register` and `pinned` by web; `parts` by step; `at_labels` has sets as bits."""

    register: list[int]
    pinned: list[bool]
    parts: list[Part | None]
    at_labels: list[int]


def find_webs(steps: Sequence[Step], labels: int) -> Webs:
    """All webs of a function."""
    return _Finder(steps, labels).webs()


def bits(number: int) -> Iterable[int]:
    """The places of the ones."""
    while number:
        lowest = number & -number
        yield lowest.bit_length() - 1
        number ^= lowest


class _Finder:
    """Numbers every write and every register that is read behind a label, then joins them."""

    def __init__(self, steps: Sequence[Step], labels: int) -> None:
        self.steps = steps
        self.parents: list[int] = []
        self.registers: list[int] = []
        self.pins: list[int] = []
        self.at_labels = [
            {register: self.number(register) for register in bits(live)}
            for live in live_at_labels(steps, labels)
        ]
        self.now: dict[int, int] | None = {}
        """What each register holds; None: nothing gets here."""

    def webs(self) -> Webs:
        parts = [self.walk(step) for step in self.steps]
        roots = [self.root(number) for number in range(len(self.parents))]
        names = {root: web for web, root in enumerate(dict.fromkeys(roots))}
        web = [names[root] for root in roots]
        pinned = [False] * len(names)
        for number in self.pins:
            pinned[web[number]] = True
        for part in parts:
            if part is not None:
                part.sources = {name: web[number] for name, number in part.sources.items()}
                part.reads = [web[number] for number in part.reads]
                part.writes = [web[number] for number in part.writes]
        at_labels = [0] * len(self.at_labels)
        for label, held in enumerate(self.at_labels):
            for number in held.values():
                at_labels[label] |= 1 << web[number]
        return Webs([self.registers[root] for root in names], pinned, parts, at_labels)

    def number(self, register: int) -> int:
        self.parents.append(len(self.parents))
        self.registers.append(register)
        return len(self.parents) - 1

    def root(self, number: int) -> int:
        parents = self.parents
        while parents[number] != number:
            parents[number] = parents[parents[number]]
            number = parents[number]
        return number

    def read(self, register: int, *, pinned: bool = False) -> int:
        assert self.now is not None
        number = self.now.get(register)
        if number is None:  # the caller has set it
            number = self.now[register] = self.number(register)
            self.pins.append(number)
        if pinned:
            self.pins.append(number)
        return number

    def walk(self, step: Step) -> Part | None:
        name = step.name
        if name == LABEL:
            if self.now is not None:
                self.arrive(step.label)
            self.now = dict(self.at_labels[step.label])
            return Part()
        if self.now is None:
            return None
        part = Part()
        for source in SOURCES:
            register = getattr(step, source)
            if 0 <= register < GLOBALS:
                part.sources[source] = self.read(register)
        part.reads = [*part.sources.values(), *self.places_read(step)]
        if name in _CALLS:
            self.now = {r: number for r, number in self.now.items() if r < step.slot}
            for register in range(step.slot, step.slot + step.gives):
                part.writes.append(self.written(register))
                self.pins.append(part.writes[-1])
        elif 0 <= step.d < GLOBALS:
            part.writes.append(self.written(step.d))
        for label in (step.label, *step.ways):
            if label != NO_LABEL:
                self.arrive(label)
        if name in ENDS:
            self.now = None
        return part

    def places_read(self, step: Step) -> list[int]:
        """What has to be in certain registers for others."""
        if step.name in _CALLS:
            places = range(step.slot, step.slot + step.takes)
        elif step.name == "return":
            places = range(step.gives)
        elif step.callee is not None:
            places = range(step.takes)
            self.read(step.a, pinned=True)
        else:
            return []
        return [self.read(register, pinned=True) for register in places]

    def written(self, register: int) -> int:
        assert self.now is not None
        self.now[register] = self.number(register)
        return self.now[register]

    def arrive(self, label: int) -> None:
        """What registers hold here they may hold behind the label."""
        for register, number in self.at_labels[label].items():
            self.parents[self.root(self.read(register))] = self.root(number)
