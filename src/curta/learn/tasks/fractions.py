"""Fractions in lowest terms."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array

from curta.learn.numbers import (
    Number,
    from_integer,
    greatest_common_divisor,
    number,
    places_of,
    to_integer,
)
from curta.learn.problem import Piece, Problem, Symbol, operand, symbol
from curta.learn.tasks.base import Task, check_one_of
from curta.learn.tasks.multiplication import not_zero
from curta.learn.tasks.ordering import VERDICTS


@dataclass(frozen=True)
class Fractions(Task):
    """Sums, differences, products and comparisons of fractions; results are in lowest terms.

    a/b + c/d = (ad + cb) / bd, divided by the greatest common divisor. Denominators drawn as zero
    become one. A result always has its denominator, even if it is 1.

    operation: + - * or ? (for comparison)
    """

    name = "fractions"
    about = "1/2+1/6=2/3, in lowest terms; operation='+' (or - * ?)"
    symbols = ("+", "-", "*", "?", "/", "=", ":", *VERDICTS)
    operation: str = "+"

    def __post_init__(self) -> None:
        check_one_of(self, "operation", ("+", "-", "*", "?"))

    @property
    def operands(self) -> tuple[int, int]:
        return (4, 4)

    def digits_at_most(self, base: int) -> int:
        # The numerator of a sum is at most 2 (base^p - 1)^2, and has to stay below 2^31.
        places = 1
        while 2 * (base ** (places + 1) - 1) ** 2 < 2**31:
            places += 1
        return places

    def problem(self, operands: Number, *, base: int, key: Array) -> Problem:
        a, c = operand(operands, 0), operand(operands, 2)
        b, d = not_zero(operand(operands, 1)), not_zero(operand(operands, 3))
        end = symbol(":" if self.operation == "?" else "=")
        slash = symbol("/")
        question = (a, slash, b, symbol(self.operation), c, slash, d, end)
        return Problem(question, fraction_result(self.operation, (a, b), (c, d), base))


def fraction_result(
    operation: str, first: tuple[Number, Number], second: tuple[Number, Number], base: int
) -> tuple[Piece, ...]:
    """What comes out for two fractions."""
    (a, b), (c, d) = ([to_integer(each, base) for each in pair] for pair in (first, second))
    largest = base ** first[0].places - 1
    over = b * d
    if operation == "*":
        top, room = a * c, places_of(largest**2, base)
    elif operation == "+":
        top, room = a * d + c * b, places_of(2 * largest**2, base)
    else:
        top, room = a * d - c * b, places_of(largest**2, base)
    if operation == "?":
        return (Symbol(VERDICTS, jnp.sign(top) % 3),)
    divisor = greatest_common_divisor(jnp.abs(top), over)
    numerator = from_integer(top // divisor, room, base)
    if operation != "-":
        numerator = number(numerator.digits)
    denominator = from_integer(over // divisor, places_of(largest**2, base), base)
    return (numerator, symbol("/"), number(denominator.digits))
