"""Sums and values of a case as C expressions, in whole numbers of steps.

Where the interval of a value is known, the expression relies on it: no clamp that cannot bite, a
shift instead of a division.
"""

from __future__ import annotations

from fractions import Fraction

from curta.compiler.numbers import Number, power_of_two
from curta.engine.native.case import Case
from curta.engine.native.pool import ONE, Pool, Steps
from curta.engine.native.shapes import staircase_of
from curta.engine.native.symbolic import CONSTANT, Held, Product, Sum, ValueId

LARGEST = 2**62


class CannotSpecialiseError(Exception):
    """A number of a case would not fit in 64 bits; the general code is left to do it."""


class Expressions:
    def __init__(self, pool: Pool) -> None:
        self.pool = pool

    def text(self, total: Sum, step: int) -> str:
        """The sum in units of 2**step."""
        text = ""
        for value, coefficient in sorted(total.terms, key=lambda term: term[0] == CONSTANT):
            own = 0 if value == CONSTANT else self.pool.entries[value].step
            factor = integer(Fraction(coefficient) * power_of_two(own - step))
            size = str(abs(factor)) if abs(factor) < 2**31 else f"INT64_C({abs(factor)})"
            term = size if value == CONSTANT else f"v{value}"
            if value != CONSTANT and abs(factor) != 1:
                term = f"{size} * {term}"
            sign = "-" if factor < 0 else "+"
            text += f" {sign} {term}" if text else (f"-{term}" if factor < 0 else term)
        return text or "0"

    def in_step(self, total: Sum, step: int) -> str:
        """The same, of a sum that is a multiple of 2**step though its terms may not be."""
        own = self.pool.step(total)
        if own >= step:
            return self.text(total, step)
        return f"({self.text(total, own)}) >> {step - own}"

    def check_size(self, case: Case, total: Sum, step: int) -> None:
        unit = power_of_two(step)
        if any(abs(end) / unit >= LARGEST for end in case.range(total)):
            raise CannotSpecialiseError

    def definition(self, case: Case, value: ValueId) -> str:
        """What a computed value is."""
        entry = self.pool.entries[value]
        match entry.definition:
            case Held(total):
                return self.text(total, entry.step)
            case Product(gate, factor):
                return self.product(case, gate, factor)
            case Steps():
                return self.steps(case, entry.definition, entry.step)
            case definition:
                raise AssertionError(f"{definition} is not computed")

    def product(self, case: Case, gate: Sum, factor: Sum) -> str:
        step = self.pool.step(gate)
        self.check_size(case, gate, step)
        opening, ends = self.text(gate, step), case.range(gate)
        if factor == ONE:
            return f"rectified({opening})"
        other = self.text(factor, self.pool.step(factor))
        if ends == (0, 1) and step == 0:
            return f"({opening}) ? {other} : 0"
        opening = f"({opening})" if ends[0] >= 0 else f"rectified({opening})"
        return f"{opening} * ({other})"

    def steps(self, case: Case, shape: Steps, step: int) -> str:
        """A function of whole numbers as a comparison, a staircase or a sum of comparisons."""
        grain = self.pool.step(shape.argument)
        unit = power_of_two(grain)
        self.check_size(case, shape.argument, grain)
        argument = self.text(shape.argument, grain)
        own = self.pool.step(shape.factor)
        factor = self.text(shape.factor, own)
        heights = [integer(height * power_of_two(own - step)) for _, height in shape.jumps]
        places = [-int(-Fraction(place) // unit) for place, _ in shape.jumps]
        jumps = tuple(zip(places, heights, strict=True))
        bare = shape.factor == ONE
        if len(jumps) == 1:
            return times(f"{argument} >= {literal(places[0])}", heights[0], factor, bare)
        if len(jumps) == 2 and heights[0] == -heights[1]:
            width = places[1] - places[0]
            test = (
                f"{argument} == {literal(places[0])}"
                if width == 1
                else f"(uint64_t)({argument} - {literal(places[0])}) < {literal(width)}u"
            )
            return times(test, heights[0], factor, bare)
        found = staircase_of(jumps)
        if found is not None:
            text = self.staircase(case, shape.argument, *found)
            by = "" if heights[0] == 1 else f"{heights[0]} * "
            return f"{by}{text}" if bare else f"{by}{text} * ({factor})"
        tests = " + ".join(
            f"({argument} >= {literal(place)} ? {literal(height)} : 0)" for place, height in jumps
        )
        return f"({tests})" if bare else f"({tests}) * ({factor})"

    def staircase(self, case: Case, argument: Sum, first: int, width: int, count: int) -> str:
        """(argument - first + width) / width, at least 0 and at most count."""
        grain = self.pool.step(argument)
        start = first - width
        low, high = (Fraction(end) / power_of_two(grain) - start for end in case.range(argument))
        text = self.text(argument, grain)
        shifted = f"{text} - {literal(start)}" if start > 0 else f"{text} + {literal(-start)}"
        shifted = shifted if start else text
        if low < 0 or high >= width * (count + 1):
            if width == 1:
                return f"clamped({shifted}, {count})"
            return f"staircase({shifted}, {literal(width)}, {count})"
        if width & (width - 1) == 0:
            return f"(({shifted}) >> {width.bit_length() - 1})" if width > 1 else f"({shifted})"
        return f"(int64_t)((uint64_t)({shifted}) / {literal(width)}u)"


def times(test: str, height: int, factor: str, bare: bool) -> str:
    if bare:
        return test if height == 1 else f"{test} ? {literal(height)} : 0"
    by = "" if height == 1 else f"{literal(height)} * "
    return f"{test} ? {by}({factor}) : 0"


def literal(number: int) -> str:
    return str(number) if abs(number) < 2**31 else f"INT64_C({number})"


def integer(value: Number) -> int:
    if value != int(value):
        raise CannotSpecialiseError
    return int(value)
