"""Four operations on decimal numbers, computed by compiled programs of the gallery.

What the programs get is digits, and what they say is digits. What is done here is done on paper
without calculating: a point is moved, a sign is chosen, zeros are written behind a number.

    a + b, a - b   as whole numbers with equally many decimals; equal signs are added, others
                   subtracted, by the program that the signs ask for
    a * b          digits times digits; decimals together, negative if one of them is
    a / b          to 40 decimals. If nothing is left over that is all of it. If something is, the
                   quotient is rounded to six decimals, or to six significant digits if it is below
                   1; or to as many decimals as were asked for. Halves go away from zero.

To round, half a unit is added to what was cut off late enough, by the program that adds.
"""

from __future__ import annotations

from enum import Enum
from functools import cache
from itertools import count
from operator import add, mul, sub, truediv

from curta.engine import Engine, Level, load
from curta.engine.model_cache import compile_cached
from curta.errors import UndefinedError
from curta.gallery import PROGRAMS
from curta.hybrid.unit.numbers import Number

MOST_DIGITS = 20
"""Of an operand that the questions have; the programs take longer ones as well."""

MOST_PLACES = 40
"""Decimals to which a quotient is computed."""

ROUNDED = 6
"""Decimals, or significant digits below 1, of a quotient that does not end."""


class Operation(Enum):
    """Of two numbers."""

    ADDITION = "+"
    SUBTRACTION = "-"
    MULTIPLICATION = "*"
    DIVISION = "/"

    @property
    def program(self) -> str:
        """Its name in the gallery."""
        return self.name.lower()


class Arithmetic:
    """The compiled programs, and what is done around them."""

    def __init__(self, level: Level = "native") -> None:
        self.level = level

    def compute(self, operation: Operation, a: Number, b: Number, places: int | None = None) -> str:
        """The result in decimal; what its decimals are is said above."""
        match operation:
            case Operation.ADDITION:
                return str(self.total(a, b))
            case Operation.SUBTRACTION:
                return str(self.total(a, Number(b.digits, b.places, not b.negative)))
            case Operation.MULTIPLICATION:
                digits = self.say(operation, a.digits, b.digits)
                return str(Number(digits, a.places + b.places, a.negative != b.negative))
            case Operation.DIVISION:
                return str(self.quotient(a, b, places))

    def total(self, a: Number, b: Number) -> Number:
        """Of two numbers with signs."""
        places = max(a.places, b.places)
        first, second = (each.digits + "0" * (places - each.places) for each in (a, b))
        if a.negative == b.negative:
            return Number(self.say(Operation.ADDITION, first, second), places, a.negative)
        said = self.say(Operation.SUBTRACTION, first, second)
        return Number(said.lstrip("-"), places, said.startswith("-") != a.negative)

    def quotient(self, a: Number, b: Number, places: int | None) -> Number:
        """Of two numbers with signs: all of it, or rounded."""
        if b.is_zero:
            raise UndefinedError(f"{a} / {b} has no value")
        above, below = a.digits + "0" * (MOST_PLACES + b.places), b.digits + "0" * a.places
        digits, _, left_over = self.say(Operation.DIVISION, above, below).partition(" r ")
        found = Number(digits, MOST_PLACES, a.negative != b.negative)
        if places is None:
            if left_over == "0":
                return found
            whole, decimals = found.parts
            zeros = 0 if whole.strip("0") else MOST_PLACES - len(decimals.lstrip("0"))
            places = zeros + ROUNDED
        excess = MOST_PLACES - places
        if excess <= 0:
            return found
        half = "5" + "0" * (excess - 1)
        digits = self.say(Operation.ADDITION, digits, half).rjust(excess + 1, "0")
        return Number(digits[:-excess], places, found.negative)

    def say(self, operation: Operation, first: str, second: str) -> str:
        """What the compiled program says about two natural numbers."""
        program = PROGRAMS[operation.program]
        prompt = program.encode(f"{first} {operation.value} {second}")
        return program.decode(engine(operation, self.level).generate(prompt))


@cache
def engine(operation: Operation, level: Level) -> Engine:
    """A compiled program, made ready when it is first asked."""
    program = PROGRAMS[operation.program]
    return load(compile_cached(program.build(), program.max_tokens), level)


EXACTLY = dict(zip(Operation, (add, sub, mul, truediv), strict=True))
"""What operations are of fractions."""


def expected(operation: Operation, a: Number, b: Number, places: int | None = None) -> str:
    """The same by fractions, in Python: what the programs are tested with, and questions judged."""
    exact = EXACTLY[operation](a.value, b.value)
    if operation is not Operation.DIVISION:
        places = MOST_PLACES
    elif places is None:
        places = MOST_PLACES
        if (exact * 10**MOST_PLACES).denominator > 1:
            places = next(n for n in count(ROUNDED) if abs(exact) * 10 ** (n - ROUNDED + 1) >= 1)
    doubled = 2 * abs(exact) * 10**places
    return str(Number(str(int(doubled + 1) // 2), places, exact < 0))
