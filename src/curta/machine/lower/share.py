"""Share: what was computed before is not computed again, and a copy is as good as its source.

Global value numbering on webs, one walk over the steps. What is known at a label is what all ways
to it agree on; where a way comes from below, a loop, nothing is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count, islice
from typing import TypeVar

from curta.machine.instructions import GLOBALS, KINDS
from curta.machine.lower.code import ENDS, LABEL, NO_LABEL, Step
from curta.machine.lower.webs import SOURCES, Part, Webs

Key = tuple[object, ...]
K = TypeVar("K")
_MOST_FACTS = 1000
"""Older ones are forgotten: they are compared at every label."""


def share(steps: Sequence[Step], webs: Webs) -> list[Step]:
    """The steps with fewer of them computing something. `webs` is changed to go with them."""
    shared = [step.clone() for step in steps]
    _Known(shared, webs).walk()
    _find_live(shared, webs)
    _drop_unread(shared, webs)
    return [step for step in shared if step.name]


def _newest(facts: dict[K, int]) -> dict[K, int]:
    if len(facts) <= _MOST_FACTS:
        return facts
    return dict(islice(facts.items(), len(facts) - _MOST_FACTS // 2, None))


class _Facts:
    """Values have numbers: `number` is that of what a web holds, `values` that of what was computed
    from others. `holder` is a web that a value can be read from, as long as it holds it.
    """

    def __init__(self, known: _Facts | None = None) -> None:
        self.number: dict[int, int] = dict(known.number) if known else {}
        self.values: dict[Key, int] = dict(known.values) if known else {}
        self.holder: dict[int, int] = dict(known.holder) if known else {}

    def agree(self, other: _Facts) -> None:
        self.number = dict(self.number.items() & other.number.items())
        self.values = dict(self.values.items() & other.values.items())
        self.holder = dict(self.holder.items() & other.holder.items())

    def shorten(self) -> None:
        """Forget the older half of what has become too much."""
        self.number = _newest(self.number)
        self.values = _newest(self.values)
        self.holder = _newest(self.holder)

    def found(self, value: int) -> int | None:
        """A web that holds a value now."""
        web = self.holder.get(value)
        return web if web is not None and self.number.get(web) == value else None


class _Known:
    """What is pinned is not read for longer than it was: its register may be wanted."""

    def __init__(self, steps: Sequence[Step], webs: Webs) -> None:
        self.steps = steps
        self.webs = webs
        self.facts: _Facts | None = _Facts()
        self.arrived: dict[int, _Facts] = {}
        self.fresh = count()
        starts = {step.label: n for n, step in enumerate(steps) if step.name == LABEL}
        self.loops = {
            label
            for n, step in enumerate(steps)
            if step.name != LABEL
            for label in (step.label, *step.ways)
            if label != NO_LABEL and starts[label] < n
        }

    def walk(self) -> None:
        for step, part in zip(self.steps, self.webs.parts, strict=True):
            if step.name == LABEL:
                self.enter(step.label)
            elif part is not None and self.facts is not None:
                self.do(step, part, self.facts)
                for label in (step.label, *step.ways):
                    if label != NO_LABEL:
                        self.arrive(label)
                if step.name in ENDS:
                    self.facts = None

    def enter(self, label: int) -> None:
        if self.facts is not None:
            self.arrive(label)
        known = self.arrived.get(label)
        self.facts = known if known is not None and label not in self.loops else _Facts()

    def arrive(self, label: int) -> None:
        assert self.facts is not None
        self.facts.shorten()
        if label in self.arrived:
            self.arrived[label].agree(self.facts)
        else:
            self.arrived[label] = _Facts(self.facts)

    def do(self, step: Step, part: Part, facts: _Facts) -> None:
        places = part.reads[len(part.sources) :]
        read = {name: self.read(web, facts) for name, web in part.sources.items()}
        for name, value in read.items():
            found = facts.found(value)
            part.sources[name] = part.sources[name] if found is None else found
        if gives_value(step) and len(part.writes) == 1:
            self.compute(step, part, facts, read)
        else:
            for web in part.writes:
                self.hold(web, next(self.fresh), facts)
        part.reads = [*part.sources.values(), *places]

    def read(self, web: int, facts: _Facts) -> int:
        """The number of what a web holds."""
        if web not in facts.number:
            self.hold(web, next(self.fresh), facts)
        return facts.number[web]

    def hold(self, web: int, value: int, facts: _Facts) -> None:
        facts.number[web] = value
        if not self.webs.pinned[web] and facts.found(value) is None:
            facts.holder[value] = web

    def compute(self, step: Step, part: Part, facts: _Facts, read: dict[str, int]) -> None:
        (web,) = part.writes
        if step.name == "copy" and read:
            self.hold(web, read["b"], facts)
            return
        shared = any(register >= GLOBALS for register in (step.a, step.b, step.c))
        immediate = step.immediate if step.b < 0 else None
        key = (step.name, immediate, *(read.get(name, -1) for name in SOURCES))
        value = next(self.fresh) if shared else facts.values.setdefault(key, next(self.fresh))
        if step.name != "copy" and not shared:
            found = facts.found(value)
            if found is not None:
                step.name, step.a, step.b, step.c, step.immediate = "copy", -1, 0, -1, 0
                part.sources = {"b": found}
        self.hold(web, value, facts)


def _find_live(steps: Sequence[Step], webs: Webs) -> None:
    """What is read behind labels."""
    at = [0] * len(webs.at_labels)
    changed = True
    while changed:
        changed = False
        live = 0
        for step, part in zip(reversed(steps), reversed(webs.parts), strict=True):
            if step.name == LABEL:
                if at[step.label] != live:
                    at[step.label], changed = live, True
                continue
            if part is None:
                continue
            if step.name in ENDS:
                live = 0
            live = _before(step, part, live, at)
    webs.at_labels = at


def _before(step: Step, part: Part, live: int, at: Sequence[int]) -> int:
    for label in (step.label, *step.ways):
        if label != NO_LABEL:
            live |= at[label]
    for web in part.writes:
        live &= ~(1 << web)
    for web in part.reads:
        live |= 1 << web
    return live


def _drop_unread(steps: list[Step], webs: Webs) -> None:
    """Leave out values that nobody reads: steps without a name."""
    live = 0
    kept: list[Part | None] = []
    for step, part in zip(reversed(steps), reversed(webs.parts), strict=True):
        if step.name != LABEL:
            if step.name in ENDS:
                live = 0
            if part is None:
                step.name = ""
                continue
            value = gives_value(step) and len(part.writes) == 1
            if value and not live >> part.writes[0] & 1:
                step.name = ""
                continue
            live = _before(step, part, live, webs.at_labels)
        kept.append(part)
    webs.parts = kept[::-1]


def gives_value(step: Step) -> bool:
    """Whether a step computes a word and does nothing else; all extensions do."""
    return KINDS.get(step.name, "value") == "value"
