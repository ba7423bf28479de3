"""Results as text: all digits if they fit, or else rounded, and which of the two it was."""

from __future__ import annotations

from fractions import Fraction

from curta.delegate.calculator.budget import Budget
from curta.delegate.calculator.exact import Value

DIGITS = 6
"""Behind the point, or significant ones of small numbers, where a result is rounded."""

LARGE, SMALL = 21, -6
"""Powers of ten from which on, and below which, a rounded result has an exponent."""


def printed(value: Value, budget: Budget) -> tuple[str, bool]:
    """The text, and whether it says exactly what the value is."""
    if isinstance(value, bool):
        return ("true" if value else "false"), True
    if isinstance(value, float):
        return approximate(*value.as_integer_ratio())[0], False
    if isinstance(value, int):
        if value.bit_length() <= 4 * budget.printed:
            text = str(value)
            if len(text) <= budget.printed:
                return text, True
        return power_of_ten(value, budget) or approximate(value, 1)
    text = decimal(value, budget.printed)
    return (text, True) if text else approximate(value.numerator, value.denominator)


def decimal(value: Fraction, characters: int) -> str:
    """The decimal expansion if it ends within so many characters, or nothing."""
    rest, twos, fives = value.denominator, 0, 0
    if rest.bit_length() > 4 * characters:
        return ""
    twos = (rest & -rest).bit_length() - 1
    rest >>= twos
    while rest % 5 == 0:
        rest //= 5
        fives += 1
    if rest != 1:
        return ""
    places = max(twos, fives)
    scaled = abs(value.numerator) * 10**places // value.denominator
    text = pointed(scaled, places, value < 0)
    return text if len(text) <= characters else ""


def power_of_ten(value: int, budget: Budget) -> tuple[str, bool] | None:
    """A long whole number that ends in zeros, with an exponent, if that is short enough."""
    digits = str(abs(value))
    significant = digits.rstrip("0")
    if len(significant) > budget.printed - 8:
        return None
    return scientific(significant, len(digits) - 1, value < 0), True


def approximate(above: int, below: int) -> tuple[str, bool]:
    """A fraction rounded to six decimals, or six significant digits where it is small or large."""
    negative, above = above < 0, abs(above)
    if above == 0:
        return "0", True
    exponent = power_below(above, below)
    if SMALL <= exponent < LARGE:
        places = DIGITS if exponent >= 0 else DIGITS - 1 - exponent
        scaled, is_exact = divided(above * 10**places, below)
        return pointed(scaled, places, negative), is_exact
    shift = exponent - DIGITS
    scaled, is_exact = divided(above * 10 ** max(-shift, 0), below * 10 ** max(shift, 0))
    if scaled >= 10 ** (DIGITS + 1):
        exponent += 1
    return scientific(str(scaled).rstrip("0"), exponent, negative), is_exact


def power_below(above: int, below: int) -> int:
    """The exponent of the greatest power of ten that is not above a fraction."""
    guess = len(str(above)) - len(str(below))
    reached = above * 10 ** max(-guess, 0) >= below * 10 ** max(guess, 0)
    return guess if reached else guess - 1


def divided(above: int, below: int) -> tuple[int, bool]:
    """The nearest whole number to a fraction, and whether it is that; halves go to the even one."""
    quotient, rest = divmod(above, below)
    up = 2 * rest > below or (2 * rest == below and quotient % 2 == 1)
    return quotient + up, rest == 0


def pointed(scaled: int, places: int, negative: bool) -> str:
    """A whole number divided by a power of ten, without zeros at its end."""
    digits = str(scaled).rjust(places + 1, "0")
    text = (
        digits if not places else f"{digits[:-places]}.{digits[-places:]}".rstrip("0").rstrip(".")
    )
    return f"-{text}" if negative and text != "0" else text


def scientific(digits: str, exponent: int, negative: bool) -> str:
    """Significant digits with an exponent."""
    mantissa = digits[0] + (f".{digits[1:]}" if len(digits) > 1 else "")
    return f"{'-' * negative}{mantissa}e{exponent}"
