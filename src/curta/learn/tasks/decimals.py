"""Numbers with a point."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array

from curta.learn.numbers import (
    Number,
    carried,
    compare,
    convolved,
    fixed,
    number,
    pointed,
    subtract,
)
from curta.learn.problem import Piece, Problem, Symbol, operand, symbol
from curta.learn.tasks.base import Task, check_at_least, check_one_of, check_share
from curta.learn.tasks.ordering import VERDICTS, nearer


@dataclass(frozen=True)
class Decimals(Task):
    """Sums, differences, products and comparisons of numbers with a point.

    An operand of d digits has between none and d - 1 of them behind the point, each number of them
    as likely; the last one behind the point is not zero, in answers neither.

    operation: + - * or ? (for comparison)
    fraction:  digits behind the point at most, 0 for as many as there are
    near:      for comparison, the share of numbers of one length that differ little or not at all
    """

    name = "decimals"
    about = "5.7+0.24; operation='+' (or - * ?), fraction=0 limits the digits behind the point"
    symbols = ("+", "-", "*", "?", ".", "=", ":", *VERDICTS)
    operation: str = "+"
    fraction: int = 0
    near: float = 0.5

    def __post_init__(self) -> None:
        check_one_of(self, "operation", ("+", "-", "*", "?"))
        check_at_least(self, 0, "fraction")
        check_share(self, "near")

    @property
    def alike(self) -> float:
        return self.near if self.operation == "?" else 0.0

    @property
    def commutative(self) -> bool:
        return self.operation in "+*"

    def problem(self, operands: Number, *, base: int, key: Array) -> Problem:
        first_key, second_key, near_key = jax.random.split(key, 3)
        a = with_fraction(operand(operands, 0), self.fraction, base, key=first_key)
        b = with_fraction(operand(operands, 1), self.fraction, base, key=second_key)
        if self.operation == "?":
            b = near_decimal(a, b, key=near_key)
        end = symbol(":" if self.operation == "?" else "=")
        question = (a, symbol(self.operation), b, end)
        return Problem(question, (decimal_result(self.operation, a, b, base),))

    def slack(self, operands: int, places: int, base: int) -> int:
        # A sum has 2 p digits only if one operand has no point; a product without its fractions'
        # zeros has two operands with a point, or none itself.
        if self.operation not in "+-" or places == 1 or 0 < self.fraction < places - 1:
            return 0
        return 1


def with_fraction(given: Number, most: int, base: int, *, key: Array) -> Number:
    """An integer's digits with a point among them."""
    point_key, last_key, whole_key = jax.random.split(key, 3)
    largest = jnp.maximum(given.length - 1, 0)
    if most:
        largest = jnp.minimum(largest, most)
    fraction = jax.random.randint(point_key, (), 0, largest + 1)
    digits = given.digits
    last = jax.random.randint(last_key, (), 1, base)
    digits = digits.at[0].set(jnp.where((fraction > 0) & (digits[0] == 0), last, digits[0]))
    # A number may begin with 0 before its point, and nowhere else.
    whole = jax.random.randint(whole_key, (), 0, base)
    only = (fraction > 0) & (fraction == given.length - 1)
    digits = jnp.where((jnp.arange(given.places) == fraction) & only, whole, digits)
    return number(digits, given.length, fraction=fraction)


def near_decimal(a: Number, b: Number, *, key: Array) -> Number:
    """As `nearer`, with the point of a wherever digits of a are taken."""
    mixed = nearer(a, b, key=key)
    same = (a.length == b.length) & (a.length > 0)
    fraction = jnp.where(same, a.fraction, b.fraction)
    # With another point, the last digit may be a zero, or the first one the only one.
    digits = jnp.where(same & (fraction > 0) & (mixed.digits[0] == 0), 1, mixed.digits[0])
    digits = mixed.digits.at[0].set(digits)
    first = jnp.maximum(mixed.length - 1, 0)
    lost = same & (fraction < first) & (digits[first] == 0)
    digits = digits.at[first].set(jnp.where(lost, 1, digits[first]))
    return number(digits, b.length, fraction=fraction)


def decimal_result(operation: str, a: Number, b: Number, base: int) -> Piece:
    """What comes out for two numbers with a point."""
    point = max(a.places, b.places) - 1
    room = max(a.places, b.places) + point
    left, right = fixed(a, room, point), fixed(b, room, point)
    if operation == "?":
        return Symbol(VERDICTS, compare(number(left), number(right)) % 3)
    if operation == "*":
        digits, _ = carried(convolved(a.digits, b.digits), base)
        return pointed(digits, a.fraction + b.fraction)
    if operation == "-":
        difference = subtract(number(left), number(right), base)
        return pointed(difference.digits, point, difference.negative)
    digits, _ = carried(jnp.pad(left + right, (0, 1)), base)
    return pointed(digits, point)
