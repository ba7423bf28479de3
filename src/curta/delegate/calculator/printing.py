"""Results as text: all digits if they fit, or else rounded, and which of the two it was."""

from __future__ import annotations

from decimal import ROUND_DOWN, Context, Decimal, Inexact

from curta.delegate.calculator.budget import Budget
from curta.delegate.calculator.exact import Rational
from curta.delegate.calculator.reals import Near

DIGITS = 6
"""Behind the point, or significant ones of small numbers, where a result is rounded."""

LARGE, SMALL = 21, -6
"""Powers of ten from which on, and below which, a rounded result has an exponent."""

AROUND = 8
"""Characters that an exponent, a point and a sign take at most."""


def printed(value: Rational | bool, budget: Budget) -> tuple[str, bool]:
    """The text, and whether it says exactly what the value is."""
    if isinstance(value, bool):
        return ("true" if value else "false"), True
    is_whole, most = isinstance(value, int), budget.printed
    if is_whole and len(text := str(value)) <= most:
        return text, True
    above, below = map(Decimal, value.as_integer_ratio())
    if isinstance(value, Near):
        return approximate(above, below)[0], False
    quotient, is_exact = divided(above, below, most)
    if is_exact and len(text := f"{quotient:f}") <= most:
        return text, True
    if is_whole and most > AROUND:  # it may end in zeros
        quotient, is_exact = divided(above, below, most - AROUND)
        if is_exact:
            return scientific(quotient), True
    return approximate(above, below)


def approximate(above: Decimal, below: Decimal) -> tuple[str, bool]:
    """A fraction rounded to six decimals, or six significant digits where it is small or large."""
    power = Context(prec=1, rounding=ROUND_DOWN).divide(above, below).adjusted()
    if SMALL <= power < LARGE:
        quotient, is_exact = divided(above, below, DIGITS + max(power + 1, 0))
        return f"{quotient:f}", is_exact
    quotient, is_exact = divided(above, below, DIGITS + 1)
    return scientific(quotient), is_exact


def divided(above: Decimal, below: Decimal, digits: int) -> tuple[Decimal, bool]:
    """A fraction in so many digits, halves to the even one; and whether it is exactly that."""
    context = Context(prec=digits)
    quotient = context.normalize(context.divide(above, below))
    return quotient, not context.flags[Inexact]


def scientific(value: Decimal) -> str:
    """Significant digits with an exponent."""
    return f"{value:e}".replace("e+", "e")
