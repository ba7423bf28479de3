"""Exact numbers: rationals wherever possible, balls where there is no other way.

Whole numbers are ints, other rationals Fractions; what is not rational is a ball (`reals`). What
operations are made of is here; the operations themselves are in operations.py.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from curta.delegate.calculator.budget import Budget
from curta.delegate.calculator.reals import Ball, ball, check_ball, floor, is_ball, sign
from curta.errors import TooLargeError, UndefinedError

Rational = int | Fraction
"""Whole numbers are always ints, so that most arithmetic is that of ints."""

Number = Rational | Ball
Value = Number | bool
Function = Callable[..., Any]
"""Of a budget and so many numbers."""


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


# ---- kinds of functions ----


def arithmetic(function: Function) -> Function:
    """Of two numbers; beside a ball the other becomes one."""

    def applied(budget: Budget, a: Any, b: Any) -> Number:
        if type(a) is int and type(b) is int:
            return function(a, b)
        if is_ball(a) or is_ball(b):
            return function(ball(a), ball(b))
        return reduced(function(a, b))

    return applied


def comparison(holds: Function) -> Function:

    def applied(budget: Budget, a: Any, b: Any) -> bool:
        if is_ball(a) or is_ball(b):
            a, b = sign(ball(a) - ball(b)), 0
        return bool(holds(a, b))

    return applied


def of_ball(function: Function, at_zero: int | None = None, domain: str = "") -> Function:
    """A function of a ball, which is rational at most where its operand is 0.

    domain: what to say of operands beyond -1 and 1, if there is no value for them
    """

    def applied(budget: Budget, value: Any) -> Number:
        if at_zero is not None and value == 0:
            return at_zero
        if domain and (sign(value - 1) > 0 or sign(value + 1) < 0):
            raise UndefinedError(domain)
        return function(ball(value))

    return applied


def of_method(name: str, at_zero: int | None = None, domain: str = "") -> Function:
    """The same, of one that balls have themselves."""
    return of_ball(operator.methodcaller(name), at_zero, domain)


def extreme(holds: Function) -> Function:
    """The number for which a comparison with any other holds."""
    is_beyond = comparison(holds)

    def applied(budget: Budget, *numbers: Any) -> Number:
        found, *others = numbers
        for each in others:
            if is_beyond(budget, each, found):
                found = each
        return found

    return applied


# ---- powers, roots and logarithms ----

NO_POWER = "a negative number has no real power that is not whole"
NO_NEGATIVE_POWER = "0 has no negative powers"


def whole_power(budget: Budget, base: Rational, exponent: int) -> Rational:
    if base == 0 and exponent < 0:
        raise UndefinedError(NO_NEGATIVE_POWER)
    if base in (-1, 0, 1):
        return base if exponent % 2 or (base == 0 and exponent) else 1
    if abs(exponent) > budget.exponent:
        raise TooLargeError(f"an exponent beyond {budget.exponent}")
    longer = max(base.numerator.bit_length(), base.denominator.bit_length())
    check_bits((longer - 1) * abs(exponent), budget)
    return reduced(Fraction(base) ** exponent) if exponent < 0 else reduced(base**exponent)


def real_power(base: Number, exponent: Number) -> Number:
    """Where one of them is a ball, or the power is a root that does not come out even."""
    if base == 1 or exponent == 0:
        return 1
    if isinstance(exponent, int):
        if exponent < 0 and sign(base) == 0:
            raise UndefinedError(NO_NEGATIVE_POWER)
        return ball(base) ** exponent
    below_zero = sign(base)
    if below_zero > 0:
        return ball(base) ** ball(exponent)
    if below_zero < 0:
        floor(exponent)  # one that may be whole is undecided
        raise UndefinedError(NO_POWER)
    if sign(exponent) < 0:
        raise UndefinedError(NO_NEGATIVE_POWER)
    return 0


def exact_root(value: Rational, degree: int) -> Rational | None:
    """The rational whose power it is, if there is one."""
    above, below = whole_root(value.numerator, degree), whole_root(value.denominator, degree)
    return None if above is None or below is None else reduced(Fraction(above, below))


def whole_root(value: int, degree: int) -> int | None:
    """The whole number at least 0 whose power it is, if there is one."""
    if value < 2:
        return value
    if degree >= value.bit_length():
        return None
    if degree == 2:
        root = math.isqrt(value)
    else:  # Newton's method from above
        root = 1 << -(-value.bit_length() // degree)
        while (lower := ((degree - 1) * root + value // root ** (degree - 1)) // degree) < root:
            root = lower
    return root if root**degree == value else None


def natural_logarithm(value: Number) -> Number:
    if sign(value) <= 0:
        raise UndefinedError("only positive numbers have a logarithm")
    return 0 if value == 1 else ball(value).log()


def exact_logarithm(value: Rational, base: Rational) -> Rational | None:
    """The rational by which the base, which is not 1, has to be raised, if there is one."""
    if value == 1:
        return 0
    sides = [max(each, 1 / Fraction(each)) for each in (value, base)]
    found = exponent_of(*(each.as_integer_ratio() for each in sides))
    return found if found is None or (value > 1) == (base > 1) else -found


def exponent_of(one: tuple[int, int], other: tuple[int, int]) -> Rational | None:
    """Of two fractions above 1, by Euclid's algorithm for exponents of a common root: what is given
    stays one^a * other^b and one^c * other^d. Each quotient is whole, above and below, and so a bit
    shorter at least.
    """
    a, b, c, d = 1, 0, 0, 1
    while one != other:
        if one[0] < other[0]:
            one, other, a, b, c, d = other, one, b, a, d, c
        (above, rest), (below, left) = map(divmod, one, other)
        if rest or left:
            return None
        one, b, d = (above, below), a + b, c + d
    return reduced(Fraction(a + b, c + d))


def log2_factorial(count: int) -> float:
    """How long a factorial is: its logarithm by that of gamma."""
    return math.inf if count.bit_length() > 64 else math.lgamma(count + 1) / math.log(2)
