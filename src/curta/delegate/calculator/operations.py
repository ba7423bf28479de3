"""The operations: a record for each, which says all that is known of it.

The parser reads from here how an operation is written and how many operands it takes; `exact` is
its meaning, and what any other way of computing has to come to. To add an operation, add a row. An
expression is a program of operations for a stack.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from curta.delegate.calculator.budget import Budget
from curta.delegate.calculator.reals import (
    Number,
    Rational,
    ball,
    check,
    check_bits,
    floor,
    is_ball,
    natural,
    pi,
    reduced,
    settled,
    sign,
    whole,
)
from curta.errors import TooLargeError, UndefinedError

Function = Callable[..., Any]
"""Of a budget and so many numbers."""

MANY = sys.maxsize
"""As many operands as the budget has room for."""

COMPARED, SUMMED, MULTIPLIED, SHARED, SIGNED, RAISED = range(1, 7)
"""How tightly operators bind."""


@dataclass(frozen=True, eq=False)
class Operation:
    """One operation.

    least, most: how many operands it takes
    exact:       what it comes to, of a budget and the operands
    machine:     the same in C, for `given` and `operands`, where the result takes the first one's
                 place (machine.c); nothing of what is never rational
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


class Apply(NamedTuple):
    """Take so many operands from the stack, and put the result there."""

    operation: Operation
    operands: int


Step = Rational | Apply
"""A number is put on the stack; a constant such as pi is an operation of nothing."""


class Program(NamedTuple):
    """Operands before operations, in the order in which they happen."""

    text: str
    steps: tuple[Step, ...]
    compares: bool
    """Whether the result is true or false rather than a number."""


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


# ---- arithmetic ----


def multiply(budget: Budget, a: Any, b: Any) -> Number:
    if is_ball(a) or is_ball(b):
        return 0 if a == 0 or b == 0 else ball(a) * ball(b)
    check_bits(a.numerator.bit_length() + b.numerator.bit_length(), budget)
    return reduced(a * b)


def divide(budget: Budget, a: Any, b: Any) -> Number:
    if b == 0:
        raise UndefinedError("division by 0")
    if is_ball(a) or is_ball(b):
        sign(b)  # one that may be 0 is undecided
        return 0 if a == 0 else ball(a) / ball(b)
    return a // b if a % b == 0 else Fraction(a, b)


def floor_divide(budget: Budget, a: Any, b: Any) -> int:
    return floor(divide(budget, a, b))


def modulo(budget: Budget, a: Any, b: Any) -> Number:
    if is_ball(a) or is_ball(b):
        times = floor_divide(budget, a, b)
        return ball(a) - ball(b) * times if times else a
    if b == 0:
        raise UndefinedError("remainder of a division by 0")
    return reduced(a % b)


add, subtract = arithmetic(operator.add), arithmetic(operator.sub)


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


def power(budget: Budget, base: Any, exponent: Any) -> Number:
    if is_ball(base) or is_ball(exponent):
        return real_power(base, exponent)
    if isinstance(exponent, int):
        return whole_power(budget, base, exponent)
    if base < 0:
        raise UndefinedError(NO_POWER)
    root = exact_root(base, exponent.denominator)
    if root is not None:
        return whole_power(budget, root, exponent.numerator)
    return real_power(base, exponent)


def square_root(budget: Budget, value: Any) -> Number:
    if sign(value) < 0:
        raise UndefinedError("a negative number has no real square root")
    exact = None if is_ball(value) else exact_root(value, 2)
    return ball(value).sqrt() if exact is None else exact


def cube_root(budget: Budget, value: Any) -> Number:
    if sign(value) < 0:
        return -cube_root(budget, -value)
    exact = None if is_ball(value) else exact_root(value, 3)
    return ball(value).root(3) if exact is None else exact


def logarithm(budget: Budget, value: Any, base: Any = None) -> Number:
    if base is None:
        return natural_logarithm(value)
    if not is_ball(value) and not is_ball(base) and value > 0 and base > 0 and base != 1:
        exponent = exact_logarithm(value, base)
        if exponent is not None:
            return exponent
    above, below = natural_logarithm(value), natural_logarithm(base)
    if below == 0:
        raise UndefinedError("there is no logarithm to the base 1")
    return divide(budget, above, below)


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


# ---- whole numbers ----


def rounded(budget: Budget, value: Any, places: Any = 0) -> Number:
    shift = whole(places, "the number of decimals")
    if abs(shift) > 308:
        raise TooLargeError(f"{shift} decimals: at most 308")
    unit = Fraction(10) ** shift
    return reduced(settled(value, lambda number: round(number * unit)) / unit)


def factorial(budget: Budget, number: Number) -> int:
    count = natural(number, "a factorial")
    check_bits(log2_factorial(count), budget)
    return math.factorial(count)


def log2_factorial(count: int) -> float:
    """How long a factorial is: its logarithm by that of gamma."""
    return math.inf if count.bit_length() > 64 else math.lgamma(count + 1) / math.log(2)


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


# ---- several numbers ----


def total(budget: Budget, *numbers: Number) -> Number:
    found: Number = 0
    for each in numbers:
        found = add(budget, found, each)
        check(found, budget)
    return found


def average(budget: Budget, *numbers: Number) -> Number:
    return divide(budget, total(budget, *numbers), len(numbers))


# ---- the table ----


def written(name: str, sign: str, binding: int, exact: Function, machine: str) -> Operation:
    """An operator between two operands."""
    return Operation(name, 2, 2, f"a {sign} b", exact, machine, sign, binding)


def compared(name: str, sign: str, holds: Function) -> Operation:
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
    Operation("exp", 1, 1, "e to the power of a", of_method("exp", 1), "exact_at_zero(given, 1)"),
    Operation("ln", 1, 1, "natural logarithm", logarithm, "logarithm(given, NULL)"),
    Operation("log", 1, 2, "natural logarithm, or that to the base b", logarithm,
              "logarithm(given, operands == 1 ? NULL : given + 1)"),
    Operation("log2", 1, 1, "logarithm to the base 2",
              lambda budget, value: logarithm(budget, value, 2), "logarithm_to(given, 2)"),
    Operation("log10", 1, 1, "logarithm to the base 10",
              lambda budget, value: logarithm(budget, value, 10), "logarithm_to(given, 10)"),
    Operation("sin", 1, 1, "sine of an angle in radians", of_method("sin", 0),
              "exact_at_zero(given, 0)"),
    Operation("cos", 1, 1, "cosine of an angle in radians", of_method("cos", 1),
              "exact_at_zero(given, 1)"),
    Operation("tan", 1, 1, "tangent of an angle in radians", of_method("tan", 0),
              "exact_at_zero(given, 0)"),
    Operation("asin", 1, 1, "angle of a sine",
              of_method("asin", 0, "a sine is from -1 to 1"), "arc(given, 1)"),
    Operation("acos", 1, 1, "angle of a cosine",
              of_method("acos", None, "a cosine is from -1 to 1"), "arc(given, 0)"),
    Operation("atan", 1, 1, "angle of a tangent", of_method("atan", 0),
              "exact_at_zero(given, 0)"),
    Operation("degrees", 1, 1, "radians in degrees", of_ball(lambda value: value * 180 / pi(), 0),
              "exact_at_zero(given, 0)"),
    Operation("radians", 1, 1, "degrees in radians", of_ball(lambda value: value * pi() / 180, 0),
              "exact_at_zero(given, 0)"),
    Operation("abs", 1, 1, "without its sign", lambda budget, value: abs(value),
              "given->above.negative = 0"),
    Operation("sign", 1, 1, "-1, 0 or 1", lambda budget, value: sign(value), "sign(given)"),
    Operation("floor", 1, 1, "the next whole number downwards",
              lambda budget, value: floor(value), "round_down(given)"),
    Operation("ceil", 1, 1, "the next whole number upwards",
              lambda budget, value: -floor(-value), "round_up(given)"),
    Operation("trunc", 1, 1, "the next whole number towards 0",
              lambda budget, value: settled(value, math.trunc),
              "if (is_negative(given)) round_up(given); else round_down(given)"),
    Operation("round", 1, 2, "to whole numbers or b decimals; halves to the even neighbour",
              rounded, "round_half_even(given, operands)"),
    Operation("factorial", 1, 1, "a!, the product of 1 to a", factorial, "factorial(given)", "!"),
    Operation("comb", 2, 2, "ways to choose b of a", choose, "choose(given, 0)"),
    Operation("perm", 2, 2, "ways to choose b of a in order", arrange, "choose(given, 1)"),
    Operation("gcd", 1, MANY, "greatest common divisor", common_divisor,
              "greatest_common_divisor(given, operands)"),
    Operation("lcm", 1, MANY, "least common multiple", common_multiple,
              "least_common_multiple(given, operands)"),
    Operation("min", 1, MANY, "the least of them", extreme(operator.lt),
              "extreme(given, operands, -1)"),
    Operation("max", 1, MANY, "the greatest of them", extreme(operator.gt),
              "extreme(given, operands, 1)"),
    Operation("sum", 1, MANY, "all of them added up", total, "total(given, operands)"),
    Operation("mean", 1, MANY, "their sum divided by their number", average,
              "total(given, operands); if (status == FINE) divided_by(given, operands)",
              names=("avg", "average")),
    Operation("pi", 0, 0, "half the way around a circle, for a radius of 1",
              lambda budget: pi(), ""),
    Operation("tau", 0, 0, "all the way around it", lambda budget: 2 * pi(), ""),
    Operation("e", 0, 0, "the base of natural logarithms", lambda budget: ball(1).exp(), ""),
)  # fmt: skip

OPERATIONS = {operation.name: operation for operation in TABLE}

OPERATORS = {each.sign: each for each in TABLE if each.sign and each.least == 2}
"""What is written between two operands."""

FUNCTIONS = {
    name: each
    for each in TABLE
    for name in ((each.name,) if each.most and not each.binding else ()) + each.names
}
"""What is called by a name."""

CONSTANTS = {each.name: each for each in TABLE if not each.most}
