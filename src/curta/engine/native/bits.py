"""Values that are some of the bits of a number, and sums of them that are some of its bits.

The weights take numbers apart, digit by digit: a digit is a staircase of what the digits above it
have left. Put together again they are a shift and a mask.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import pairwise

from curta.dyadic import Number, power_of_two
from curta.engine.native.values import (
    Bounds,
    Conjunction,
    Parameter,
    Pool,
    Rises,
    Steps,
    Sum,
    ValueId,
)

MOST_BITS = 4
"""Bits of two numbers that a table may be of."""


@dataclass(frozen=True, slots=True)
class Bits:
    """Bits low..high - 1 of a number, which counts its steps and has so many bits, as a number."""

    number: Sum
    size: int
    low: int
    high: int

    @property
    def most(self) -> int:
        """The largest number that they can be."""
        return (1 << self.high - self.low) - 1


@dataclass(frozen=True, slots=True)
class Cut(Parameter):
    """A number with a name: some of the bits of another, as long as that stays what it is."""

    bits: Bits


Part = tuple[Number, Bits]
"""Bits, and what 1 of them stands for in a sum."""


class BitFinder:
    """The bits that values are, as far as intervals of sums say so."""

    def __init__(
        self,
        pool: Pool,
        interval: Callable[[Sum], Bounds],
        above: Callable[[ValueId], BitFinder | None] | None = None,
    ) -> None:
        """`above` says who else knows of a value."""
        self.pool = pool
        self.interval = interval
        self.above = above
        self.found: dict[ValueId, Bits | None] = {}

    def of(self, value: ValueId) -> Bits | None:
        if value not in self.found:
            if self.above is not None and (other := self.above(value)) is not None:
                self.found[value] = other.of(value)
                return self.found[value]
            self.found[value] = None
            shape = self.pool.definition(value)
            if isinstance(shape, Cut):
                self.found[value] = shape.bits
            elif isinstance(shape, Steps):
                self.found[value] = self.staircase(value, shape) or self.conjunction(value, shape)
        return self.found[value]

    def staircase(self, value: ValueId, shape: Steps) -> Bits | None:
        """The bits that a staircase is whose steps are as wide as a power of two."""
        width = self.pool.stair_width(value)
        return None if width is None else self.quotient(shape.argument, width, len(shape.jumps))

    def quotient(self, total: Sum, width: int, most: int, *, alone: bool = False) -> Bits | None:
        """The bits that a sum in its steps is if divided by a power of two, if that is not 0
        everywhere and at most so much.
        """
        low, high = self.interval(total)
        unit = power_of_two(self.pool.step(total))
        highest = int(Fraction(high) / unit)
        parts, rest = self.put_together(total, alone=alone)
        if len(parts) == 1 and not rest.terms and parts[0][0] == unit:
            found = parts[0][1]
            highest = min(highest, found.most)
        elif low < 0:
            return None
        else:
            found = Bits(total, highest.bit_length(), 0, highest.bit_length())
        if highest < width or highest >= width * (most + 1):
            return None
        return replace(found, low=found.low + width.bit_length() - 1)

    def conjunction(self, value: ValueId, shape: Steps) -> Bits | None:
        """The bits of a conjunction that a table is of the bits of two numbers."""
        if len(shape.jumps) > 1 << 2 * MOST_BITS:
            return None
        parts, rest = self.put_together(shape.argument, alone=True)
        if len(parts) != 2 or rest.terms:
            return None
        (high, one), (low, other) = sorted(parts, key=lambda part: part[0], reverse=True)
        count = one.high - one.low
        if (one.low, one.high) != (other.low, other.high) or high != low * (1 << count):
            return None
        height = power_of_two(self.pool.entries[value].step)
        if count > MOST_BITS or shape.jumps != common_bits(count, low, height):
            return None
        first, second = sorted((one.number, other.number), key=lambda total: total.terms)
        both = self.pool.value(Conjunction(first, second), 0)
        return Bits(both, min(one.size, other.size), one.low, one.high)

    def put_together(self, total: Sum, *, alone: bool = False) -> tuple[list[Part], Sum]:
        return put_together(self.pool, total, self.of, alone=alone)


def put_together(
    pool: Pool, total: Sum, bits_of: Callable[[ValueId], Bits | None], *, alone: bool = False
) -> tuple[list[Part], Sum]:
    """The parts of a sum that are bits of numbers, as few as there can be, and the rest.

    Single values are left in it, unless `alone`.
    """
    bits = {value: found for value, _ in total.terms if (found := bits_of(value)) is not None}
    numbers = list(dict.fromkeys(one.number for one in bits.values()))
    orders = [numbers]
    if len(numbers) > 1:
        # A number may have bits of another one in it: those are not there without it, or it is not
        # there without them.
        orders.append(sorted(numbers, key=lambda number: number.terms[-1][0], reverse=True))
    ways = [in_order(pool, total, bits, order, alone) for order in orders]
    return min(ways, key=lambda one: len(one[0]) + len(one[1].terms))


def in_order(
    pool: Pool, total: Sum, bits: Mapping[ValueId, Bits], numbers: Sequence[Sum], alone: bool
) -> tuple[list[Part], Sum]:
    """The same, one number after the other."""
    parts: list[Part] = []
    for number in numbers:
        members = [(v, c) for v, c in total.terms if v in bits and bits[v].number == number]
        if not members:
            continue
        found = [(c * power_of_two(pool.entries[v].step), bits[v]) for v, c in members]
        left = total.plus(Sum(tuple(members)), -1)
        slope = left.proportion(number)
        if slope:
            whole = slope * power_of_two(pool.step(number))
            size = found[0][1].size
            found.append((whole, Bits(number, size, 0, size)))
        merged = joined(found)
        if alone or len(merged) < len(found):
            parts += merged
            total = left.plus(number, -slope) if slope else left
    return parts, total


@cache
def common_bits(count: int, low: Number, height: Number) -> Rises:
    """The jumps of the table of (number >> count) & number."""
    mask = (1 << count) - 1
    levels = [number >> count & number & mask for number in range(1 << 2 * count)]
    return tuple(
        (low * number, height * (after - before))
        for number, (before, after) in enumerate(pairwise(levels), start=1)
        if after != before
    )


def joined(parts: list[Part]) -> list[Part]:
    """Neighbours joined, and highest bits taken away, until there are none."""
    parts = sorted(parts, key=lambda part: (part[1].high, part[1].low), reverse=True)
    for i, (weight, bits) in enumerate(parts):
        for j, (other, below) in enumerate(parts):
            if i == j:
                continue
            sign, high = 1, bits.high
            if bits.high == below.high and bits.low > below.low:
                sign, high = -1, bits.low
            elif bits.low != below.high:
                continue
            if weight == sign * other * power_of_two(bits.low - below.low):
                rest = [part for n, part in enumerate(parts) if n not in (i, j)]
                return joined([*rest, (other, replace(below, high=high))])
    return parts
