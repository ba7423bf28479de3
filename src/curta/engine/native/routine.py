"""What one step does, in order, over a pool of values.

Totals grow, rows are filed, promises are checked, and at the end a token is chosen. Everything else
is computed because one of these reads it. What is left of that in a case are acts: in order, in
blocks that end with a choice.

A model that executes programs has a selector, the value that says what a step does, such as the
operation of an instruction: under any of its values most of the general code is idle.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from curta.dyadic import Number, power_of_two
from curta.engine.native.case import Case, Facts
from curta.engine.native.values import (
    Bounds,
    FetchedKey,
    FetchedValue,
    LookUp,
    Parameter,
    Pool,
    Product,
    Rows,
    Steps,
    Sum,
    ValueId,
)

LONGEST_REACH = 1 << 12
"""How far back look-ups by position may look for their rows to go round."""
MOST_CHOICES = 256
"""Values of a selector."""
FEWEST_QUESTIONS = 12
"""Gates and steps that have to ask about a value before it is made the selector."""
FEWEST_FOR_SELECTOR = 8
"""Steps of a value that is computed, to be a selector."""


class NotWorthItError(Exception):
    """A model executes no program, or what it does is not worth being told apart, or what a case
    computes is no number of steps in 64 bits: the general code is left to do it.
    """


@dataclass(frozen=True)
class Growth:
    """A total grows by an addend."""

    total: ValueId
    addend: Sum


@dataclass(frozen=True)
class Filing:
    """Members are filed in the row of a key; `opens` says the first that are."""

    rows: int
    opens: bool
    key: Sum
    members: tuple[tuple[str, Sum], ...]


@dataclass(frozen=True)
class Check:
    """A promise: its sum has to be in low..high; it is looked at in units of 2**step."""

    number: int
    name: str
    total: Sum
    low: Number
    high: Number
    step: int


Event = Growth | Filing | Check


@dataclass(frozen=True)
class Rule:
    """Tokens that score base + d * linear - d * d * square."""

    number: int
    tokens: tuple[int, ...]
    base: Sum
    linear: Sum
    square: Sum

    @property
    def parts(self) -> tuple[Sum, Sum, Sum]:
        return self.base, self.linear, self.square


@dataclass(frozen=True)
class Say:
    """The best token of these rules is said."""

    rules: tuple[Rule, ...]


@dataclass(frozen=True)
class Divide:
    """Branches by the interval that a sum is in; together they cover all that it can be."""

    on: Sum
    branches: Sequence[tuple[Bounds, Acts]]


Act = Event | Say | Divide
Acts = list[tuple[Case, Act]]
"""In order, each with what is known at it; where rules speak, the last says a token or divides."""


@dataclass(frozen=True)
class Routine:
    """All that one step does."""

    pool: Pool
    events: tuple[Event, ...]
    rules: tuple[Rule, ...]
    streams: tuple[tuple[Sum, ...], ...] = ()
    """The residual stream, slot by slot, after the embedding and every half layer; if it is
    reported."""

    def sums(self) -> list[Sum]:
        """All that is read."""
        found = [total for event in self.events for total in read_by(event)]
        found += [part for rule in self.rules for part in rule.parts]
        return found + [total for slots in self.streams for total in slots]

    @property
    def rows(self) -> list[Rows]:
        """All that anything is filed in."""
        numbers = dict.fromkeys(e.rows for e in self.events if isinstance(e, Filing))
        return [self.pool.rows[number] for number in numbers]

    @property
    def totals(self) -> list[ValueId]:
        return [event.total for event in self.events if isinstance(event, Growth)]

    @cached_property
    def look_ups(self) -> dict[int, LookUp]:
        """Those that something is read of, by number."""
        read = (self.pool.definition(value) for value in self.pool.reachable(self.sums()))
        found = {one.look_up for one in read if isinstance(one, FetchedValue | FetchedKey)}
        return {number: self.pool.look_ups[number] for number in sorted(found)}

    @cached_property
    def constant_queries(self) -> tuple[int, ...]:
        """Look-ups that are always asked the same, and so are all in their rows.

        (Of an array that is asked for other things too, one entry may well be missing.)
        """
        varied = {one.rows for one in self.look_ups.values() if one.query.constant is None}
        return tuple(
            number
            for number, one in self.look_ups.items()
            if one.rows not in varied and self.pool.is_plain(number)
        )

    @cached_property
    def selecting(self) -> int | None:
        """The look-up that finds the selector; it may be computed instead, or there is none."""
        with suppress(NotWorthItError):
            definition = self.pool.definition(selector_of(self))
            return definition.look_up if isinstance(definition, FetchedValue) else None
        return None

    @cached_property
    def flagged(self) -> set[int]:
        """The rows of which it is asked whether something was filed, and not only what."""
        always = {rows.number for rows in self.rows if rows.kind == "hashed"}
        asked = {
            definition.look_up
            for definition in map(self.pool.definition, self.pool.reachable(self.sums()))
            if isinstance(definition, FetchedKey)
        }
        if self.selecting is not None:
            asked.add(self.selecting)
        return always | {self.look_ups[n].rows for n in asked.union(self.constant_queries)}

    def ring(self) -> int:
        """Rows enough for look-ups by fixed distances, a power of two; 0 if there are others."""
        reach = 0
        for distance in self.distances.values():
            if distance is None or distance > LONGEST_REACH:
                return 0
            reach = max(reach, distance)
        return 1 << reach.bit_length()

    @cached_property
    def distances(self) -> dict[int, int | None]:
        """How far back look-ups by position look, if that is fixed."""
        asked = {
            number: self.pool.position_shift(look_up.query)
            for number, look_up in self.look_ups.items()
            if self.pool.rows[look_up.rows].by_position
        }
        return {number: None if shift is None else -shift for number, shift in asked.items()}


def read_by(event: Event) -> list[Sum]:
    match event:
        case Growth(_, addend):
            return [addend]
        case Filing(_, _, key, members):
            return [key, *(total for _, total in members)]
        case Check():
            return [event.total]


def without_idle(routine: Routine) -> Routine:
    """The same, without totals, rows and members that no promise, rule or stream depends on."""
    pool = routine.pool
    checks = [event.total for event in routine.events if isinstance(event, Check)]
    seen = pool.reachable([*checks, *replace(routine, events=()).sums()], earlier=True)
    read: dict[int, set[str]] = {}
    for value in seen:
        match pool.entries[value].definition:
            case FetchedValue(number, name):
                read.setdefault(pool.look_ups[number].rows, set()).add(name)
            case FetchedKey(number):
                read.setdefault(pool.look_ups[number].rows, set())
    return replace(routine, events=tuple(with_readers(routine.events, seen, read)))


def with_readers(
    events: Iterable[Event], values: set[ValueId], read: dict[int, set[str]]
) -> Iterator[Event]:
    """The events on which any of these values depend; of rows, the members that are read."""
    for event in events:
        match event:
            case Growth(total):
                if total in values:
                    yield event
            case Filing(rows, opens, _, members):
                left = tuple(m for m in members if m[0] in read.get(rows, ()))
                if left or (opens and rows in read):
                    yield replace(event, members=left)
            case Check():
                yield event


def selector_of(routine: Routine) -> ValueId:
    """The value out of a table, of few possible ones, that most gates and steps ask about."""
    pool = routine.pool
    questions: Counter[ValueId] = Counter()
    for value in pool.reachable(routine.sums()):
        match pool.entries[value].definition:
            case Product(asked) | Steps(asked):
                terms = asked.without_constant.terms
                if len(terms) == 1 and is_found(pool, terms[0][0]):
                    questions[terms[0][0]] += 1
    case = Case(pool, Facts())
    few = [value for value in questions if is_choice(case, value)]
    best = max(few, key=lambda value: (questions[value], -value), default=None)
    if best is None or questions[best] < FEWEST_QUESTIONS:
        raise NotWorthItError
    return best


def is_found(pool: Pool, value: ValueId) -> bool:
    """Whether a value comes out of a table, be it one that was filed or one of the weights."""
    definition = pool.entries[value].definition
    if isinstance(definition, FetchedValue | Parameter):
        return True
    return isinstance(definition, Steps) and len(definition.jumps) >= FEWEST_FOR_SELECTOR


def is_choice(case: Case, value: ValueId) -> bool:
    """Whether a value is one of a few."""
    low, high = case.intervals.of_value(value)
    return (high - low) / Fraction(power_of_two(case.pool.entries[value].step)) < MOST_CHOICES
