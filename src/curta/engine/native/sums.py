"""Sums of values and shapes, as C expressions in whole numbers of steps."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate

from curta.compiler.numbers import Number, power_of_two, step_of
from curta.engine.native.shapes import is_scattered, needs_table, staircase_of
from curta.engine.native.symbolic import CONSTANT, Program, Shape, Sum
from curta.engine.native.tables import comment, integer_type


class Sums:
    """Writes the sums of one program."""

    def __init__(self, program: Program) -> None:
        self.program = program

    def step(self, total: Sum) -> int:
        steps = [
            step_of(c) + (0 if v == CONSTANT else self.program.values[v].step)
            for v, c in total.terms
        ]
        return min(steps, default=0)

    def text(self, total: Sum, step: int) -> str:
        """The sum in units of 2**step."""
        text = ""
        for value, coefficient in sorted(total.terms, key=lambda term: term[0] == CONSTANT):
            own = 0 if value == CONSTANT else self.program.values[value].step
            factor = integer(Fraction(coefficient) * power_of_two(own - step))
            size = str(abs(factor)) if abs(factor) < 2**31 else f"INT64_C({abs(factor)})"
            term = size if value == CONSTANT else f"v{value}"
            if value != CONSTANT and abs(factor) != 1:
                term = f"{size} * {term}"
            sign = "-" if factor < 0 else "+"
            text += f" {sign} {term}" if text else (f"-{term}" if factor < 0 else term)
        return text or "0"

    def shape(self, number: int, shape: Shape, step: int) -> str:
        """A function of whole numbers as a comparison, a staircase or a table."""
        argument = self.text(shape.argument, self.step(shape.argument))
        own = self.step(shape.factor)
        factor = self.text(shape.factor, own)
        unit = power_of_two(own - step)
        (first, height), (last, _) = shape.jumps[0], shape.jumps[-1]
        times = "" if factor == "1" else f" * ({factor})"
        if is_scattered(shape.jumps):
            tests = (f"({argument} >= {u} ? {integer(h * unit)} : 0)" for u, h in shape.jumps)
            return f"({' + '.join(tests)}){times}"
        if needs_table(shape.jumps):
            return f"shape{number}[clamped({argument} - {first - 1}, {last - first + 1})]{times}"
        by = integer(height * unit)
        amount = f"{by}{times}" if by != 1 or not times else factor
        staircase = staircase_of(shape.jumps)
        if staircase is not None:
            _, width, count = staircase
            steps = f"staircase({argument} - {first - width}, {width}, {count})"
            return steps if amount == "1" else f"{steps} * ({amount})"
        if len(shape.jumps) == 1:
            test = f"{argument} >= {first}"
        elif last == first + 1:
            test = f"{argument} == {first}"
        else:
            test = f"(uint64_t)({argument} - {first}) < {last - first}u"
        return test if amount == "1" else f"{test} ? {amount} : 0"

    def shape_table(self, value: int) -> str:
        """The values of a shape that is neither a comparison nor a staircase."""
        described = self.program.values[value]
        shape = described.definition
        if not isinstance(shape, Shape) or not needs_table(shape.jumps):
            return ""
        unit = power_of_two(self.step(shape.factor) - described.step)
        jumps = dict(shape.jumps)
        (first, _), (last, _) = shape.jumps[0], shape.jumps[-1]
        heights = accumulate((jumps.get(u, 0) for u in range(first, last + 1)), initial=0)
        entries = [integer(height * unit) for height in heights]
        kind = integer_type(min(entries), max(entries))
        return (
            f"static const {kind} shape{value}[{len(entries)}] = "
            f"{{{', '.join(map(str, entries))}}}; /* {comment(described.name)} */"
        )


def integer(value: Number) -> int:
    assert value == int(value), f"{value} is no whole number of steps"
    return int(value)
