"""Intervals of sums.

The interval of a sum is that of its terms, added up; better if several terms are functions of one
number u (u itself, gates on u, steps of u): such a function is linear between its bends, so its
extremes are at bends and ends. And what is known of the sum itself is known.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping

from curta.dyadic import FLOAT64, Number, divided, power_of_two, simplify
from curta.engine.native.bits import BitFinder
from curta.engine.native.values import (
    Bounds,
    Column,
    Conjunction,
    Digit,
    FetchedKey,
    FetchedValue,
    Held,
    Mean,
    Parameter,
    Pool,
    PositionValue,
    Product,
    Steps,
    Sum,
    Total,
    ValueId,
)

MOST_NUMBERS = 6
"""Numbers that the terms of a sum are tried as functions of."""


class Intervals:
    """What does not depend on what is known here and not above is found there: cases that are
    divided further have most of it in common.
    """

    def __init__(
        self, pool: Pool, bounds: Mapping[Sum, Bounds], above: Intervals | None = None
    ) -> None:
        self.pool = pool
        self.bounds = bounds
        self.sums: dict[Sum, Bounds] = {}
        self.values: dict[ValueId, Bounds] = {}
        self.above = above
        self.changed = 0
        """Values of sums of which something else is known above: a bit of each."""
        if above is not None:
            for total in bounds.keys() | above.bounds.keys():
                if bounds.get(total) != above.bounds.get(total):
                    self.changed |= sum(1 << value for value, _ in total.terms)
        self.bits = BitFinder(pool, self.of, None if above is None else self.bits_above)

    def under(self, bounds: Mapping[Sum, Bounds]) -> Intervals:
        """The same if something else is known."""
        return self if bounds == self.bounds else Intervals(self.pool, bounds, self)

    def depends(self, value: ValueId) -> bool:
        """Whether a value may be another one than above."""
        return bool(self.pool.support(value) & self.changed)

    def bits_above(self, value: ValueId) -> BitFinder | None:
        """Where the bits that a value is are known, if that is above."""
        return None if self.above is None or self.depends(value) else self.above.bits

    def of(self, total: Sum) -> Bounds:
        """low <= total <= high."""
        found = self.sums.get(total)
        if found is not None:
            return found
        if self.above is not None and not any(self.depends(value) for value, _ in total.terms):
            found = self.sums[total] = self.above.of(total)
        else:
            rest = total.without_constant
            low, high = self.of_terms(rest) if rest.terms else (0, 0)
            added = total.added
            found = self.sums[total] = simplify(low + added), simplify(high + added)
        return found

    def of_terms(self, total: Sum) -> Bounds:
        low, high = self.added_up(total)
        if len(total.terms) > 1:
            parts, rest = self.bits.put_together(total)
            if parts:
                ends = self.added_up(rest)
                low = max(low, ends[0] + sum(min(w * bits.most, 0) for w, bits in parts))
                high = min(high, ends[1] + sum(max(w * bits.most, 0) for w, bits in parts))
            scale, unit = total.direction
            if unit in self.bounds:
                ends = self.bounds[unit]
                low = max(low, scale * ends[scale < 0])
                high = min(high, scale * ends[scale > 0])
            numbers = self.numbers(total)
            tried = [[number] for number in numbers] + ([numbers] if len(numbers) > 1 else [])
            for together in tried:
                ends = self.as_functions(total, together)
                low, high = max(low, ends[0]), min(high, ends[1])
        return simplify(low), simplify(high)

    def added_up(self, total: Sum) -> Bounds:
        """The interval of a sum, each term for itself."""
        low: Number = 0
        high: Number = 0
        for value, coefficient in total.terms:
            ends = self.of_value(value)
            low += coefficient * ends[coefficient < 0]
            high += coefficient * ends[coefficient > 0]
        return low, high

    def of_value(self, value: ValueId) -> Bounds:
        found = self.values.get(value)
        if found is not None:
            return found
        if self.above is not None and not self.depends(value):
            found = self.values[value] = self.above.of_value(value)
        else:
            low, high = self.defined(value)
            known = self.bounds.get(Sum(((value, 1),)))
            if known is not None:
                low, high = max(low, known[0]), min(high, known[1])
            found = self.values[value] = low, high
        return found

    def defined(self, value: ValueId) -> Bounds:
        """The interval of a value by what it is, as if nothing else were known."""
        pool, entry = self.pool, self.pool.entries[value]
        match entry.definition:
            case Product(gate, factor):
                low, high = self.of(gate)
                return times((max(low, 0), max(high, 0)), self.of(factor))
            case Steps(argument):
                places, levels = pool.levels(value)
                first, last = (bisect_right(places, end) for end in self.of(argument))
                reached = levels[first : last + 1]
                return min(reached), max(reached)
            case Held(total):
                return self.of(total)
            case Conjunction(one, other):
                ends = ((self.of(part)[1], power_of_two(pool.step(part))) for part in (one, other))
                return 0, min(divided(*end) for end in ends)
            case Digit():
                return self.bounds[Sum(((value, 1),))]
            case Column(_, entries):
                return min(entries), max(entries)
            case Parameter(_, low, high):
                return low, high
            case PositionValue(divisor, modulus, power, offset):
                most = (pool.max_tokens - 1) // divisor
                most = min(most, modulus - 1) if modulus else most
                low, high = -offset, most - offset
                return (low, high) if power == 1 else (0, max(low * low, high * high))
            case FetchedValue(number, name):
                look_up = pool.look_ups[number]
                member = pool.rows[look_up.rows].members[name]
                if look_up.nearest:
                    return member.low, member.high
                return min(member.low, 0), max(member.high, 0)
            case FetchedKey(number, unit):
                return 0, max(pool.rows_behind(number).size, pool.max_tokens, unit)
            case Total() | Mean():
                most_steps = power_of_two(FLOAT64.mantissa_bits + entry.step)
                return -most_steps, most_steps

    # -- functions of one number -------------------------------------------------------------

    def numbers(self, total: Sum) -> list[Sum]:
        """The numbers that several terms are functions of; the last are computed from the first."""
        curves = [c for value, _ in total.terms if (c := self.pool.curve(value)) is not None]
        found = Counter(curve.number for curve in curves)
        several = [n for n, count in found.items() if count > 1 or total.proportion(n)]
        return several[-MOST_NUMBERS:]

    def as_functions(self, total: Sum, numbers: list[Sum]) -> Bounds:
        """The interval, from the extremes of the terms that are functions of these numbers."""
        rest = total
        low: Number = 0
        high: Number = 0
        for number in reversed(numbers):
            rest, ends = self.without(rest, number)
            low, high = low + ends[0], high + ends[1]
        ends = self.added_up(rest)
        return simplify(low + ends[0]), simplify(high + ends[1])

    def without(self, total: Sum, number: Sum) -> tuple[Sum, Bounds]:
        """A sum without all that is a function of a number, and the interval of that."""
        slope = total.proportion(number)
        parts, others = list[tuple[ValueId, Number]](), list[tuple[ValueId, Number]]()
        for term in total.plus(number, -slope).terms if slope else total.terms:
            curve = self.pool.curve(term[0])
            (others if curve is None or curve.number is not number else parts).append(term)
        ends = self.pool.ends_between(*self.of(number), slope, tuple(parts)) if parts else None
        return (total, (0, 0)) if ends is None else (Sum(tuple(others)), ends)


def unbounded(pool: Pool) -> Intervals:
    """What holds in every case."""
    found: Intervals = pool.results.setdefault((unbounded,), Intervals(pool, {}))
    return found


def times(a: Bounds, b: Bounds) -> Bounds:
    if b == (1, 1):
        return a
    ends = [simplify(x * y) for x in a for y in b]
    return min(ends), max(ends)
