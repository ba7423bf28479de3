"""Sums and values of a case as C expressions, in whole numbers of steps.

Where the interval of a value is known, the expression relies on it: no clamp that cannot bite, a
shift instead of a division. Partial evaluation leaves no finer steps than the general code has, so
the certificate bounds all values by 2**53 steps here as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate, pairwise

from curta.dyadic import Number, power_of_two, simplify
from curta.engine.native.bits import Bits, Part, put_together
from curta.engine.native.case import FEWEST_COUNTED, Case
from curta.engine.native.routine import NotWorthItError
from curta.engine.native.shapes import Jumps, is_length, is_scattered, square_wave_of, staircase_of
from curta.engine.native.tables import array_to_c
from curta.engine.native.values import (
    ONE,
    Conjunction,
    Held,
    Pool,
    Product,
    Steps,
    Sum,
    ValueId,
    constant,
)

FEW_ENTRIES = 64
FEWEST_LOOKED_UP = 4
"""Jumps of a function that is looked up instead of compared for."""


@dataclass
class Scope:
    """What has been computed at a place of the code."""

    defined: set[ValueId] = field(default_factory=set)
    rows: set[int] = field(default_factory=set)
    """Look-ups of which it is known where their row lies."""
    found: set[int] = field(default_factory=set)
    """Look-ups of which it is known whether it was filed."""
    names: dict[Sum, tuple[str, int]] = field(default_factory=dict)
    """Sums that have a name, and the power of two that it counts."""
    bits: dict[ValueId, Bits] = field(default_factory=dict)
    """Values that are bits of a number."""

    def inner(self) -> Scope:
        """What is there at the beginning of a block within."""
        return Scope(**{name: known.copy() for name, known in vars(self).items()})


class Expressions:
    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.tables: dict[tuple[int, ...], int] = {}
        """What is looked up, and the number of its table."""

    def text(self, total: Sum, step: int, scope: Scope) -> str:
        """The sum in units of 2**step."""
        parts: list[tuple[int, str]] = []
        bits, rest = self.put_together(total, scope)
        for weight, one in bits:
            factor = integer(Fraction(weight) / power_of_two(step))
            parts.append((factor, self.bits(one, scope)))
        rest, named = self.split(rest, scope)
        for slope, part in named:
            name, own = scope.names[part]
            parts.append((integer(Fraction(slope) * power_of_two(own - step)), name))
        for value, coefficient in rest.terms:
            own = self.pool.entries[value].step
            factor = integer(Fraction(coefficient) * power_of_two(own - step))
            parts.append((factor, f"v{value}"))
        text = ""
        for factor, name in parts:
            text += signed(factor, name if abs(factor) == 1 else f"{size(factor)} * {name}", text)
        if total.added:
            added = integer(Fraction(total.added) / power_of_two(step))
            text += signed(added, size(added), text)
        return text or "0"

    def read(self, total: Sum, scope: Scope) -> list[ValueId]:
        """The values that the text of a sum names."""
        rest, _ = self.split(self.put_together(total, scope)[1], scope)
        return [value for value, _ in rest.terms]

    def put_together(self, total: Sum, scope: Scope) -> tuple[list[Part], Sum]:
        """A sum with bits of numbers put together, as far as they are there."""
        if not scope.bits or total.without_constant in scope.names:
            return [], total
        return put_together(self.pool, total, scope.bits.get)

    def bits(self, one: Bits, scope: Scope) -> str:
        """Some bits of a number."""
        text = self.whole(one.number, scope)
        text = f"(({text}) >> {one.low})" if one.low else f"({text})"
        return text if one.high == one.size else f"({text} & {literal(one.most)})"

    def whole(self, number: Sum, scope: Scope) -> str:
        """A number in its own steps."""
        shape = self.pool.entries[number.terms[0][0]].definition if len(number.terms) == 1 else None
        if isinstance(shape, Conjunction):
            return f"({self.whole(shape.one, scope)}) & ({self.whole(shape.other, scope)})"
        return self.text(number, self.pool.step(number), scope)

    def split(self, total: Sum, scope: Scope) -> tuple[Sum, list[tuple[Number, Sum]]]:
        """A sum without constant as multiples of sums that have a name, and what is left."""
        rest = total.without_constant
        parts: list[tuple[Number, Sum]] = []
        while rest.terms:
            found = longest_part(rest, scope.names)
            if found is None:
                break
            slope, part = found
            rest = rest.plus(part, -slope)
            parts.append((slope, part))
        return rest, parts

    def in_step(self, total: Sum, step: int, scope: Scope) -> str:
        """The same, of a sum that is a multiple of 2**step though its terms may not be."""
        own = self.pool.step(total)
        if own >= step:
            return self.text(total, step, scope)
        return f"({self.text(total, own, scope)}) >> {step - own}"

    def definition(self, case: Case, value: ValueId, scope: Scope) -> str:
        """What a computed value is."""
        entry = self.pool.entries[value]
        match entry.definition:
            case Held(total):
                return self.text(total, entry.step, scope)
            case Product(gate, factor):
                return self.product(case, gate, factor, scope)
            case Steps():
                bits = case.intervals.bits.of(value)
                if bits is not None:
                    scope.bits[value] = bits
                    return self.bits(bits, scope)
                return self.steps(case, entry.definition, entry.step, scope)
            case definition:
                raise AssertionError(f"{definition} is not computed")

    def multiples(self, counted: Multiples, step: int, scope: Scope) -> str:
        """What a sum of comparisons is that counts multiples, in units of 2**step."""
        own = min(self.pool.step(counted.of), self.pool.step(counted.up_to))
        numbers = (self.text(total, own, scope) for total in (counted.up_to, counted.of))
        found = f"multiples({', '.join(numbers)}, {counted.most})"
        by, added = (
            integer(Fraction(number) / power_of_two(step))
            for number in (counted.weight, counted.added)
        )
        text = found if by == 1 else f"{literal(by)} * {found}"
        return text + signed(added, size(added), text) if added else text

    def product(self, case: Case, gate: Sum, factor: Sum, scope: Scope) -> str:
        step = self.pool.step(gate)
        opening, ends = self.text(gate, step, scope), case.range(gate)
        if factor == ONE:
            return f"rectified({opening})"
        other = self.text(factor, self.pool.step(factor), scope)
        if ends == (0, 1) and step == 0:
            return f"({opening}) ? {other} : 0"
        opening = f"({opening})" if ends[0] >= 0 else f"rectified({opening})"
        return f"{opening} * ({other})"

    def steps(self, case: Case, shape: Steps, step: int, scope: Scope) -> str:
        """A function of whole numbers as a comparison, a staircase or a sum of comparisons."""
        grain = self.pool.step(shape.argument)
        unit = power_of_two(grain)
        argument = self.text(shape.argument, grain, scope)
        heights = [integer(height * power_of_two(-step)) for _, height in shape.jumps]
        places = [-(-place // unit) for place, _ in shape.jumps]
        jumps = tuple(zip(places, heights, strict=True))
        by = "" if heights[0] == 1 else f"{literal(heights[0])} * "
        test = ""
        if len(jumps) == 1:
            test = f"{argument} >= {literal(places[0])}"
        elif len(jumps) == 2 and heights[0] == -heights[1]:
            width = places[1] - places[0]
            test = (
                f"{argument} == {literal(places[0])}"
                if width == 1
                else f"(uint64_t)({argument} - {literal(places[0])}) < {literal(width)}u"
            )
        if test:
            return f"{test} ? {literal(heights[0])} : 0" if by else test
        if found := staircase_of(jumps):
            return by + self.staircase(case, shape.argument, found, scope)
        if wave := square_wave_of(jumps):
            return f"{by}({self.staircase(case, shape.argument, wave, scope)} & 1)"
        if len(jumps) >= FEWEST_LOOKED_UP and not is_scattered(jumps):
            return self.looked_up(case, shape.argument, jumps, argument)
        if is_length(jumps):
            return f"{by}bit_length(clamped({argument}, {(1 << len(jumps)) - 1}))"
        tests = " + ".join(
            f"({argument} >= {literal(place)} ? {literal(height)} : 0)" for place, height in jumps
        )
        return f"({tests})"

    def looked_up(self, case: Case, argument: Sum, jumps: Jumps, text: str) -> str:
        """The entry of a table, which goes on beyond the jumps if the argument does not go far."""
        first, last = jumps[0][0] - 1, jumps[-1][0]
        unit = power_of_two(self.pool.step(argument))
        low, high = (int(Fraction(end) // unit) for end in case.range(argument))
        beyond = low < first or high > last
        if beyond and max(last, high) - min(first, low) <= 2 * (last - first) + FEW_ENTRIES:
            first, last, beyond = min(first, low), max(last, high), False
        heights = dict(jumps)
        rises = [int(heights.get(place, 0)) for place in range(first, last + 1)]
        number = self.tables.setdefault(tuple(accumulate(rises)), len(self.tables))
        at = f"{text} - {literal(first)}" if first > 0 else f"{text} + {literal(-first)}"
        return f"table{number}[clamped({at}, {last - first})]" if beyond else f"table{number}[{at}]"

    def table_definitions(self) -> str:
        """The tables that expressions look things up in."""
        return "".join(
            f"{array_to_c(f'table{number}', entries)}\n" for entries, number in self.tables.items()
        )

    def staircase(
        self, case: Case, argument: Sum, stairs: tuple[int, int, int], scope: Scope
    ) -> str:
        """(argument - first + width) / width, at least 0 and at most count."""
        first, width, count = stairs
        grain = self.pool.step(argument)
        start = first - width
        low, high = (Fraction(end) / power_of_two(grain) - start for end in case.range(argument))
        text = self.text(argument, grain, scope)
        shifted = f"{text} - {literal(start)}" if start > 0 else f"{text} + {literal(-start)}"
        shifted = shifted if start else text
        if low < 0 or high >= width * (count + 1):
            if width == 1:
                return f"clamped({shifted}, {count})"
            return f"staircase({shifted}, {literal(width)}, {count})"
        if width & (width - 1) == 0:
            return f"(({shifted}) >> {width.bit_length() - 1})" if width > 1 else f"({shifted})"
        return f"(int64_t)((uint64_t)({shifted}) / {literal(width)}u)"


def longest_part(rest: Sum, names: Mapping[Sum, object]) -> tuple[Number, Sum] | None:
    """The longest sum with a name that is part of another, and how often it is."""
    coefficients = dict(rest.terms)
    best: tuple[Number, Sum] | None = None
    for named in names:
        if named.terms[0][0] not in coefficients or len(named.terms) > len(coefficients):
            continue
        if best is None or len(named.terms) > len(best[1].terms):
            slope = Fraction(rest.proportion(named))
            if slope and slope.denominator & (slope.denominator - 1) == 0:
                best = simplify(slope), named
    return best


def signed(factor: int, term: str, before: str) -> str:
    """A term of a sum, with its sign."""
    if not before:
        return f"-{term}" if factor < 0 else term
    return f" {'-' if factor < 0 else '+'} {term}"


def size(number: int) -> str:
    """A factor without its sign. Sums go round at 2**64 (-fwrapv), so of one that is larger the
    lower 64 bits are enough; a compiler may refuse the others.
    """
    magnitude = abs(number)
    if magnitude < 2**63:
        return literal(magnitude)
    return f"(int64_t)UINT64_C({magnitude % 2**64})"


def literal(number: int) -> str:
    if abs(number) >= 2**63:
        raise NotWorthItError(f"{number} is compared, and has more than 64 bits")
    return str(number) if abs(number) < 2**31 else f"INT64_C({number})"


def integer(value: Number) -> int:
    if value != int(value):
        raise NotWorthItError(f"{value} is no whole number of steps")
    return int(value)


@dataclass(frozen=True, slots=True)
class Multiples:
    """How many of the first `most` multiples of a number are not above another one: a quotient's
    digit, as weights divide.
    """

    of: Sum
    """It is not negative; of 0, it is none or all."""
    up_to: Sum
    most: int
    weight: Number
    """What each of them adds, to what is `added` anyway."""
    added: Number


def multiples_in(case: Case, total: Sum) -> Multiples | None:
    """What a sum of comparisons counts, if it is this."""
    weights, past = set[Number](), list[Sum]()
    for value, coefficient in total.without_constant.terms:
        shape = case.pool.definition(value)
        if not isinstance(shape, Steps) or len(shape.jumps) > 1:
            return None
        ((place, height),) = shape.jumps
        weights.add(coefficient * height)
        past.append(shape.argument.plus(constant(place), -1))
    if len(past) < FEWEST_COUNTED or len(weights) > 1:
        return None
    found = in_a_row(past)
    if found is None:
        return None
    first, step = found
    if case.range(step)[1] <= 0:
        first, step = first.plus(step, len(past) - 1), step.scaled(-1)
    if case.range(step)[0] < 0:
        return None
    up_to = first.plus(step, len(past))
    return Multiples(step, up_to, len(past), weights.pop(), total.added)


def in_a_row(sums: Sequence[Sum]) -> tuple[Sum, Sum] | None:
    """(first, step) of sums that are first, first + step, first + 2 * step, ... in some order."""
    away = [one.plus(sums[0], -1) for one in sums]
    if not away[1].terms:
        return None
    _, direction = away[1].direction
    places = [one.proportion(direction) for one in away]
    if any(one != direction.scaled(place) for one, place in zip(away, places, strict=True)):
        return None
    places.sort()
    gaps = {after - before for before, after in pairwise(places)}
    if len(gaps) > 1 or 0 in gaps:
        return None
    return sums[0].plus(direction, places[0]), direction.scaled(gaps.pop())
