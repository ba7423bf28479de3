"""Numbers: rationals wherever possible, and where there is no other way Arb's balls, which say
where a number is, and how far off that can be.

Whatever is asked of a ball (its digits, its sign, the whole number below it) has an answer where
both of its ends answer the same. Where they do not, the ball is too large: the whole expression is
computed again, with four times the bits. Where all of them do not help (`sqrt(2)^2 == 2`), there is
no answer but an error.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any, TypeGuard, TypeVar

from curta.delegate.calculator.budget import Budget
from curta.errors import CalculatorError, TooLargeError, UndecidedError, UndefinedError

Ball = Any
"""`flint.arb`; flint is imported with the first one. What it says of two balls, such as a == b, is
so beyond doubt; where it says no, the contrary need not be so."""

Rational = int | Fraction
"""Whole numbers are always ints, so that most arithmetic is that of ints."""

Number = Rational | Ball
Value = Number | bool

T = TypeVar("T")

RATIONAL = (int, Fraction, bool)

BITS = (64, 256, 1024, 4096, 16384)
"""Of balls, one after the other. The last are more than the longest numbers of a budget have, whose
sines take all of their bits."""

TINY = -4 * BITS[-1]
"""The power of two that a ball's ends are widened by, which bounds how long they are as fractions.
"""

WORKING = threading.local()
"""Has the library, while this thread makes balls."""
LOCK = threading.Lock()
"""The library has one number of bits for all threads, so they make balls one after the other."""


def decided(compute: Callable[[], T]) -> T:
    """What is computed with as many bits as it takes; most needs none, and no lock."""
    try:  # faster than suppressing the error
        return compute()
    except UndecidedError:
        pass
    with LOCK:
        WORKING.library = found = library()
        others = found.ctx.prec
        try:
            for found.ctx.prec in BITS[:-1]:
                try:
                    return compute()
                except UndecidedError:
                    pass
            found.ctx.prec = BITS[-1]
            return compute()
        finally:
            WORKING.library, found.ctx.prec = None, others


def is_ball(value: Any) -> TypeGuard[Ball]:
    return type(value) not in RATIONAL


def ball(value: Any) -> Ball:
    """A number as a ball."""
    if type(value) is int:
        return flint().arb(value)
    if type(value) is Fraction:
        return flint().arb(value.numerator) / value.denominator
    return value


def pi() -> Ball:
    return flint().arb.pi()


def flint() -> Any:
    """The library, where balls are made."""
    found = getattr(WORKING, "library", None)
    if found is None:
        raise UndecidedError("not without balls")
    return found


def is_last() -> bool:
    """Whether there are no more bits to be had."""
    return bool(flint().ctx.prec == BITS[-1])


def library() -> Any:
    try:
        import flint
    except ImportError:
        error = CalculatorError(
            "roots, logarithms and angles that are not rational need another package: "
            "pip install python-flint"
        )
        error.brief = "not installed"
        raise error from None
    return flint


@cache
def power_of_two(exponent: int) -> Ball:
    """Of any precision, and so for all of them."""
    return library().arb(2) ** exponent


def check_ball(value: Ball, bits: int) -> None:
    """Raise an error if a number is beyond so many bits, or may be."""
    bound = power_of_two(bits)
    if abs(value) < bound:
        return
    if value.is_finite() and abs(value) > bound:
        raise TooLargeError(f"a number beyond 2^{bits:,} on the way to the result")
    if is_last():
        raise TooLargeError("a number on the way to the result is too large to be told")
    raise UndecidedError("too large a ball")


def dyadic(exact: Ball) -> tuple[int, int]:
    """A ball that is a point, as numerator and denominator."""
    mantissa, exponent = map(int, exact.man_exp())
    return mantissa << max(exponent, 0), 1 << max(-exponent, 0)


def settled(value: Any, question: Callable[[Any], T]) -> T:
    """What a question has for an answer. Where a ball's ends have the same, all between them have:
    questions here are of steps that go up, or of steps that go down.
    """
    if not is_ball(value):
        return question(value)
    check_ball(value, BITS[-1])  # more bits than these tell no whole number from the next
    wide = value + flint().arb(0, power_of_two(TINY))
    low, high = Fraction(*dyadic(wide.lower())), Fraction(*dyadic(wide.upper()))
    return same(question(low), question(high))


def same(low: T, high: T) -> T:
    """What both ends have for an answer."""
    if low != high:
        raise UndecidedError("too near to another number to be told from it")
    return low


def sign(value: Any) -> int:
    """-1, 0 or 1."""
    if value > 0:
        return 1
    if value < 0:
        return -1
    if is_ball(value) and not value.is_zero():
        raise UndecidedError("too near to 0 to be told from it")
    return 0


def floor(value: Any) -> int:
    found: int = settled(value, math.floor)
    return found


# ---- kinds of numbers ----


def reduced(value: Rational) -> Rational:
    """Whole numbers as ints."""
    return value.numerator if value.denominator == 1 else value


def whole(value: Number, what: str) -> int:
    """The number as an int, or an error."""
    if not isinstance(value, int):
        raise UndefinedError(f"{what} is of whole numbers only")
    return value


def natural(value: Number, what: str) -> int:
    """The number as an int of at least 0, or an error."""
    if whole(value, what) < 0:
        raise UndefinedError(f"{what} is of numbers from 0 on")
    return int(value)


# ---- what there is room for ----


def check(value: Value, budget: Budget) -> None:
    """Raise an error if a number is beyond the budget."""
    if is_ball(value):
        check_ball(value, budget.bits)
        return
    above, below = value.numerator.bit_length(), value.denominator.bit_length()
    if above > budget.bits:
        raise too_large(above, budget)
    if below > budget.denominator_bits:
        raise TooLargeError(f"a denominator of {below} bits: at most {budget.denominator_bits}")


def check_bits(bits: float, budget: Budget) -> None:
    """Raise an error if a number with so many bits would be."""
    if bits > budget.bits + 1:
        raise too_large(bits, budget)


def too_large(bits: float, budget: Budget) -> TooLargeError:
    many = f"{bits:.3g}" if bits < 1e300 else "more than 1e300"
    return TooLargeError(f"a number of {many} bits: at most {budget.bits}")
