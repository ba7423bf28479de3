"""The operations: a record for each, which says all that is known of it.

The parser reads from here how an operation is written and how many operands it takes; `exact` is
its meaning, and what any other way of computing has to come to. To add an operation, add a row.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from curta.delegate.calculator.budget import Budget
from curta.delegate.calculator.exact import (
    NO_POWER,
    Function,
    Number,
    Rational,
    arithmetic,
    as_float,
    check,
    check_bits,
    comparison,
    exact_root,
    float_power,
    kept,
    log2_factorial,
    natural,
    natural_logarithm,
    of_float,
    one_of,
    reduced,
    to_whole,
    whole,
    whole_power,
)
from curta.errors import TooLargeError, UndefinedError

MANY = 64
"""As many operands as an expression can have."""

COMPARED, SUMMED, MULTIPLIED, SHARED, SIGNED, RAISED = range(1, 7)
"""How tightly operators bind."""


@dataclass(frozen=True, eq=False)
class Operation:
    """One operation.

    least, most: how many operands it takes
    exact:       what it comes to, of a budget and the operands
    machine:     the same in C, for `given` and `operands`, where the result takes the first one's
                 place (machine.c)
    sign:        how it is written between its operands, or before or behind the only one
    binding:     how tightly it binds there; what binds not at all is a function, called by its name
    names:       other names of the function
    """

    name: str
    least: int
    most: int
    about: str
    exact: Function
    machine: str
    sign: str = ""
    binding: int = 0
    names: tuple[str, ...] = ()

    @property
    def compares(self) -> bool:
        """Whether the result is true or false."""
        return self.binding == COMPARED


def multiply(budget: Budget, a: Any, b: Any) -> Number:
    if type(a) is not float and type(b) is not float:
        check_bits(a.numerator.bit_length() + b.numerator.bit_length(), budget)
    return product(budget, a, b)  # type: ignore[no-any-return]


def divide(budget: Budget, a: Any, b: Any) -> Number:
    if b == 0:
        raise UndefinedError("division by 0")
    if type(a) is float or type(b) is float:
        return kept(as_float(a) / as_float(b), a, b)
    return a // b if a % b == 0 else Fraction(a, b)


add, subtract = arithmetic(operator.add), arithmetic(operator.sub)
product = arithmetic(operator.mul, vanishes=False)
floor_divide = arithmetic(operator.floordiv, by_zero="division by 0")
modulo = arithmetic(operator.mod, by_zero="remainder of a division by 0")


def power(budget: Budget, base: Number, exponent: Number) -> Number:
    if isinstance(base, float) or isinstance(exponent, float):
        return float_power(as_float(base), as_float(exponent))
    if isinstance(exponent, int):
        return whole_power(budget, base, exponent)
    if base < 0:
        raise UndefinedError(NO_POWER)
    root = exact_root(base, exponent.denominator)
    if root is not None:
        return whole_power(budget, root, exponent.numerator)
    return float_power(as_float(base), as_float(exponent))


def square_root(budget: Budget, value: Number) -> Number:
    if value < 0:
        raise UndefinedError("a negative number has no real square root")
    exact = None if isinstance(value, float) else exact_root(value, 2)
    return math.sqrt(as_float(value)) if exact is None else exact


def cube_root(budget: Budget, value: Number) -> Number:
    if not isinstance(value, float):
        exact = exact_root(-value if value < 0 else value, 3)
        if exact is not None:
            return -exact if value < 0 else exact
    return math.cbrt(as_float(value))


def logarithm(budget: Budget, value: Number, base: Number | None = None) -> Number:
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


def rounded(budget: Budget, value: Number, places: Number = 0) -> Number:
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


def factorial(budget: Budget, number: Number) -> int:
    count = natural(number, "a factorial")
    check_bits(log2_factorial(count), budget)
    return math.factorial(count)


def choose(budget: Budget, of: Number, chosen: Number) -> int:
    n, k = natural(of, "comb"), natural(chosen, "comb")
    k = min(k, n - k)
    if k <= 0:
        return 1 if k == 0 else 0
    check_bits(k, budget)  # there are at least 2^k ways, and at least (n/k)^k
    check_bits(k * (n.bit_length() - 1 - k.bit_length()), budget)
    return math.comb(n, k)


def arrange(budget: Budget, of: Number, chosen: Number) -> int:
    n, k = natural(of, "perm"), natural(chosen, "perm")
    if k > n:
        return 0
    check_bits(k - 1, budget)
    large = n.bit_length() > 40
    bits = k * (n.bit_length() - 1) if large else log2_factorial(n) - log2_factorial(n - k)
    check_bits(bits, budget)
    return math.perm(n, k)


def common_divisor(budget: Budget, *numbers: Number) -> int:
    return math.gcd(*(whole(each, "gcd") for each in numbers))


def common_multiple(budget: Budget, *numbers: Number) -> int:
    found = 1
    for each in numbers:
        found = math.lcm(found, whole(each, "lcm"))
        check(found, budget)
    return found


def total(budget: Budget, *numbers: Number) -> Number:
    found: Number = 0
    for each in numbers:
        found = add(budget, found, each)
        check(found, budget)
    return found


def average(budget: Budget, *numbers: Number) -> Number:
    return divide(budget, total(budget, *numbers), len(numbers))


def sign(value: Any) -> int:
    return int(value > 0) - int(value < 0)


def written(name: str, sign: str, binding: int, exact: Function, machine: str) -> Operation:
    """An operator between two operands."""
    return Operation(name, 2, 2, f"a {sign} b", exact, machine, sign, binding)


def compared(name: str, sign: str, holds: Function) -> Operation:
    """A comparison."""
    machine = f"set_rational(given, compare_rationals(given, given + 1) {sign} 0)"
    return written(name, sign, COMPARED, comparison(holds), machine)


TABLE = (
    written("add", "+", SUMMED, add, "add_or_subtract(given, given + 1, 0)"),
    written("subtract", "-", SUMMED, subtract, "add_or_subtract(given, given + 1, 1)"),
    written("multiply", "*", MULTIPLIED, multiply, "times(given)"),
    written("divide", "/", MULTIPLIED, divide, "divided(given)"),
    # The greatest whole number that is not above a / b; and a - b * (a // b), with the sign of b.
    written("floor_divide", "//", MULTIPLIED, floor_divide, "divide_whole(given, 0)"),
    Operation("modulo", 2, 2, "a % b, with the sign of b", modulo, "divide_whole(given, 1)",
              "%", MULTIPLIED, ("mod",)),
    Operation("power", 2, 2, "a ** b or a ^ b; 0 ** 0 is 1", power, "power(given)",
              "**", RAISED, ("pow",)),
    Operation("negate", 1, 1, "-a", lambda budget, value: -value, "negate(&given->above)",
              "-", SIGNED),
    Operation("percent", 1, 1, "a%, a hundredth", lambda budget, value: divide(budget, value, 100),
              "divided_by(given, 100)", "%", RAISED),
    compared("less", "<", operator.lt),
    compared("at_most", "<=", operator.le),
    compared("greater", ">", operator.gt),
    compared("at_least", ">=", operator.ge),
    compared("equal", "==", operator.eq),
    compared("unequal", "!=", operator.ne),
    Operation("sqrt", 1, 1, "square root", square_root, "square_root(given)"),
    Operation("cbrt", 1, 1, "cube root, of negative numbers too", cube_root, "root(given, 3)"),
    Operation("exp", 1, 1, "e to the power of a",
              of_float(lambda value: kept(math.exp(value)), 1), "exact_at_zero(given, 1)"),
    Operation("ln", 1, 1, "natural logarithm", logarithm, "natural_logarithm(given)"),
    Operation("log", 1, 2, "natural logarithm, or that to the base b", logarithm,
              "if (operands == 1) natural_logarithm(given); else logarithm(given, given + 1)"),
    Operation("log2", 1, 1, "logarithm to the base 2",
              lambda budget, value: logarithm(budget, value, 2), "logarithm_to(given, 2)"),
    Operation("log10", 1, 1, "logarithm to the base 10",
              lambda budget, value: logarithm(budget, value, 10), "logarithm_to(given, 10)"),
    Operation("sin", 1, 1, "sine of an angle in radians", of_float(math.sin, 0),
              "exact_at_zero(given, 0)"),
    Operation("cos", 1, 1, "cosine of an angle in radians", of_float(math.cos, 1),
              "exact_at_zero(given, 1)"),
    Operation("tan", 1, 1, "tangent of an angle in radians", of_float(math.tan, 0),
              "exact_at_zero(given, 0)"),
    Operation("asin", 1, 1, "angle of a sine",
              of_float(math.asin, 0, "a sine is from -1 to 1"), "arc(given, 1)"),
    Operation("acos", 1, 1, "angle of a cosine",
              of_float(math.acos, None, "a cosine is from -1 to 1"), "arc(given, 0)"),
    Operation("atan", 1, 1, "angle of a tangent", of_float(math.atan, 0),
              "exact_at_zero(given, 0)"),
    Operation("degrees", 1, 1, "radians in degrees", of_float(math.degrees, 0),
              "exact_at_zero(given, 0)"),
    Operation("radians", 1, 1, "degrees in radians",
              of_float(lambda value: kept(math.radians(value), value), 0),
              "exact_at_zero(given, 0)"),
    Operation("abs", 1, 1, "without its sign", lambda budget, value: abs(value),
              "given->above.negative = 0"),
    Operation("sign", 1, 1, "-1, 0 or 1", to_whole(sign), "sign(given)"),
    Operation("floor", 1, 1, "the next whole number downwards", to_whole(math.floor),
              "round_down(given)"),
    Operation("ceil", 1, 1, "the next whole number upwards", to_whole(math.ceil),
              "round_up(given)"),
    Operation("trunc", 1, 1, "the next whole number towards 0", to_whole(math.trunc),
              "if (is_negative(given)) round_up(given); else round_down(given)"),
    Operation("round", 1, 2, "to whole numbers or b decimals; halves to the even neighbour",
              rounded, "round_half_even(given, operands)"),
    Operation("factorial", 1, 1, "a!, the product of 1 to a", factorial, "factorial(given)", "!"),
    Operation("comb", 2, 2, "ways to choose b of a", choose, "choose(given)"),
    Operation("perm", 2, 2, "ways to choose b of a in order", arrange, "arrange(given)"),
    Operation("gcd", 1, MANY, "greatest common divisor", common_divisor,
              "greatest_common_divisor(given, operands)"),
    Operation("lcm", 1, MANY, "least common multiple", common_multiple,
              "least_common_multiple(given, operands)"),
    Operation("min", 1, MANY, "the least of them", one_of(min), "extreme(given, operands, -1)"),
    Operation("max", 1, MANY, "the greatest of them", one_of(max), "extreme(given, operands, 1)"),
    Operation("sum", 1, MANY, "all of them added up", total, "total(given, operands)"),
    Operation("mean", 1, MANY, "their sum divided by their number", average,
              "total(given, operands); if (status == FINE) divided_by(given, operands)",
              names=("avg", "average")),
)  # fmt: skip

OPERATIONS = {operation.name: operation for operation in TABLE}

OPERATORS = {each.sign: each for each in TABLE if each.sign and each.least == 2}
"""What is written between two operands."""

FUNCTIONS = {
    name: each for each in TABLE for name in ((each.name,) if not each.binding else ()) + each.names
}
"""What is called by a name."""

CONSTANTS: dict[str, Rational | float] = {"pi": math.pi, "tau": math.tau, "e": math.e}
