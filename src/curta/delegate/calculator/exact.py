"""Exact numbers: rationals wherever possible, floats where there is no other way.

Whole numbers are ints, other rationals Fractions; what is only nearly right is a float, and stays
one. What operations are made of is here; the operations themselves are in operations.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from curta.delegate.calculator.budget import Budget
from curta.errors import TooLargeError, UndefinedError

Rational = int | Fraction
"""Whole numbers are always ints, so that most arithmetic is that of ints."""

Number = Rational | float
Value = Rational | float | bool
Function = Callable[..., Any]
"""Of a budget and so many numbers."""


# ---- what there is room for ----


def check(value: Value, budget: Budget) -> None:
    """Raise an error if a number is beyond the budget; a float is never inf or nan."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise TooLargeError("the result is beyond the largest float")
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


def as_float(value: Number) -> float:
    """The float next to it."""
    try:
        near = float(value)
    except OverflowError:
        raise TooLargeError(
            "a number beyond the largest float where only a float will do"
        ) from None
    return kept(near, value)


def kept(near: float, *operands: Number) -> float:
    """What comes of operands and is 0 only if one of them is; too small a float would say 0."""
    if near == 0 and all(operands):
        raise TooLargeError("a number below the smallest float where only a float will do")
    return near


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


def arithmetic(function: Function, vanishes: bool = True, by_zero: str = "") -> Function:
    """Of two numbers; beside a float the other becomes one.

    vanishes: a float of 0 can be right
    by_zero:  what to say if the second one is 0, if there is no value for it
    """

    def applied(budget: Budget, a: Any, b: Any) -> Number:
        if by_zero and b == 0:
            raise UndefinedError(by_zero)
        if type(a) is int and type(b) is int:
            return function(a, b)  # type: ignore[no-any-return]
        if type(a) is float or type(b) is float:
            near = function(as_float(a), as_float(b))
            return near if vanishes else kept(near, a, b)
        return reduced(function(a, b))

    return applied


def comparison(holds: Function) -> Function:
    """A comparison; of floats, which are rounded, it is a float itself: 1.0 or 0.0."""

    def applied(budget: Budget, a: Number, b: Number) -> Value:
        truth: bool = holds(a, b)
        return float(truth) if isinstance(a, float) or isinstance(b, float) else truth

    return applied


def of_float(function: Function, at_zero: int | None = None, domain: str = "") -> Function:
    """A function of a float, which is exact at most where its operand is 0.

    domain: what to say of operands beyond -1 and 1, if there is no value for them
    """

    def applied(budget: Budget, value: Number) -> Number:
        if value == 0 and at_zero is not None and not isinstance(value, float):
            return at_zero
        if domain and not -1 <= value <= 1:
            raise UndefinedError(domain)
        try:
            near: float = function(as_float(value))
        except OverflowError:
            raise TooLargeError("the result is beyond the largest float") from None
        return near

    return applied


def to_whole(function: Function) -> Function:
    """floor, ceil, trunc and sign: of a float, the whole number is as inexact as that was."""

    def applied(budget: Budget, value: Number) -> Number:
        found: int = function(value)
        return float(found) if isinstance(value, float) else found

    return applied


def one_of(choose: Function) -> Function:
    """The least or the greatest: beside a float nobody knows exactly which one that is."""

    def applied(budget: Budget, *numbers: Number) -> Number:
        found: Number = choose(numbers)
        return as_float(found) if any(isinstance(each, float) for each in numbers) else found

    return applied


# ---- powers, roots and logarithms ----

NO_POWER = "a negative number has no real power that is not whole"


def whole_power(budget: Budget, base: Rational, exponent: int) -> Rational:
    if base == 0 and exponent < 0:
        raise UndefinedError("0 has no negative powers")
    if base in (-1, 0, 1):
        return base if exponent % 2 or (base == 0 and exponent) else 1
    if abs(exponent) > budget.exponent:
        raise TooLargeError(f"an exponent beyond {budget.exponent}")
    longer = max(base.numerator.bit_length(), base.denominator.bit_length())
    check_bits((longer - 1) * abs(exponent), budget)
    return reduced(Fraction(base) ** exponent) if exponent < 0 else reduced(base**exponent)


def float_power(base: float, exponent: float) -> float:
    if base < 0 and not exponent.is_integer():
        raise UndefinedError(NO_POWER)
    if base == 0 and exponent < 0:
        raise UndefinedError("0 has no negative powers")
    try:
        return kept(math.pow(base, exponent), base)
    except OverflowError:
        raise TooLargeError("a power beyond the largest float") from None


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
    if value <= 0:
        raise UndefinedError("only positive numbers have a logarithm")
    if value == 1 and not isinstance(value, float):
        return 0
    if isinstance(value, float):
        return math.log(value)
    if 0.5 < value < 1.5:  # near 1 the logarithm is about the difference, digit for digit
        return math.log1p(float(value - 1))
    above, below = value.numerator, value.denominator
    if abs(above.bit_length() - below.bit_length()) < 1_000:
        return math.log(above / below)
    return math.log(above) - math.log(below)


def log2_factorial(count: int) -> float:
    """How long a factorial is: its logarithm by that of gamma."""
    return math.inf if count.bit_length() > 64 else math.lgamma(count + 1) / math.log(2)
