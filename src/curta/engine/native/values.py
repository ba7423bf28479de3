"""The values that a step computes: interned, in weighted sums, with what is proved of each.

The weights are followed once under no assumption (`symbolic.py`); what is left of that under the
facts of a case (`case.py`) is made of values of the same pool, so that equal remainders are equal
ids. A value refers to earlier ones only. Digits, columns, functions of the position, totals, what
was fetched and parameters are given, not computed.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import Any, TypeVar, cast

from curta.compiler.nodes import PositionFeature
from curta.dyadic import Number, divided, power_of_two, simplify, step_of

ValueId = int
CONSTANT: ValueId = -1
Bounds = tuple[Number, Number]
Rises = tuple[tuple[Number, Number], ...]
"""Places and heights of steps."""
MOST_BENDS = 200
"""Bends of a function of one number that is looked at in full."""
MOST_EVALUATED = 1000
"""Functions of one number times places, where extremes are looked for."""


@dataclass(frozen=True, slots=True)
class Sum:
    """A weighted sum of values in their order; the constant is the coefficient of CONSTANT."""

    terms: tuple[tuple[ValueId, Number], ...] = ()

    @property
    def constant(self) -> Number | None:
        """The number that the sum is, if it reads no value."""
        if not self.terms:
            return 0
        return self.terms[0][1] if self.terms[-1][0] == CONSTANT else None

    @property
    def added(self) -> Number:
        """The constant among the terms."""
        return self.terms[0][1] if self.terms and self.terms[0][0] == CONSTANT else 0

    @property
    def without_constant(self) -> Sum:
        return Sum(self.terms[1:]) if self.terms and self.terms[0][0] == CONSTANT else self

    def plus(self, other: Sum, factor: Number = 1) -> Sum:
        return sum_of([(self, 1), (other, factor)])

    def scaled(self, factor: Number) -> Sum:
        if factor == 1:
            return self
        return Sum(tuple((v, simplify(c * factor)) for v, c in self.terms)) if factor else ZERO

    def proportion(self, number: Sum) -> Number:
        """How often it contains another sum, if it contains all its terms equally often; else 0."""
        first, scale = number.terms[0]
        found = next((c for v, c in self.terms if v == first), 0)
        if not found:
            return 0
        if len(number.terms) > 1:
            coefficients = dict(self.terms)
            if any(coefficients.get(v, 0) * scale != c * found for v, c in number.terms):
                return 0
        return divided(found, scale)

    @property
    def direction(self) -> tuple[Number, Sum]:
        """(scale, sum) such that this is scale * sum, and sum begins with 1; without constant."""
        scale = self.terms[0][1]
        if scale == 1:
            return 1, self
        return scale, Sum(tuple((v, divided(c, scale)) for v, c in self.terms))

    @property
    def upright(self) -> tuple[int, Sum]:
        """(sign, sum) such that this is sign * sum, and sum begins with a positive coefficient."""
        sign = -1 if self.terms and self.terms[0][1] < 0 else 1
        return sign, self.scaled(sign)


def sum_of(parts: Iterable[tuple[Sum, Number]]) -> Sum:
    """Weighted sums, added up."""
    found = [(part, factor) for part, factor in parts if part.terms]
    if len(found) == 1:
        part, factor = found[0]
        return part.scaled(factor)
    total: dict[ValueId, Number] = {}
    for part, factor in found:
        for value, coefficient in part.terms:
            total[value] = total.get(value, 0) + factor * coefficient
    return Sum(tuple((v, simplify(c)) for v, c in sorted(total.items()) if c != 0))


ONE = Sum(((CONSTANT, 1),))
ZERO = Sum()


@dataclass(frozen=True, slots=True)
class Digit:
    """Which of its class's tokens the current token is, from 0 on."""


@dataclass(frozen=True, slots=True)
class Column:
    """What the token's embedding holds in one slot."""

    slot: int
    entries: tuple[Number, ...]


PositionValue = PositionFeature
"""A function of the position is what it is in graphs."""
POSITION = PositionValue()


@dataclass(frozen=True, slots=True)
class Total:
    """The sum of a value over all positions so far."""

    addend: Sum


@dataclass(frozen=True, slots=True)
class Mean:
    """A total divided by the count; exists only as something to be multiplied by the count."""

    total: ValueId


@dataclass(frozen=True, slots=True)
class FetchedValue:
    """A member of the row that a look-up found; zero if it found none."""

    look_up: int
    member: str


@dataclass(frozen=True, slots=True)
class FetchedKey:
    """The key that a look-up found, which is the query; if it found none, one that is not."""

    look_up: int
    unit: int


@dataclass(frozen=True, slots=True)
class Product:
    """relu(gate) * factor."""

    gate: Sum
    factor: Sum


@dataclass(frozen=True, slots=True)
class Steps:
    """f(argument): f rises by a height at every place, and is flat in between.

    The argument has no constant, and places are values that it may have, in their order.
    """

    argument: Sum
    jumps: Rises


@dataclass(frozen=True, slots=True)
class Held:
    """A long sum: added up once, read often."""

    total: Sum


@dataclass(frozen=True, slots=True)
class Parameter:
    """A number that the generated code has under a name."""

    name: str
    low: Number
    high: Number


@dataclass(frozen=True, slots=True)
class Conjunction:
    """The bits that two numbers have in common."""

    one: Sum
    other: Sum


Definition = (
    Digit
    | Parameter
    | Conjunction
    | Column
    | PositionValue
    | Total
    | Mean
    | FetchedValue
    | FetchedKey
    | Product
    | Steps
    | Held
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A value, the power of two that it is a multiple of, and what it is called."""

    definition: Definition
    step: int
    name: str


@dataclass(frozen=True, slots=True)
class Member:
    """One value of a row: its sum, and the bounds that its storage has to cover."""

    total: Sum
    label: str = field(compare=False)
    low: Number
    high: Number
    step: int
    copied: Number | None
    """What it is more than the key, if that is a constant."""


@dataclass(frozen=True, slots=True)
class Rows:
    """What is filed under one key by heads that have it: a later row takes an earlier one's place.

    Keys are integers, the lowest that is possible being 0; or positions.
    """

    number: int
    label: str
    kind: str
    key: Sum
    size: int
    members: dict[str, Member]

    @property
    def by_position(self) -> bool:
        return self.kind == "by position"


@dataclass(frozen=True, slots=True)
class LookUp:
    """What is asked for in some rows; if `nearest`, the nearest key is found, or else this one."""

    rows: int
    query: Sum
    nearest: bool


@dataclass(frozen=True, slots=True)
class Curve:
    """A value as a function of a number: linear between its bends."""

    number: Sum
    bends: tuple[Number, ...]
    """In their order."""
    at: Callable[[Number], Number]


Method = TypeVar("Method", bound=Callable[..., Any])


def lasting(method: Method) -> Method:
    """A method of a pool of which every result is kept."""

    def found(pool: Pool, *given: object) -> object:
        key = (method, *given)
        if key not in pool.results:
            pool.results[key] = method(pool, *given)
        return pool.results[key]

    return cast(Method, found)


@dataclass
class Pool:
    """All values that any case computes, and the look-ups that some of them come from."""

    max_tokens: int
    entries: list[Entry] = field(default_factory=list)
    known: dict[Definition, ValueId] = field(default_factory=dict)
    rows: list[Rows] = field(default_factory=list)
    look_ups: list[LookUp] = field(default_factory=list)
    asked: dict[LookUp, int] = field(default_factory=dict)
    units: dict[Sum, Sum] = field(default_factory=dict)
    results: dict[tuple[object, ...], Any] = field(default_factory=dict)
    """Of methods that always return the same."""
    supports: dict[ValueId, int] = field(default_factory=lambda: {CONSTANT: 0})
    places: dict[Sum, list[set[Number]]] = field(default_factory=dict)
    """Where steps of a number change, by the number: of each, the first value behind every jump."""

    def define(self, definition: Definition, step: int, name: str = "") -> ValueId:
        number = self.known.get(definition)
        if number is None:
            number = self.known[definition] = len(self.entries)
            self.entries.append(Entry(definition, step, name))
            if isinstance(definition, Steps):
                self.note_places(definition)
        return number

    def note_places(self, steps: Steps) -> None:
        sign, number = steps.argument.upright
        away = 0 if sign > 0 else power_of_two(self.step(number))
        found = {simplify(sign * place + away) for place, _ in steps.jumps}
        self.places.setdefault(number, []).append(found)

    def value(self, definition: Definition, step: int, name: str = "") -> Sum:
        return Sum(((self.define(definition, step, name), 1),))

    def call(self, name: str, first: int) -> None:
        """Give the values from one on a name, if they have none yet."""
        for value in range(first, len(self.entries)):
            if not self.entries[value].name:
                self.entries[value] = replace(self.entries[value], name=name)

    def definition(self, value: ValueId) -> Definition | None:
        """None is that of the constant."""
        return None if value == CONSTANT else self.entries[value].definition

    def step(self, total: Sum) -> int:
        steps = [
            step_of(c) + (0 if v == CONSTANT else self.entries[v].step) for v, c in total.terms
        ]
        return min(steps, default=0)

    def product(self, gate: Sum, factor: Sum) -> Sum:
        return self.value(Product(gate, factor), self.step(gate) + self.step(factor))

    def steps(self, argument: Sum, jumps: Rises) -> Sum:
        steps = Steps(argument, jumps)
        number = self.known.get(steps)
        if number is None:
            grain, places = self.step(argument), [place for place, _ in jumps]
            assert not argument.added
            assert all(step_of(place) >= grain for place in places)
            assert all(before < place for before, place in pairwise(places))
            number = self.define(steps, min(step_of(height) for _, height in jumps))
        return Sum(((number, 1),))

    @lasting
    def stair_width(self, value: ValueId) -> int | None:
        """Steps of a staircase from 0 on that are as wide as a power of two, by as much."""
        entry = self.entries[value]
        shape = entry.definition
        assert isinstance(shape, Steps)
        unit, height = power_of_two(self.step(shape.argument)), power_of_two(entry.step)
        width = int(shape.jumps[0][0] // unit)
        expected = ((n * width * unit, height) for n in range(1, len(shape.jumps) + 1))
        fits = width > 1 and not width & (width - 1)
        fits = fits and all(a == b for a, b in zip(shape.jumps, expected, strict=True))
        return width if fits else None

    @lasting
    def curve(self, value: ValueId) -> Curve | None:
        """The number that a value is a function of, if it is one."""
        match self.entries[value].definition:
            case Product(gate, factor) if factor == ONE:
                scale, number = self.unit(gate.without_constant)
                added = gate.added
                bend = divided(-added, scale)
                return Curve(number, (bend,), lambda place: max(scale * place + added, 0))
            case Steps(argument, jumps) if len(jumps) <= MOST_BENDS:
                scale, number = self.unit(argument)
                step = power_of_two(self.step(argument))
                bends = {divided(p, scale) for place, _ in jumps for p in (place, place - step)}
                places, levels = self.levels(value)

                def level(place: Number) -> Number:
                    return levels[bisect_right(places, scale * place)]

                return Curve(number, tuple(sorted(bends)), level)
            case _:
                return None

    def unit(self, total: Sum) -> tuple[Number, Sum]:
        """The direction of a sum; there is one object for each."""
        scale, number = total.direction
        return scale, self.units.setdefault(number, number)

    @lasting
    def levels(self, value: ValueId) -> tuple[list[Number], list[Number]]:
        """Where steps change, and what they are before the first place and behind each."""
        steps = self.entries[value].definition
        assert isinstance(steps, Steps)
        heights = accumulate((height for _, height in steps.jumps), initial=0)
        return [place for place, _ in steps.jumps], [simplify(height) for height in heights]

    @lasting
    def ends_between(
        self, low: Number, high: Number, slope: Number, parts: tuple[tuple[ValueId, Number], ...]
    ) -> Bounds | None:
        """Least and greatest value of functions of one number, added up with a multiple of it; None
        if there are too many bends to look at.
        """
        curves = [(curve, c) for v, c in parts if (curve := self.curve(v)) is not None]
        places = {low, high}
        for curve, _ in curves:
            bends = curve.bends
            places.update(bends[bisect_right(bends, low) : bisect_left(bends, high)])
        if len(places) * len(curves) > MOST_EVALUATED:
            return None
        heights = [slope * p + sum(c * curve.at(p) for curve, c in curves) for p in places]
        return min(heights), max(heights)

    def reads(self, value: ValueId) -> Iterator[Sum]:
        """The sums that a value is computed from; queries of tables included."""
        match self.entries[value].definition:
            case Product(gate, factor):
                yield from (gate, factor)
            case Steps(total) | Held(total):
                yield total
            case Conjunction(one, other):
                yield from (one, other)
            case FetchedValue(look_up) | FetchedKey(look_up):
                yield self.look_ups[look_up].query

    def behind(self, value: ValueId) -> Iterator[Sum]:
        """All that a value depends on, what was added up and filed included."""
        yield from self.reads(value)
        match self.entries[value].definition:
            case Total(addend):
                yield addend
            case Mean(total):
                yield Sum(((total, 1),))
            case FetchedValue(look_up, member):
                rows = self.rows_behind(look_up)
                yield from (rows.key, rows.members[member].total)
            case FetchedKey(look_up):
                yield self.rows_behind(look_up).key

    def reachable(self, totals: list[Sum], *, earlier: bool = False) -> set[ValueId]:
        """All values that these sums depend on within one step, or at any `earlier` one, too."""
        reads = self.behind if earlier else self.reads
        found: set[ValueId] = set()
        stack = [v for total in totals for v, _ in total.terms]
        while stack:
            value = stack.pop()
            if value == CONSTANT or value in found:
                continue
            found.add(value)
            for total in reads(value):
                stack.extend(v for v, _ in total.terms)
        return found

    def support(self, value: ValueId) -> int:
        """The values whose intervals say something of a value's, itself included: a bit of each."""
        found = self.supports.get(value)
        if found is None:
            found, definition = 1 << value, self.entries[value].definition
            if not isinstance(definition, FetchedValue | FetchedKey):
                for read in {read for total in self.reads(value) for read, _ in total.terms}:
                    found |= self.support(read)
            self.supports[value] = found
        return found

    def rows_behind(self, look_up: int) -> Rows:
        return self.rows[self.look_ups[look_up].rows]

    def look_up(self, asked: LookUp) -> int:
        """The number of a look-up."""
        number = self.asked.setdefault(asked, len(self.look_ups))
        if number == len(self.look_ups):
            self.look_ups.append(asked)
        return number

    def is_plain(self, look_up: int) -> bool:
        """Whether it finds only what was filed under its query, and keys are no positions."""
        asked = self.look_ups[look_up]
        return not asked.nearest and not self.rows[asked.rows].by_position

    def total_behind(self, total: Sum) -> Sum | None:
        """As many times the total, if this is a multiple of a mean."""
        mean = self.definition(total.terms[0][0]) if len(total.terms) == 1 else None
        return Sum(((mean.total, total.terms[0][1]),)) if isinstance(mean, Mean) else None

    def position_shift(self, total: Sum) -> int | None:
        """c, if the sum is the position plus c."""
        position = self.known.get(POSITION)
        if position is None or total.without_constant.terms != ((position, 1),):
            return None
        return int(total.added) if total.added == int(total.added) else None


def constant(number: Number) -> Sum:
    return Sum(((CONSTANT, number),)) if number else ZERO
