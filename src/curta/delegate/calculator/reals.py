"""Numbers that are not rational, by Arb's balls: where a number is, and how far off that can be.

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
from typing import Any, TypeVar

from curta.errors import CalculatorError, TooLargeError, UndecidedError

Ball = Any
"""`flint.arb`; flint is imported with the first one."""

T = TypeVar("T")

RATIONAL = (int, Fraction)

FIRST, LAST, MORE = 64, 2**14, 4
"""Bits of balls: at first, at last, and how many times more each time. The last are more than the
longest numbers of a budget have, whose sines take all of their bits."""

TINY = -4 * LAST
"""The power of two that a ball's ends are widened by, which bounds how long they are as fractions.
"""


class Near(Fraction):
    """A rational that has the float and the text of a number that may not be rational."""


class Working:
    """With how many bits balls are made: the library has one number for all threads."""

    lock = threading.RLock()
    bits = FIRST

    @property
    def is_last(self) -> bool:
        """Whether there are no more bits to be had."""
        return self.bits >= LAST


WORKING = Working()


def decided(compute: Callable[[], T]) -> T:
    """What is computed with as many bits as it takes."""
    with WORKING.lock:
        try:
            while True:
                try:
                    return compute()
                except UndecidedError:
                    if WORKING.is_last:
                        raise
                    WORKING.bits *= MORE
        finally:
            WORKING.bits = FIRST


def is_ball(value: Any) -> bool:
    return not isinstance(value, RATIONAL)


def ball(value: Any) -> Ball:
    """A number as a ball."""
    library = flint()
    if isinstance(value, Fraction):
        return library.arb(library.fmpq(value.numerator, value.denominator))
    return library.arb(value) if isinstance(value, int) else value


def pi() -> Ball:
    return flint().arb.pi()


def flint() -> Any:
    """The library, with the bits that are worked with."""
    try:
        import flint as library
    except ImportError:
        raise CalculatorError(
            "roots, logarithms and angles that are not rational need another package: "
            "pip install python-flint"
        ) from None
    library.ctx.prec = WORKING.bits
    return library


def check_ball(value: Ball, bits: int) -> None:
    """Raise an error if a number is beyond so many bits, or may be."""
    if value.is_finite():
        bound = flint().arb(2) ** bits
        if value.abs_upper() < bound:
            return
        if value.abs_lower() > bound:
            raise TooLargeError(f"a number beyond 2^{bits:,} on the way to the result")
    if WORKING.is_last:
        raise TooLargeError("a number on the way to the result is too large to be told")
    raise UndecidedError("too large a ball")


def ends(value: Ball) -> tuple[Fraction, Fraction]:
    """Between which rationals a number is."""
    arb = flint().arb
    wide = value + arb(0, arb(2) ** TINY)
    return dyadic(wide.lower()), dyadic(wide.upper())


def dyadic(exact: Ball) -> Fraction:
    """A ball that is a point, as a rational."""
    mantissa, exponent = map(int, exact.man_exp())
    return Fraction(mantissa << max(exponent, 0), 1 << max(-exponent, 0))


def settled(value: Any, question: Callable[[Any], T]) -> T:
    """What a question has for an answer. Where a ball's ends have the same, all between them have:
    questions here are of steps that go up, or of steps that go down.
    """
    return between(*ends(value), question) if is_ball(value) else question(value)


def between(low: Fraction, high: Fraction, question: Callable[[Any], T]) -> T:
    """What all from one number to another have for an answer."""
    answer = question(low)
    if answer != question(high):
        raise UndecidedError("too near to another number to be told from it")
    return answer


def near(value: Ball, question: Callable[[Fraction], Any]) -> Near:
    """A rational for which a question has the number's answer; 0 for what is not told from it."""
    low, high = ends(value)
    if low <= 0 <= high:
        if WORKING.is_last:
            return Near(0)
        raise UndecidedError("it may be 0")
    between(low, high, question)
    return Near(low)


def sign(value: Any) -> int:
    """-1, 0 or 1."""
    return settled(value, sign_of)


def sign_of(number: Any) -> int:
    return (number > 0) - (number < 0)  # type: ignore[no-any-return]


def floor(value: Any) -> int:
    found: int = settled(value, math.floor)
    return found
