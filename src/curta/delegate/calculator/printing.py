"""Results as text: all digits if they fit, or else rounded, and which of the two it was."""

from __future__ import annotations

import math
from decimal import ROUND_DOWN, Context, Decimal, Inexact
from typing import NamedTuple

from curta.delegate.calculator.budget import Budget
from curta.delegate.calculator.reals import (
    Rational,
    Value,
    dyadic,
    is_ball,
    is_last,
    power_of_two,
    same,
)
from curta.errors import TooLargeError, UndecidedError

DIGITS = 6
"""Behind the point, or significant ones of small numbers, where a result is rounded."""

LARGE, SMALL = 21, -6
"""Powers of ten from which on, and below which, a rounded result has an exponent."""

AROUND = 8
"""Characters that an exponent, a point and a sign take at most."""

CUT_OFF = Context(prec=1, rounding=ROUND_DOWN)
"""What finds the power of ten that is not above a number."""

LEAST = 4096
"""What is nearer to 0 than this power of 1/2 is 0, if nobody can tell it from that."""


class Near(NamedTuple):
    """What is told of a number that may not be rational."""

    value: float
    text: str


def printed(value: Rational | bool, budget: Budget) -> tuple[str, bool]:
    """The text, and whether it says exactly what the value is."""
    most = budget.printed
    if isinstance(value, bool):
        return ("true" if value else "false"), True
    if isinstance(value, int):
        text = str(value)
        if len(text) <= most:
            return text, True
        if len(text.strip("-0")) <= most - AROUND:
            return scientific(quotient(value, 1, most)[0]), True
    else:
        number, exact = quotient(*value.as_integer_ratio(), most)
        if exact and len(text := f"{number:f}") <= most:
            return text, True
    return approximate(*value.as_integer_ratio())


def told(value: Value) -> Rational | bool | Near:
    """A value as it is told: of a ball, what is the same of both of its ends."""
    if not is_ball(value):
        return value
    low, high = value.lower(), value.upper()
    number = same(float(low), float(high))
    if number and math.isfinite(number):
        text = of_float(number)
        return Near(number, text or same(approximate(*dyadic(low)), approximate(*dyadic(high)))[0])
    if not value.contains(0):
        raise TooLargeError("a result that is not rational, and no float is near it")
    if is_last() and abs(value) < power_of_two(-LEAST):
        return Near(0.0, "0")
    raise UndecidedError("it may be 0")


def of_float(number: float) -> str | None:
    """What all that have this float are rounded to, where it is the same and six decimals."""
    low = f"{math.nextafter(number, -math.inf):.{DIGITS}f}"
    if abs(number) < 0.1 or low != f"{math.nextafter(number, math.inf):.{DIGITS}f}":
        return None
    return low.rstrip("0").rstrip(".")


def approximate(above: int, below: int) -> tuple[str, bool]:
    """A fraction rounded to six decimals, or six significant digits where it is small or large;
    and whether it is exactly that.
    """
    power = CUT_OFF.divide(Decimal(above), Decimal(below)).adjusted()
    is_plain = SMALL <= power < LARGE
    digits = DIGITS + (max(power + 1, 0) if is_plain else 1)
    number, exact = quotient(above, below, digits)
    return f"{number:f}" if is_plain else scientific(number), exact


def quotient(above: int, below: int, digits: int) -> tuple[Decimal, bool]:
    """A fraction in so many significant digits, and whether it is exactly that."""
    context = Context(prec=digits)
    found = context.normalize(context.divide(Decimal(above), Decimal(below)))
    return found, not context.flags[Inexact]


def scientific(number: Decimal) -> str:
    return f"{number:e}".replace("e+", "e")
