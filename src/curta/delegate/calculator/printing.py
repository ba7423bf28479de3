"""Results as text: all digits if they fit, or else rounded, and which of the two it was."""

from __future__ import annotations

import math
from typing import NamedTuple

from curta.delegate.calculator.budget import Budget
from curta.delegate.calculator.exact import Rational, Value
from curta.delegate.calculator.reals import dyadic, is_ball, is_last, power_of_two, same
from curta.errors import TooLargeError, UndecidedError

DIGITS = 6
"""Behind the point, or significant ones of small numbers, where a result is rounded."""

LARGE, SMALL = 21, -6
"""Powers of ten from which on, and below which, a rounded result has an exponent."""

AROUND = 8
"""Characters that an exponent, a point and a sign take at most."""

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
            return scientific(value, 0), True
    else:
        units, rest = divmod(value.numerator * 10**most, value.denominator)
        if not rest and len(text := plain(units, most)) <= most:
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
    power = power_of_ten(abs(above), below)
    is_plain = SMALL <= power < LARGE
    places = DIGITS - (min(power + 1, 0) if is_plain else power)
    above, below = above * 10 ** max(places, 0), below * 10 ** max(-places, 0)
    units, rest = divmod(2 * above + below, 2 * below)
    if not rest:
        units &= -2  # of two that are as near, the even one
    return (plain if is_plain else scientific)(units, places), units * below == above


def power_of_ten(above: int, below: int) -> int:
    """The greatest that is not above a fraction."""
    power = math.floor((above.bit_length() - below.bit_length() + 1) * math.log10(2))
    return power - int(above * 10 ** max(-power, 0) < below * 10 ** max(power, 0))


def plain(units: int, places: int) -> str:
    """So many units of a decimal place."""
    digits = str(units).zfill(places + 1 + (units < 0))
    return f"{digits[:-places]}.{digits[-places:]}".rstrip("0").rstrip(".")


def scientific(units: int, places: int) -> str:
    """The same with an exponent."""
    digits = str(abs(units))
    power, digits = len(digits) - 1 - places, digits.rstrip("0")
    return f"{'-' * (units < 0)}{digits[0]}{'.' * (len(digits) > 1)}{digits[1:]}e{power}"
