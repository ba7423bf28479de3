"""The exact calculator: rationals wherever possible, floats where there is no other way.

This is the definition of every operation. Whole numbers are ints, other rationals Fractions; what
is only nearly right is a float, and stays one. Sizes are bounded before anything is computed:
factors by their bits, powers by bits times exponent, factorials by the logarithm of gamma.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from curta.delegate.calculator.budget import Budget
from curta.delegate.calculator.program import Apply, Program, Push, Rational
from curta.errors import TooLargeError, UndefinedError

Number = Rational | float
Value = Rational | float | bool

NO_POWER = "a negative number has no real power that is not whole"


class Arithmetic:
    """All operations within a budget."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.column: dict[str, Callable[..., Any]] = {
            **UNBOUNDED,
            "multiply": self.multiply,
            "power": self.power,
            "factorial": self.factorial,
            "comb": self.choose,
            "perm": self.arrange,
            "lcm": self.common_multiple,
            "sum": self.total,
            "mean": self.average,
        }
        """What each operation of the table does."""

    def evaluate(self, program: Program) -> Value:
        """What the program leaves on the stack."""
        stack: list[Any] = []
        value: Value
        most = self.budget.bits
        for step in program.steps:
            if type(step) is Push:
                value = step.number
            else:
                assert type(step) is Apply
                operands = stack[-step.operands :]
                del stack[-step.operands :]
                value = self.column[step.operation.name](*operands)
            if type(value) is not int or value.bit_length() > most:
                self.check(value)
            stack.append(value)
        result: Value
        (result,) = stack
        return result

    def check(self, value: Value) -> None:
        """Raise an error if a number is beyond the budget; a float is never inf or nan."""
        if type(value) is int:
            if value.bit_length() > self.budget.bits:
                raise self.too_large(value.bit_length())
        elif type(value) is float:
            if not math.isfinite(value):
                raise TooLargeError("the result is beyond the largest float")
        elif isinstance(value, Fraction):
            if value.numerator.bit_length() > self.budget.bits:
                raise self.too_large(value.numerator.bit_length())
            if value.denominator.bit_length() > self.budget.denominator_bits:
                raise TooLargeError(
                    f"a denominator of {value.denominator.bit_length()} bits: at most "
                    f"{self.budget.denominator_bits}"
                )

    def check_bits(self, bits: float) -> None:
        """Raise an error if a number with so many bits would be."""
        if bits > self.budget.bits + 1:
            raise self.too_large(bits)

    def too_large(self, bits: float) -> TooLargeError:
        many = f"{bits:.3g}" if bits < 1e300 else "more than 1e300"
        return TooLargeError(f"a number of {many} bits: at most {self.budget.bits}")

    # ---- operators ----

    def multiply(self, a: Number, b: Number) -> Number:
        if isinstance(a, float) or isinstance(b, float):
            return kept(as_float(a) * as_float(b), a, b)
        self.check_bits(a.numerator.bit_length() + b.numerator.bit_length())
        return reduced(a * b)

    def power(self, base: Number, exponent: Number) -> Number:
        if isinstance(base, float) or isinstance(exponent, float):
            return float_power(as_float(base), as_float(exponent))
        if isinstance(exponent, int):
            return self.whole_power(base, exponent)
        if base < 0:
            raise UndefinedError(NO_POWER)
        root = exact_root(base, exponent.denominator)
        if root is not None:
            return self.whole_power(root, exponent.numerator)
        return float_power(as_float(base), as_float(exponent))

    def whole_power(self, base: Rational, exponent: int) -> Rational:
        if base == 0 and exponent < 0:
            raise UndefinedError("0 has no negative powers")
        if base in (-1, 0, 1):
            return base if exponent % 2 or (base == 0 and exponent) else 1
        if abs(exponent) > self.budget.exponent:
            raise TooLargeError(f"an exponent beyond {self.budget.exponent}")
        longer = max(base.numerator.bit_length(), base.denominator.bit_length())
        self.check_bits((longer - 1) * abs(exponent))
        return reduced(Fraction(base) ** exponent) if exponent < 0 else reduced(base**exponent)

    # ---- whole numbers ----

    def factorial(self, number: Number) -> int:
        count = natural(number, "a factorial")
        self.check_bits(log2_factorial(count))
        return math.factorial(count)

    def choose(self, of: Number, chosen: Number) -> int:
        n, k = natural(of, "comb"), natural(chosen, "comb")
        k = min(k, n - k)
        if k <= 0:
            return 1 if k == 0 else 0
        self.check_bits(k)  # there are at least 2^k ways, and at least (n/k)^k
        self.check_bits(k * (n.bit_length() - 1 - k.bit_length()))
        return math.comb(n, k)

    def arrange(self, of: Number, chosen: Number) -> int:
        n, k = natural(of, "perm"), natural(chosen, "perm")
        if k > n:
            return 0
        self.check_bits(k - 1)
        large = n.bit_length() > 40
        bits = k * (n.bit_length() - 1) if large else log2_factorial(n) - log2_factorial(n - k)
        self.check_bits(bits)
        return math.perm(n, k)

    def common_multiple(self, *numbers: Number) -> int:
        found = 1
        for each in numbers:
            found = math.lcm(found, whole(each, "lcm"))
            self.check(found)
        return found

    # ---- several operands ----

    def total(self, *numbers: Number) -> Number:
        found: Number = 0
        for each in numbers:
            found = add(found, each)
            self.check(found)
        return found

    def average(self, *numbers: Number) -> Number:
        return divide(self.total(*numbers), len(numbers))


# ---- operators ----


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
    if near == 0 and value != 0:
        raise TooLargeError("a number below the smallest float where only a float will do")
    return near


def kept(near: float, *operands: Number) -> float:
    """What comes of operands and is 0 only if one of them is; too small a float would say 0."""
    if near == 0 and all(operands):
        raise TooLargeError("a number below the smallest float where only a float will do")
    return near


def add(a: Number, b: Number) -> Number:
    if isinstance(a, float) or isinstance(b, float):
        return as_float(a) + as_float(b)
    return reduced(a + b)


def subtract(a: Number, b: Number) -> Number:
    if isinstance(a, float) or isinstance(b, float):
        return as_float(a) - as_float(b)
    return reduced(a - b)


def divide(a: Number, b: Number) -> Number:
    if b == 0:
        raise UndefinedError("division by 0")
    if isinstance(a, float) or isinstance(b, float):
        return kept(as_float(a) / as_float(b), a, b)
    return reduced(Fraction(a, b))


def floor_divide(a: Number, b: Number) -> Number:
    if b == 0:
        raise UndefinedError("division by 0")
    if isinstance(a, float) or isinstance(b, float):
        return as_float(a) // as_float(b)
    return a // b


def modulo(a: Number, b: Number) -> Number:
    if b == 0:
        raise UndefinedError("remainder of a division by 0")
    if isinstance(a, float) or isinstance(b, float):
        return as_float(a) % as_float(b)
    return reduced(a % b)


def float_power(base: float, exponent: float) -> float:
    if base < 0 and not exponent.is_integer():
        raise UndefinedError(NO_POWER)
    if base == 0 and exponent < 0:
        raise UndefinedError("0 has no negative powers")
    try:
        return kept(math.pow(base, exponent), base)
    except OverflowError:
        raise TooLargeError("a power beyond the largest float") from None


# ---- roots and logarithms ----


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


def square_root(value: Number) -> Number:
    if value < 0:
        raise UndefinedError("a negative number has no real square root")
    exact = None if isinstance(value, float) else exact_root(value, 2)
    return math.sqrt(as_float(value)) if exact is None else exact


def cube_root(value: Number) -> Number:
    if not isinstance(value, float):
        exact = exact_root(-value if value < 0 else value, 3)
        if exact is not None:
            return -exact if value < 0 else exact
    return math.cbrt(as_float(value))


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


def logarithm(value: Number, base: Number | None = None) -> Number:
    if base is None:
        return natural_logarithm(value)
    above, below = natural_logarithm(value), natural_logarithm(base)
    if below == 0:
        raise UndefinedError("there is no logarithm to the base 1")
    near = as_float(above) / as_float(below)
    if isinstance(base, int) and not isinstance(value, float) and base > 1:
        exponent = round(near)
        if abs(near - exponent) < 1e-9 and Fraction(base) ** exponent == value:
            return exponent
    return near


# ---- functions of floats ----


def comparison(holds: Callable[[Number, Number], bool]) -> Callable[[Number, Number], Value]:
    """A comparison; of floats, which are rounded, it is a float itself: 1.0 or 0.0."""

    def applied(a: Number, b: Number) -> Value:
        truth = holds(a, b)
        return float(truth) if isinstance(a, float) or isinstance(b, float) else truth

    return applied


def of_float(
    function: Callable[[float], float], at_zero: int | None = None, domain: str = ""
) -> Callable[..., Number]:
    """A function of a float, which is exact at most where its operand is 0.

    domain: what to say of operands beyond -1 and 1, if there is no value for them
    """

    def applied(value: Number) -> Number:
        if value == 0 and at_zero is not None and not isinstance(value, float):
            return at_zero
        if domain and not -1 <= value <= 1:
            raise UndefinedError(domain)
        try:
            return function(as_float(value))
        except OverflowError:
            raise TooLargeError("the result is beyond the largest float") from None

    return applied


# ---- whole numbers ----


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


def log2_factorial(count: int) -> float:
    if count.bit_length() > 64:
        return math.inf
    return math.lgamma(count + 1) / math.log(2)


def rounded(value: Number, places: Number = 0) -> Number:
    shift = whole(places, "the number of decimals")
    if abs(shift) > 308:
        raise TooLargeError(f"{shift} decimals: at most 308")
    if isinstance(value, float):
        try:
            return round(value, shift)
        except OverflowError:
            raise TooLargeError("a number that is rounded beyond the largest float") from None
    unit = Fraction(10) ** shift
    return reduced(round(value * unit) / unit)


def to_whole(function: Callable[[Any], int]) -> Callable[..., Number]:
    """floor, ceil, trunc and sign: of a float, the whole number is as inexact as that was."""

    def applied(value: Number) -> Number:
        return float(function(value)) if isinstance(value, float) else function(value)

    return applied


def one_of(choose: Callable[..., Number]) -> Callable[..., Number]:
    """The least or the greatest: beside a float nobody knows exactly which one that is."""

    def applied(*numbers: Number) -> Number:
        found = choose(numbers)
        return as_float(found) if any(isinstance(each, float) for each in numbers) else found

    return applied


def divisor(*numbers: Number) -> int:
    return math.gcd(*(whole(each, "gcd") for each in numbers))


def sign(value: Any) -> int:
    return int(value > 0) - int(value < 0)


UNBOUNDED: dict[str, Callable[..., Any]] = {
    "add": add,
    "subtract": subtract,
    "divide": divide,
    "floor_divide": floor_divide,
    "modulo": modulo,
    "negate": operator.neg,
    "percent": lambda value: divide(value, 100),
    "less": comparison(operator.lt),
    "at_most": comparison(operator.le),
    "greater": comparison(operator.gt),
    "at_least": comparison(operator.ge),
    "equal": comparison(operator.eq),
    "unequal": comparison(operator.ne),
    "sqrt": square_root,
    "cbrt": cube_root,
    "ln": natural_logarithm,
    "log": logarithm,
    "log2": lambda value: logarithm(value, 2),
    "log10": lambda value: logarithm(value, 10),
    "abs": abs,
    "sign": to_whole(sign),
    "round": rounded,
    "gcd": divisor,
    "min": one_of(min),
    "max": one_of(max),
    "exp": of_float(lambda value: kept(math.exp(value)), 1),
    "sin": of_float(math.sin, 0),
    "cos": of_float(math.cos, 1),
    "tan": of_float(math.tan, 0),
    "asin": of_float(math.asin, 0, "a sine is from -1 to 1"),
    "acos": of_float(math.acos, None, "a cosine is from -1 to 1"),
    "atan": of_float(math.atan, 0),
    "degrees": of_float(math.degrees, 0),
    "radians": of_float(lambda value: kept(math.radians(value), value), 0),
    "floor": to_whole(math.floor),
    "ceil": to_whole(math.ceil),
    "trunc": to_whole(math.trunc),
}
"""Operations whose results are hardly longer than their operands."""
