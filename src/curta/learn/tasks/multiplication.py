"""Products, quotients and remainders."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array, Int

from curta.learn.numbers import (
    Number,
    add,
    choose,
    constant,
    divide,
    limited,
    multiply,
    number,
    subtract,
)
from curta.learn.problem import Piece, Problem, numbers_in, operand, symbol
from curta.learn.tasks.base import Task, check_at_least, check_one_of
from curta.learn.workings import Partials, Quotients, product_partials, quotient_steps

Digits = Int[Array, "*batch"] | int


@dataclass(frozen=True)
class Multiplication(Task):
    """The product of two numbers.

    first, second: digits of the operands at most, 0 for as many as are drawn; `second=1` is the
    n x 1 product, `first=5, second=3` the 5 x 3 product
    """

    name = "multiplication"
    about = "a*b; second=1 for products by one digit"
    symbols = ("*", "=")
    workings = ("partials",)
    first: int = 0
    second: int = 0

    def __post_init__(self) -> None:
        check_at_least(self, 0, "first", "second")

    def sizes(self, drawn: Int[Array, " operands"]) -> Int[Array, " operands"]:
        return limited_sizes(drawn, self.first, self.second)

    @property
    def commutative(self) -> bool:
        return self.first == self.second

    def problem(self, operands: Number, *, base: int, key: Array) -> Problem:
        a = limited(operand(operands, 0), self.first)
        b = limited(operand(operands, 1), self.second)
        return Problem((a, symbol("*"), b, symbol("=")), (multiply(a, b, base),))

    def answer_digits(self, longest: Digits) -> Digits:
        if not (self.first or self.second):
            return 2 * longest
        sides = [at_most(longest, limit) for limit in (self.first, self.second)]
        return sides[0] + sides[1]

    def partials(self, problem: Problem, base: int) -> Partials:
        a, b = numbers_in(problem.question)
        return product_partials(a, b, base)


@dataclass(frozen=True)
class Division(Task):
    """Quotient and remainder. A divisor that is drawn as zero becomes one.

    second: digits of the divisor at most, 0 for as many as are drawn
    remainder: whether it is asked for
    """

    name = "division"
    about = "a/b=q and the remainder; second=1 for divisors of one digit"
    symbols = ("/", "=", "r")
    workings = ("quotients",)
    second: int = 0
    remainder: bool = True

    def __post_init__(self) -> None:
        check_at_least(self, 0, "second")

    def sizes(self, drawn: Int[Array, " operands"]) -> Int[Array, " operands"]:
        return limited_sizes(drawn, 0, self.second)

    def problem(self, operands: Number, *, base: int, key: Array) -> Problem:
        a = operand(operands, 0)
        b = not_zero(limited(operand(operands, 1), self.second))
        quotient, rest = divide(a, b, base)
        answer: tuple[Piece, ...] = (quotient, symbol("r"), rest)
        return Problem((a, symbol("/"), b, symbol("=")), answer if self.remainder else answer[:1])

    def slack(self, operands: int, places: int, base: int) -> int:
        # Divisor and quotient have one digit more than the dividend together, at most; a divisor
        # of n digits leaves remainders of n, but one digit in base 2 leaves nothing but 0.
        divisor = min(places, self.second or places)
        return divisor - 1

    def answer_digits(self, longest: Digits) -> Digits:
        return longest

    def quotients(self, problem: Problem, base: int) -> Quotients:
        a, b = numbers_in(problem.question)
        quotient = problem.answer[0]
        assert isinstance(quotient, Number)
        return quotient_steps(a, b, quotient, base)


@dataclass(frozen=True)
class Modular(Task):
    """Arithmetic modulo a fixed number p: (a+b)%p, (a-b)%p or (a*b)%p.

    modulus: p, which stands in the question if it is `shown`
    operation: + - or *
    """

    name = "modular"
    about = "a+b%p; modulus=97, operation='+' (or - *), shown=True"
    symbols = ("+", "-", "*", "%", "=")
    modulus: int = 97
    operation: str = "+"
    shown: bool = True

    def __post_init__(self) -> None:
        check_at_least(self, 2, "modulus")
        check_one_of(self, "operation", ("+", "-", "*"))

    @property
    def commutative(self) -> bool:
        return self.operation in "+*"

    def problem(self, operands: Number, *, base: int, key: Array) -> Problem:
        a, b = operand(operands, 0), operand(operands, 1)
        p = constant(self.modulus, base)
        if self.operation == "*":
            _, rest = divide(multiply(a, b, base), p, base)
        elif self.operation == "+":
            _, rest = divide(add(a, b, base), p, base)
        else:
            rest = self.difference(a, b, p, base)
        shown: tuple[Piece, ...] = (symbol("%"), p) if self.shown else ()
        return Problem((a, symbol(self.operation), b, *shown, symbol("=")), (rest,))

    def difference(self, a: Number, b: Number, p: Number, base: int) -> Number:
        """(a - b) mod p: the remainder of |a - b|, or p less it."""
        difference = subtract(a, b, base)
        _, rest = divide(number(difference.digits), p, base)
        left = subtract(p, rest, base)
        wrapped = difference.negative & (rest.digits != 0).any()
        return choose(wrapped, number(left.digits), rest)


def limited_sizes(
    drawn: Int[Array, " operands"], first: int, second: int
) -> Int[Array, " operands"]:
    """The digits of two operands, at most so many where there is a limit."""
    return jnp.stack([at_most(drawn[0], first), at_most(drawn[1], second)])


def at_most(length: Digits, limit: int) -> Digits:
    """A length, or a limit that is not zero."""
    if not limit:
        return length
    return min(length, limit) if isinstance(length, int) else jnp.minimum(length, limit)


def not_zero(given: Number) -> Number:
    """One instead of zero, of the same length."""
    zero = (given.digits == 0).all() & (given.length > 0)
    return Number(
        digits=given.digits.at[0].set(jnp.where(zero, 1, given.digits[0])),
        length=given.length,
        negative=given.negative,
        fraction=given.fraction,
        signed=given.signed,
        pointed=given.pointed,
    )
