"""What each operation comes to: examples by hand, and its meaning in numbers of any precision.

A row is an operation's function in mpmath (or nothing, where only examples say what it is), and
expressions with the text of their results, or with what is wrong in them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from mpmath import mp

Row = tuple[Callable[..., Any] | None, dict[str, str]]

UNDEFINED, LARGE, UNDECIDED = "undefined", "too large", "too close to tell"


def half_even(value: Any, places: Any = 0) -> Any:
    unit = mp.mpf(10) ** int(places)
    return mp.nint(value * unit) / unit


TABLE: dict[str, Row] = {
    "add": (lambda a, b: a + b, {"1/3 + 1/6": "0.5", "-3 + 2": "-1", "pi + 1/0": UNDEFINED}),
    "subtract": (
        lambda a, b: a - b,
        {"5 - 7": "-2", "0.3 - 0.1": "0.2", "1e16 + sqrt(2) - 1e16": "1.414214", "pi - pi": "0"},
    ),
    "multiply": (lambda a, b: a * b, {"0.1*0.1": "0.01", "0 * pi": "0", "10^1000*10^1000": LARGE}),
    "divide": (
        lambda a, b: a / b,
        {"7/2": "3.5", "2/3": "0.666667", "0/pi": "0", "1/(pi-pi)": UNDECIDED, "1/0": UNDEFINED},
    ),
    "floor_divide": (
        lambda a, b: mp.floor(a / b),
        {"-7 // 2": "-4", "7.5 // 2": "3", "10 // pi": "3", "sqrt(8) // sqrt(2)": UNDECIDED,
         "5 // 0": UNDEFINED},
    ),
    "modulo": (
        lambda a, b: a - b * mp.floor(a / b),
        {"5 % 3": "2", "-5 % 3": "1", "-7 % 2.5": "0.5", "mod(5, -3)": "-1", "7 % (-0.3)": "-0.2",
         "10 % pi": "0.575222", "-10 % pi": "2.566371", "2 % pi": "2", "5 % 0": UNDEFINED},
    ),
    "power": (
        None,
        {"2^-3": "0.125", "(-2)^3": "-8", "(-2)^-3": "-0.125", "0^0": "1", "0^5": "0",
         "(4/9)^(3/2)": "0.296296", "8^(1/3)": "2", "8^(-2/3)": "0.25", "0^(1/2)": "0",
         "1^(10^30)": "1", "(-1)^(10^30+1)": "-1", "2^(1/2)": "1.414214", "(-8)^(1/3)": UNDEFINED,
         "0^-1": UNDEFINED, "0^pi": "0", "0^-pi": UNDEFINED, "(-2)^pi": UNDEFINED,
         "(-pi)^3": "-31.006277",
         "(-8)^(sqrt(2)^2)": UNDECIDED, "(pi-pi)^-1": UNDECIDED, "pi^0": "1", "2^pi": "8.824978",
         "9^9^9": LARGE, "(1/3)^1000": LARGE, "pow(2, 10)": "1024"},
    ),
    "negate": (lambda a: -a, {"-(2)": "-2", "-7": "-7", "-2^2": "-4"}),
    "percent": (lambda a: a / 100, {"50%": "0.5", "20% of 80": "16"}),
    "less": (None, {"1 < 2": "true", "2 < 2": "false", "pi < 4": "true", "pi < pi": UNDECIDED}),
    "at_most": (None, {"2 <= 1": "false", "2 <= 2": "true"}),
    "greater": (None, {"1 > 2": "false", "-1 > -2": "true"}),
    "at_least": (None, {"2 >= 2": "true", "1 >= 2": "false"}),
    "equal": (None, {"sqrt(2)^2 == 2": UNDECIDED, "exp(-999)*exp(-999) == 0": "false",
                     "1/3 == 2/6": "true", "0.1 + 0.2 == 0.3": "true", "1 == 2": "false"}),
    "unequal": (None, {"3 != 3": "false", "3 != 4": "true"}),
    "sqrt": (mp.sqrt, {"sqrt(9/4)": "1.5", "sqrt(2)": "1.414214", "sqrt(-1)": UNDEFINED}),
    "cbrt": (
        lambda a: mp.sign(a) * mp.cbrt(abs(a)), {"cbrt(-27)": "-3", "cbrt(-2)": "-1.259921"}
    ),
    "exp": (
        mp.exp,
        {"exp(0)": "1", "exp(1)": "2.718282", "exp(1000)/exp(999)": "2.718282", "exp(1000)": LARGE,
         "exp(-1000)": LARGE, "exp(-10^300)": LARGE},
    ),
    "ln": (mp.log, {"ln(1)": "0", "ln(2)": "0.693147", "ln(0)": UNDEFINED}),
    "log": (
        mp.log,
        {"log(8, 2)": "3", "log(1/9, 3)": "-2", "log(9, 6)": "1.226294", "log(e)": "1",
         "log(8, 1/2)": "-3", "log(8, 4) == 3/2": "true", "log(16/81, 27/8)": "-1.333333",
         "log(6/5, 6)": "0.101756", "log(1, 1/2)": "0", "log(2, -2)": UNDEFINED,
         "log((2^1023)^4, 1/2)": "-4092",
         "log(0)": UNDEFINED, "log(5, 1)": UNDEFINED, "log(0, 0)": UNDEFINED},
    ),
    "log2": (lambda a: mp.log(a, 2), {"log2(1/1024)": "-10", "log2(10)": "3.321928"}),
    "log10": (mp.log10, {"log10(1000)": "3", "log10(2)": "0.30103", "log10(-1)": UNDEFINED}),
    "sin": (
        mp.sin, {"sin(0)": "0", "sin(1)": "0.841471", "sin(pi)": "0", "sin(10^400)": "-0.998538"}
    ),
    "cos": (mp.cos, {"cos(0)": "1", "cos(1)": "0.540302"}),
    "tan": (mp.tan, {"tan(0)": "0", "tan(1)": "1.557408", "tan(pi/2)": LARGE}),
    "asin": (mp.asin, {"asin(0)": "0", "asin(1)": "1.570796", "asin(2)": UNDEFINED}),
    "acos": (
        mp.acos,
        {"acos(1)": "0", "acos(1) // 3": "0", "acos(0.5)": "1.047198", "acos(-2)": UNDEFINED},
    ),
    "atan": (mp.atan, {"atan(0)": "0", "atan(1)*4": "3.141593"}),
    "degrees": (mp.degrees, {"degrees(0)": "0", "degrees(pi)": "180"}),
    "radians": (mp.radians, {"radians(0)": "0", "radians(180)": "3.141593"}),
    "abs": (abs, {"abs(-2.5)": "2.5", "abs(3)": "3"}),
    "sign": (
        mp.sign,
        {"sign(-3)": "-1", "sign(0)": "0", "sign(1/7)": "1", "sign(-pi)": "-1",
         "sign(pi - pi)": UNDECIDED},
    ),
    "floor": (
        mp.floor,
        {"floor(-1.5)": "-2", "floor(7)": "7", "floor(-pi)": "-4",
         "floor(10^30*pi)": "3141592653589793238462643383279", "floor(ln(1000)/ln(10))": UNDECIDED},
    ),
    "ceil": (mp.ceil, {"ceil(-1.5)": "-1", "ceil(1.2)": "2", "ceil(pi)": "4"}),
    "trunc": (
        lambda a: mp.sign(a) * mp.floor(abs(a)),
        {"trunc(-1.5)": "-1", "trunc(2.9)": "2", "trunc(-pi)": "-3"},
    ),
    "round": (
        half_even,
        {"round(2.5)": "2", "round(3.5)": "4", "round(-2.5)": "-2", "round(2.675, 2)": "2.68",
         "round(pi, 4)": "3.1416", "round(100*pi, -1)": "310",
         "round(1250, -2)": "1200", "round(1, 1.5)": UNDEFINED, "round(1, 309)": LARGE},
    ),
    "factorial": (
        mp.factorial,
        {"5!": "120", "factorial(10)": "3628800", "600!": LARGE, "(-1)!": UNDEFINED,
         "factorial(2.5)": UNDEFINED},
    ),
    "comb": (
        mp.binomial,
        {"comb(50, 25)": "126410606437752", "comb(3, 5)": "0", "comb(10^9, 10^8)": LARGE,
         "comb(10^30, 3)": "1.666667e89", "comb(-1, 2)": UNDEFINED},
    ),
    "perm": (
        lambda n, k: mp.factorial(n) / mp.factorial(n - k) if k <= n else mp.mpf(0),
        {"perm(10, 3)": "720", "perm(3, 5)": "0", "perm(10^30, 4)": "1e120"},
    ),
    "gcd": (
        lambda *numbers: math.gcd(*map(int, numbers)),
        {"gcd(12, -18, 27)": "3", "gcd(0, 5)": "5", "gcd(1.5, 2)": UNDEFINED},
    ),
    "lcm": (
        lambda *numbers: math.lcm(*map(int, numbers)),
        {"lcm(4, 6, -10)": "60", "lcm(3, 0, 5)": "0", "lcm(1, 1/2)": UNDEFINED},
    ),
    "min": (
        lambda *numbers: min(numbers),
        {"min(3, 1/2, 2)": "0.5", "min(7)": "7", "min(pi, 22/7, tau)": "3.141593",
         "min(sqrt(2)^2, 2)": UNDECIDED},
    ),
    "max": (
        lambda *numbers: max(numbers),
        {"max(3, 7/2, 2)": "3.5", "max([1, 2])": "2", "max(sqrt(2), 2, 1)": "2"},
    ),
    "sum": (lambda *numbers: sum(numbers), {"sum(1, 1/2, -3)": "-1.5", "sum(2)": "2"}),
    "mean": (
        lambda *numbers: sum(numbers) / len(numbers),
        {"mean(1, 2, 6)": "3", "average(1, 2)": "1.5", "avg([1, 4])": "2.5"},
    ),
    "pi": (lambda: +mp.pi, {"pi": "3.141593", "10^15*pi": "3141592653589793.238463"}),
    "tau": (lambda: 2 * mp.pi, {"tau": "6.283185", "tau == 2*pi": UNDECIDED}),
    "e": (lambda: +mp.e, {"e": "2.718282", "e < exp(1.001)": "true"}),
}  # fmt: skip

EXPRESSIONS = dict(pair for _, examples in TABLE.values() for pair in examples.items())


def precisely(number: Any) -> Any:
    """The number in mpmath."""
    if isinstance(number, Fraction):
        return mp.mpf(number.numerator) / number.denominator
    return mp.mpf(number)
