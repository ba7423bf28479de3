"""A suite of number tasks: several kinds of numbers, each with several operations.

All numbers but fractions are computed with as integers on a grid: value = digits / base^point with
the same point for all numbers of a problem, far enough to the left for each of them. So sums,
differences, products and comparisons are those of integers, and nothing is rounded.
"""

from __future__ import annotations

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from curta.errors import ExperimentError
from curta.learn.numbers import (
    Number,
    carried,
    choose,
    compare,
    convolved,
    fixed,
    from_integer,
    from_natural,
    number,
    places_of,
    pointed,
    shifted,
    signed_sum,
    significant,
    widened,
)
from curta.learn.problem import Piece, Problem, Symbol, operand, symbol
from curta.learn.tasks.base import Task, check_at_least, check_one_of
from curta.learn.tasks.decimals import with_fraction
from curta.learn.tasks.fractions import Fractions, fraction_result
from curta.learn.tasks.multiplication import not_zero
from curta.learn.tasks.ordering import VERDICTS

SIGNS = {"add": "+", "sub": "-", "mul": "*"}
PAIRS = (*SIGNS, "max", "min", "compare")
"""Operations on two numbers."""

DIGITS = ("digit", "length", "count")
"""Operations on the digits of one."""

OPERATIONS = {
    "integer": (*PAIRS, *DIGITS, "to_scientific"),
    "float": (*PAIRS, *DIGITS, "to_scientific"),
    "fraction": PAIRS,
    "scientific": (*PAIRS, "to_float"),
}
"""By kind of number."""


class Value(eqx.Module):
    """digits / base^point."""

    digits: Int[Array, " room"]
    negative: Bool[Array, ""] | None
    """None if it cannot be."""
    point: int = eqx.field(static=True)


@dataclass(frozen=True)
class Suite(Task):
    """One operation on one kind of numbers.

    add, sub, mul, max, min, compare: of two numbers
    digit:         the k-th digit from the left, the point not counted
    length, count: how many digits there are, and how many of them are a given one
    to_float, to_scientific: the same number, written otherwise

    kind:      integer, float, fraction or scientific (3.2e-4, one digit before the point)
    operation: one of the above; not all kinds have all of them
    exponents: of scientific numbers, from minus so much up to so much
    """

    name = "suite"
    about = "kind='integer' (float, fraction, scientific), operation='add' (sub, max, digit, ...)"
    symbols = (*"+-*/.e,=:", *VERDICTS, *PAIRS[3:], *DIGITS, "to_float", "to_scientific")
    kind: str = "integer"
    operation: str = "add"
    exponents: int = 9

    def __post_init__(self) -> None:
        check_one_of(self, "kind", tuple(OPERATIONS))
        check_at_least(self, 0, "exponents")
        if self.operation not in OPERATIONS[self.kind]:
            raise ExperimentError(
                f"task suite: operation = {self.operation!r}: for kind = {self.kind!r} it must be "
                f"one of {', '.join(OPERATIONS[self.kind])}"
            )

    @property
    def operands(self) -> tuple[int, int]:
        count = 2 if self.operation in PAIRS else 1
        return (2 * count, 2 * count) if self.kind == "fraction" else (count, count)

    @property
    def alike(self) -> float:
        return 0.5 if self.operation in ("max", "min", "compare") else 0.0

    def digits_at_most(self, base: int) -> int | None:
        return Fractions().digits_at_most(base) if self.kind == "fraction" else None

    def problem(self, operands: Number, *, base: int, key: Array) -> Problem:
        if self.kind == "fraction":
            return self.about_fractions(operands, base)
        value_key, key = jax.random.split(key)
        shown, values = self.drawn(operands, base, key=value_key)
        if self.operation in SIGNS:
            question = (*shown[0], symbol(SIGNS[self.operation]), *shown[1], symbol("="))
            result = computed(self.operation, values[0], values[1], base)
            return Problem(question, self.written(self.kind, result, base))
        asked = symbol(self.operation)
        if self.operation in PAIRS:
            question = (asked, *shown[0], symbol(","), *shown[1], symbol(":"))
            order = compare(number(values[0].digits), number(values[1].digits))
            if self.operation == "compare":
                return Problem(question, (Symbol(VERDICTS, order % 3),))
            first = order > 0 if self.operation == "max" else order < 0
            return Problem(question, either(first, shown[0], shown[1]))
        if self.operation in DIGITS:
            return self.about_digits(shown[0], base, key=key)
        kind = self.operation.removeprefix("to_")
        return Problem((asked, *shown[0], symbol(":")), self.written(kind, values[0], base))

    def drawn(
        self, operands: Number, base: int, *, key: Array
    ) -> tuple[list[tuple[Piece, ...]], list[Value]]:
        """Numbers of this kind: as they are written, and on their grid."""
        places = operands.places
        shown: list[tuple[Piece, ...]] = []
        values = []
        exponent = jnp.array(0)
        for which in range(operands.digits.shape[0]):
            given, own = operand(operands, which), jax.random.fold_in(key, which)
            if self.kind == "integer":
                shown.append((given,))
                values.append(Value(given.digits, None, 0))
            elif self.kind == "float":
                given = with_fraction(given, 0, base, key=own)
                shown.append((given,))
                point = places - 1
                values.append(Value(fixed(given, places + point, point), None, point))
            else:
                drawn = jax.random.randint(own, (), -self.exponents, self.exponents + 1)
                # Numbers of the same size as the one before are the hard ones.
                again = jax.random.bernoulli(jax.random.fold_in(own, 1)) & (which > 0)
                exponent = jnp.where(again, exponent, drawn)
                given = not_zero(given)
                point = self.exponents + places - 1
                grid = widened(given.digits, point + self.exponents + 1)
                digits = shifted(grid, point + exponent - (given.length - 1))
                values.append(Value(digits, None, point))
                shown.append(self.written("scientific", values[-1], base))
        return shown, values

    def written(self, kind: str, value: Value, base: int) -> tuple[Piece, ...]:
        """A value as it is written: 5700, 5.7e3."""
        if kind == "integer":
            return (number(value.digits, negative=value.negative),)
        if kind == "float":
            return (pointed(value.digits, value.point, value.negative),)
        place = significant(value.digits) - 1
        zero = (value.digits == 0).all()
        exponent = jnp.where(zero, 0, place - value.point)
        room = places_of(max(2 * self.exponents + 1, value.point, value.digits.shape[0]), base)
        mantissa = pointed(value.digits, place, value.negative)
        return (mantissa, symbol("e"), from_integer(exponent, room, base))

    def about_digits(self, shown: tuple[Piece, ...], base: int, *, key: Array) -> Problem:
        """Questions about the digits of one number."""
        (given,) = shown
        assert isinstance(given, Number)
        asked = symbol(self.operation)
        room = places_of(given.places, base)
        if self.operation == "length":
            answer = from_natural(given.length, room, base)
            return Problem((asked, given, symbol(":")), (answer,))
        place_key, digit_key, kind_key = jax.random.split(key, 3)
        place = jax.random.randint(place_key, (), 1, jnp.maximum(given.length, 1) + 1)
        digit = given.digits[jnp.maximum(given.length - place, 0)]
        if self.operation == "digit":
            which = from_natural(place, room, base)
            return Problem((asked, given, symbol(","), which, symbol(":")), (number(digit[None]),))
        # A digit at random is hardly ever there twice; half of them are taken from the number.
        other = jax.random.randint(digit_key, (), 0, base)
        digit = jnp.where(jax.random.bernoulli(kind_key), digit, other)
        inside = jnp.arange(given.places) < given.length
        times = ((given.digits == digit) & inside).sum()
        answer = from_natural(times, room, base)
        return Problem((asked, given, symbol(","), number(digit[None]), symbol(":")), (answer,))

    def about_fractions(self, operands: Number, base: int) -> Problem:
        """Operations on two fractions; the larger or smaller one stays as it was written."""
        pairs = [
            (operand(operands, which), not_zero(operand(operands, which + 1))) for which in (0, 2)
        ]
        slash = symbol("/")
        shown: list[tuple[Piece, ...]] = [(top, slash, below) for top, below in pairs]
        if self.operation in SIGNS:
            sign = SIGNS[self.operation]
            result = fraction_result(sign, pairs[0], pairs[1], base)
            return Problem((*shown[0], symbol(sign), *shown[1], symbol("=")), result)
        question = (symbol(self.operation), *shown[0], symbol(","), *shown[1], symbol(":"))
        (verdict,) = fraction_result("?", pairs[0], pairs[1], base)
        if self.operation == "compare":
            return Problem(question, (verdict,))
        assert isinstance(verdict, Symbol)
        wanted = VERDICTS.index(">" if self.operation == "max" else "<")
        return Problem(question, either(verdict.choice == wanted, shown[0], shown[1]))


def computed(operation: str, a: Value, b: Value, base: int) -> Value:
    """A sum, difference or product on the grid."""
    if operation == "mul":
        digits, _ = carried(convolved(a.digits, b.digits), base)
        return Value(digits, None, 2 * a.point)
    sign = -1 if operation == "sub" else 1
    room = a.digits.shape[0] + 1
    left, right = widened(a.digits, room), widened(b.digits, room)
    digits, negative = signed_sum(left, sign * right, base)
    return Value(digits, negative if sign < 0 else None, a.point)


def either(
    condition: Bool[Array, ""], first: tuple[Piece, ...], second: tuple[Piece, ...]
) -> tuple[Piece, ...]:
    """One row of pieces or another one of the same kinds."""
    pieces: list[Piece] = []
    for a, b in zip(first, second, strict=True):
        if isinstance(a, Number):
            assert isinstance(b, Number)
            pieces.append(choose(condition, a, b))
        else:
            pieces.append(a)
    return tuple(pieces)
