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
from contextlib import suppress
from fractions import Fraction
from typing import Any, TypeVar

from curta.errors import CalculatorError, TooLargeError, UndecidedError

Ball = Any
"""`flint.arb`; flint is imported with the first one."""

T = TypeVar("T")

RATIONAL = (int, Fraction)

BITS = (64, 256, 1024, 4096, 16384)
"""Of balls, one after the other. The last are more than the longest numbers of a budget have, whose
sines take all of their bits."""

LAST = BITS[-1]
LEAST = Fraction(1, 2**4096)
"""What is nearer to 0 is 0, if nobody can tell it from that."""

TINY = -4 * LAST
"""The power of two that a ball's ends are widened by, which bounds how long they are as fractions.
"""


class Near(Fraction):
    """A rational that has the float and the text of a number that may not be rational."""


class Working(threading.local):
    """With how many bits this thread makes balls; with none, it makes no balls."""

    bits = 0

    @property
    def is_last(self) -> bool:
        """Whether there are no more bits to be had."""
        return self.bits >= LAST


WORKING = Working()
LOCK = threading.Lock()
"""The library has one number of bits for all threads."""


def decided(compute: Callable[[], T]) -> T:
    """What is computed with as many bits as it takes; most needs none."""
    try:  # faster than suppressing the error
        return compute()
    except UndecidedError:
        pass
    with LOCK:
        context = library().ctx
        before = context.prec
        try:
            for WORKING.bits in BITS[:-1]:
                context.prec = WORKING.bits
                with suppress(UndecidedError):
                    return compute()
            WORKING.bits = context.prec = LAST
            return compute()
        finally:
            WORKING.bits, context.prec = 0, before


def is_ball(value: Any) -> bool:
    return not isinstance(value, RATIONAL)


def ball(value: Any) -> Ball:
    """A number as a ball."""
    made = flint()
    if isinstance(value, Fraction):
        return made.arb(made.fmpq(value.numerator, value.denominator))
    return made.arb(value) if isinstance(value, int) else value


def pi() -> Ball:
    return flint().arb.pi()


def flint() -> Any:
    """The library, where balls are made."""
    if not WORKING.bits:
        raise UndecidedError("not without balls")
    return library()


def library() -> Any:
    """The library."""
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
        if WORKING.is_last and not value.contains(0):
            raise TooLargeError("a result that is not rational, and no float is near it")
        if WORKING.is_last and max(-low, high) < LEAST:
            return Near(0)
        raise UndecidedError("it may be 0")
    between(low, high, question)
    return Near(low)


def sign(value: Any) -> int:
    """-1, 0 or 1."""
    found = bool(value > 0) - bool(value < 0)
    if not found and is_ball(value) and not value.is_zero():
        raise UndecidedError("too near to 0 to be told from it")
    return found


def floor(value: Any) -> int:
    found: int = settled(value, math.floor)
    return found
