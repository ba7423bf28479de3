"""Intervals in which every value lies that float64 arithmetic may come to.

An interval is as wide as a backend's precision allows, and passes through the operations. Where an
operation jumps within it (a comparison, floor, a divisor that may be 0), nothing can be said:
`Uncertain`. This is the criterion by which a backend agrees with the exact calculator: both have
to lie in the interval, which is narrow unless the expression is ill-conditioned.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

from curta.delegate.calculator.backends.packed import Status, as_double
from curta.delegate.calculator.operations import NEVER_VANISHING
from curta.delegate.calculator.program import Program, Push, Rational

LARGEST = 1.7976931348623157e308
UNITS = 4
"""Units in the last place by which an operation may be off that is not rounded correctly."""


class Uncertain(Exception):  # noqa: N818 (it is no error)
    """The operation has no one value, or no one status, over the operands' intervals."""


class NoValue(Exception):  # noqa: N818
    """There is no value for any of the operands, and why."""

    def __init__(self, status: Status) -> None:
        self.status = status


@dataclass(frozen=True, slots=True)
class Interval:
    low: float
    high: float

    @property
    def is_point(self) -> bool:
        return self.low == self.high

    def __contains__(self, value: Rational | float) -> bool:
        return self.low <= value <= self.high


UNDEFINED = NoValue(Status.UNDEFINED)
TOO_LARGE = NoValue(Status.TOO_LARGE)


def enclose(program: Program) -> Interval | Status:
    """Where the result lies, or what is said instead of it; raises Uncertain."""
    stack: list[Interval] = []
    try:
        for step in program.steps:
            if isinstance(step, Push):
                stack.append(bounded(of_number(step.number)))
            else:
                operands = stack[-step.operands :]
                del stack[-step.operands :]
                found = bounded(COLUMN[step.operation.name](*operands))
                if step.operation.name in NEVER_VANISHING:
                    found = present(found, operands)
                stack.append(found)
    except NoValue as why:
        return why.status
    return stack[0]


def bounded(found: Interval) -> Interval:
    """The interval, unless it is beyond float64."""
    if found.low > LARGEST or found.high < -LARGEST:
        raise TOO_LARGE
    if not (abs(found.low) <= LARGEST and abs(found.high) <= LARGEST):
        raise Uncertain
    return found


def present(found: Interval, operands: list[Interval]) -> Interval:
    """The interval, unless it is of numbers too small for float64, which are not 0 themselves."""
    if 0 not in found or any(a.low == a.high == 0 for a in operands):
        return found
    if found.low == -found.high and not any(0 in a for a in operands):
        raise TOO_LARGE  # as wide as around 0: all its ends have vanished
    raise Uncertain  # an operand near 0 gives 0 if it is 0, and what vanishes if it is not


def of_number(number: Rational | float) -> Interval:
    value = as_double(number)
    return Interval(value, value) if value == number else wider(value, value, 1)


def wider(low: float, high: float, units: float = UNITS) -> Interval:
    """So many units in the last place more on each side."""
    below = low - units * math.ulp(low) if math.isfinite(low) else low
    return Interval(below, high + units * math.ulp(high) if math.isfinite(high) else high)


def span(values: list[float], units: float = UNITS) -> Interval:
    """From the least to the greatest of the values at the ends, and a little more."""
    if any(value != value for value in values):
        raise Uncertain
    return wider(min(values), max(values), units)


def small_whole(*values: float) -> bool:
    """Whether float64 computes with these exactly: sums and products of theirs are in range."""
    return all(abs(value) < 2.0**53 and value == math.floor(value) for value in values)


# ---- operators ----


def arithmetic(operation: Callable[[float, float], float]) -> Callable[..., Interval]:
    """A sum, difference or product: correctly rounded, and exact for whole numbers below 2^53."""

    def applied(a: Interval, b: Interval) -> Interval:
        ends = [operation(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
        if a.is_point and b.is_point and small_whole(a.low, b.low, ends[0]):
            return Interval(ends[0], ends[0])
        return span(ends, 1)

    return applied


def nonzero(b: Interval) -> Interval:
    if b.low == b.high == 0:
        raise UNDEFINED
    if 0 in b:
        raise Uncertain
    return b


def divide(a: Interval, b: Interval) -> Interval:
    nonzero(b)
    ends = [x / y for x in (a.low, a.high) for y in (b.low, b.high)]
    exact = a.is_point and b.is_point and small_whole(a.low, b.low, ends[0])
    return Interval(ends[0], ends[0]) if exact and a.low % b.low == 0 else span(ends, 1)


def quotient(a: Interval, b: Interval) -> float:
    """The whole quotient, if it is the same everywhere."""
    nonzero(b)
    if a.is_point and b.is_point and small_whole(a.low, b.low):
        return float(a.low // b.low)
    found = bounded(divide(a, b))
    return one_of(math.floor, found)


def one_of(function: Callable[[float], int], a: Interval) -> float:
    """The value of a step function, if there is one."""
    low, high = function(a.low), function(a.high)
    if low != high:
        raise Uncertain
    return float(low)


def point(value: float) -> Interval:
    return Interval(value, value)


def modulo(a: Interval, b: Interval) -> Interval:
    try:
        whole = quotient(a, b)
    except NoValue as why:
        raise why if why is UNDEFINED else Uncertain from None
    if a.is_point and b.is_point and small_whole(a.low, b.low):
        return point(a.low % b.low)
    taken = arithmetic(lambda x, y: x * y)(b, point(whole))
    return arithmetic(lambda x, y: x - y)(a, taken)


def power(a: Interval, b: Interval) -> Interval:
    whole = b.is_point and b.low == math.floor(b.low)
    if a.low == a.high == 0:
        return power_of_zero(b)
    if a.low <= 0 and not whole:
        if a.high < 0 and not any(n in b for n in (math.floor(b.low), math.ceil(b.low))):
            raise UNDEFINED
        raise Uncertain
    if 0 in a and b.low < 0:
        raise Uncertain
    ends = [raised(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    if 0 in a:
        ends.append(1.0 if b.low == 0 else 0.0)
    if a.is_point and whole and b.low >= 0 and small_whole(a.low, ends[0]):
        return point(ends[0])
    return span(ends)


def power_of_zero(b: Interval) -> Interval:
    if b.high < 0:
        raise UNDEFINED
    if b.low > 0 or b.is_point:
        return point(float(b.low == 0))
    raise Uncertain


def raised(x: float, y: float) -> float:
    try:
        return math.pow(x, y)
    except OverflowError:
        return math.inf if x > 0 or y % 2 == 0 else -math.inf


def compared(operation: Callable[[float, float], bool]) -> Callable[..., Interval]:
    def applied(a: Interval, b: Interval) -> Interval:
        found = {operation(x, y) for x, y in product((a.low, a.high), (b.low, b.high))}
        apart = a.high < b.low or b.high < a.low
        if len(found) > 1 or not (apart or (a.is_point and b.is_point)):
            raise Uncertain
        return point(float(found.pop()))

    return applied


# ---- functions ----


def monotone(function: Callable[[float], float], units: float = UNITS) -> Callable[..., Interval]:
    """A function that only grows, or only falls."""

    def applied(a: Interval) -> Interval:
        try:
            return span([function(a.low), function(a.high)], units)
        except OverflowError:
            try:
                function(a.low)
            except OverflowError:
                raise TOO_LARGE from None
            raise Uncertain from None

    return applied


def within(a: Interval, low: float, high: float, *, open_below: bool = False) -> Interval:
    """The interval, if all of it is where a function has values."""
    below = a.high <= low if open_below else a.high < low
    if below or a.low > high:
        raise UNDEFINED
    if a.low < low or a.high > high or (open_below and a.low == low):
        raise Uncertain
    return a


def square_root(a: Interval) -> Interval:
    within(a, 0, math.inf)
    found = [math.sqrt(a.low), math.sqrt(a.high)]
    exact = a.is_point and small_whole(a.low, found[0]) and found[0] ** 2 == a.low
    return point(found[0]) if exact else span(found, 1)


def logarithm(a: Interval, b: Interval | None = None) -> Interval:
    positive = within(a, 0, math.inf, open_below=True)
    above = monotone(math.log)(positive)
    if b is None:
        return above
    within(b, 0, math.inf, open_below=True)
    if b.low == b.high == 1:
        raise UNDEFINED
    if 1 in b:
        raise Uncertain
    return widened(divide(above, monotone(math.log)(b)))


def widened(a: Interval) -> Interval:
    return wider(a.low, a.high)


def wave(
    function: Callable[[float], float], slope: Callable[[float], float]
) -> Callable[..., Interval]:
    """A sine or cosine over much less than a period."""

    def applied(a: Interval) -> Interval:
        if a.high - a.low > 0.01:
            return Interval(-1.0 - 1e-15, 1.0 + 1e-15)
        found = span([function(a.low), function(a.high)])
        if slope(a.low) * slope(a.high) > 0:
            return found
        top = function(a.low) > 0
        return Interval(found.low, 1 + 1e-15) if top else Interval(-1 - 1e-15, found.high)

    return applied


def tangent(a: Interval) -> Interval:
    if a.high - a.low > 0.01 or math.cos(a.low) * math.cos(a.high) <= 0:
        raise Uncertain
    if min(abs(math.cos(a.low)), abs(math.cos(a.high))) < 2 * (a.high - a.low):
        raise Uncertain
    return span([math.tan(a.low), math.tan(a.high)])


def absolute(a: Interval) -> Interval:
    ends = (abs(a.low), abs(a.high))
    return Interval(0.0 if 0 in a else min(ends), max(ends))


def rounded(a: Interval, places: Interval | None = None) -> Interval:
    if places is None:
        return point(one_of(round, a))
    if not places.is_point:
        raise Uncertain
    if places.low != math.floor(places.low):
        raise UNDEFINED
    if abs(places.low) > 22:
        raise Uncertain
    unit = 10.0 ** abs(places.low)
    scaled = [end * unit if places.low >= 0 else end / unit for end in (a.low, a.high)]
    if any(map(math.isinf, scaled)):  # so large that it has no places behind the point
        return wider(a.low, a.high)
    whole = one_of(round, bounded(span(scaled)))
    return span([whole / unit if places.low >= 0 else whole * unit])


# ---- whole numbers ----


def whole(*operands: Interval) -> list[int]:
    """The numbers, if they are known; one that is certainly no whole number has no value."""
    unsure = False
    for a in operands:
        if math.floor(a.high) < a.low:
            raise UNDEFINED
        unsure |= not a.is_point or abs(a.low) >= 2.0**53
    if unsure:
        raise Uncertain
    return [int(a.low) for a in operands]


def natural(*operands: Interval) -> list[int]:
    found = whole(*operands)
    if min(found) < 0:
        raise UNDEFINED
    return found


def counted(value: int, units: float) -> Interval:
    if value < 2**53:
        return point(float(value))
    near = as_double(value)
    if near == math.inf:
        raise TOO_LARGE
    return wider(near, near, units)


def factorial(a: Interval) -> Interval:
    (count,) = natural(a)
    if count > 170:
        raise TOO_LARGE
    return counted(math.factorial(count), 1)


def choose(a: Interval, b: Interval) -> Interval:
    n, k = natural(a, b)
    k = min(k, n - k)
    if k < 0:
        return point(0.0)
    if k > 600:
        raise TOO_LARGE
    return near_products(math.comb(n, k), k)


def arrange(a: Interval, b: Interval) -> Interval:
    n, k = natural(a, b)
    if k > n:
        return point(0.0)
    if k > 170:
        raise TOO_LARGE
    return near_products(math.perm(n, k), k)


def near_products(value: int, factors: int) -> Interval:
    """A product on the way may be larger than the result, and rounded."""
    if value * max(factors, 1) < 2**53:
        return point(float(value))
    near = as_double(value)
    if near == math.inf:
        raise TOO_LARGE
    if near > LARGEST / 2 / max(factors, 1) / 1_200:
        raise Uncertain
    return wider(near, near, 2 * factors + 1)


def multiple(*operands: Interval) -> Interval:
    for count in range(1, len(operands) + 1):  # from the left: what is too large ends it
        found = math.lcm(*whole(*operands[:count]))
        if found >= 2**53:
            whole(*operands)
            raise Uncertain
    return point(float(found))


# ---- several operands ----


def total(*operands: Interval) -> Interval:
    """In any order; rounded at every step."""
    sizes = sum(max(abs(a.low), abs(a.high)) for a in operands)
    low, high = math.fsum(a.low for a in operands), math.fsum(a.high for a in operands)
    if all(a.is_point for a in operands) and small_whole(sizes, *(a.low for a in operands)):
        return point(low)
    if sizes > LARGEST:
        raise Uncertain
    off = len(operands) * 2.0**-52 * sizes
    return Interval(low - off, high + off)


def mean(*operands: Interval) -> Interval:
    return divide(total(*operands), point(float(len(operands))))


def sign(a: Interval) -> Interval:
    return point(one_of(lambda value: (value > 0) - (value < 0), a))


COLUMN: dict[str, Callable[..., Interval]] = {
    "add": arithmetic(lambda x, y: x + y),
    "subtract": arithmetic(lambda x, y: x - y),
    "multiply": arithmetic(lambda x, y: x * y),
    "divide": divide,
    "floor_divide": lambda a, b: point(quotient(a, b)),
    "modulo": modulo,
    "power": power,
    "negate": lambda a: Interval(-a.high, -a.low),
    "percent": lambda a: divide(a, point(100.0)),
    "less": compared(lambda x, y: x < y),
    "at_most": compared(lambda x, y: x <= y),
    "greater": compared(lambda x, y: x > y),
    "at_least": compared(lambda x, y: x >= y),
    "equal": compared(lambda x, y: x == y),
    "unequal": compared(lambda x, y: x != y),
    "sqrt": square_root,
    "cbrt": monotone(math.cbrt),
    "exp": monotone(math.exp),
    "ln": logarithm,
    "log": logarithm,
    "log2": lambda a: monotone(math.log2)(within(a, 0, math.inf, open_below=True)),
    "log10": lambda a: monotone(math.log10)(within(a, 0, math.inf, open_below=True)),
    "sin": wave(math.sin, math.cos),
    "cos": wave(math.cos, math.sin),
    "tan": tangent,
    "asin": lambda a: monotone(math.asin)(within(a, -1, 1)),
    "acos": lambda a: monotone(math.acos)(within(a, -1, 1)),
    "atan": monotone(math.atan),
    "degrees": monotone(math.degrees),
    "radians": monotone(math.radians),
    "abs": absolute,
    "sign": sign,
    "floor": lambda a: point(one_of(math.floor, a)),
    "ceil": lambda a: point(one_of(math.ceil, a)),
    "trunc": lambda a: point(one_of(math.trunc, a)),
    "round": rounded,
    "factorial": factorial,
    "comb": choose,
    "perm": arrange,
    "gcd": lambda *operands: point(float(math.gcd(*whole(*operands)))),
    "lcm": multiple,
    "min": lambda *operands: Interval(min(a.low for a in operands), min(a.high for a in operands)),
    "max": lambda *operands: Interval(max(a.low for a in operands), max(a.high for a in operands)),
    "sum": total,
    "mean": mean,
}
"""Where the result of each operation lies."""
