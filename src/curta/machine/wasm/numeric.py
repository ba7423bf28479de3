"""What numeric instructions compute: functions of unsigned bit patterns.

Where the specification leaves the NaN that results open, it is the canonical one, positive.
Negation, absolute value, copysign and reinterpretation keep the payload, as they must.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from curta.errors import Trap
from curta.machine.wasm.floats import Format, from_float, from_integer, is_nan, to_float

Meaning = Callable[..., int]


def to_signed(value: int, bits: int) -> int:
    """The signed number with the bit pattern of the unsigned one, of which the low bits count."""
    half = 1 << bits - 1
    return (value & (1 << bits) - 1 ^ half) - half


# -- integers -------------------------------------------------------------------------------------


def divide_signed(bits: int, a: int, b: int) -> int:
    x, y = to_signed(a, bits), to_signed(b, bits)
    if y == 0:
        raise Trap("integer divide by zero")
    quotient = abs(x) // abs(y)
    if (x < 0) != (y < 0):
        quotient = -quotient
    if quotient == 1 << bits - 1:
        raise Trap("integer overflow")
    return quotient % (1 << bits)


def divide_unsigned(a: int, b: int) -> int:
    if b == 0:
        raise Trap("integer divide by zero")
    return a // b


def remainder_signed(bits: int, a: int, b: int) -> int:
    x, y = to_signed(a, bits), to_signed(b, bits)
    if y == 0:
        raise Trap("integer divide by zero")
    rest = abs(x) % abs(y)
    return (-rest if x < 0 else rest) % (1 << bits)


def remainder_unsigned(a: int, b: int) -> int:
    if b == 0:
        raise Trap("integer divide by zero")
    return a % b


def rotate_left(bits: int, a: int, count: int) -> int:
    count %= bits
    return (a << count | a >> bits - count) % (1 << bits)


def compare_signed(bits: int, test: Callable[[int, int], bool], a: int, b: int) -> int:
    return int(test(to_signed(a, bits), to_signed(b, bits)))


def compare_unsigned(test: Callable[[int, int], bool], a: int, b: int) -> int:
    return int(test(a, b))


# -- floats ---------------------------------------------------------------------------------------
#
# Binary64 is Python's float. Binary32 is computed in binary64 and rounded once more: 53 bits are
# more than 2 * 24 + 1, so that for + - * / and square roots the second rounding does no harm.


def divide(a: float, b: float) -> float:
    if b:
        return a / b
    if a == 0:
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def minimum(a: float, b: float) -> float:
    if a == b:
        return a if math.copysign(1.0, a) < 0 else b
    return min(a, b)


def maximum(a: float, b: float) -> float:
    if a == b:
        return b if math.copysign(1.0, a) < 0 else a
    return max(a, b)


def square_root(a: float) -> float:
    return math.sqrt(a) if a >= 0 else math.nan


def rounded_by(rounding: Callable[[float], int], a: float) -> float:
    """The integer that the rounding gives, with the sign of the argument even if it is zero."""
    return a if math.isinf(a) else math.copysign(float(rounding(a)), a)


def arithmetic(form: Format, compute: Callable[..., float], *patterns: int) -> int:
    """A computation on numbers; a NaN among the operands gives the canonical one."""
    for pattern in patterns:
        if is_nan(pattern, form):
            return form.quiet_nan
    return from_float(compute(*(to_float(pattern, form) for pattern in patterns)), form)


def compare(form: Format, test: Callable[[float, float], bool], a: int, b: int) -> int:
    return int(test(to_float(a, form), to_float(b, form)))


# -- conversions ----------------------------------------------------------------------------------


def wrap(_bits: int, bits: int, value: int) -> int:
    return value % (1 << bits)


def extend(few: int, bits: int, signed: bool, value: int) -> int:
    return to_signed(value, few) % (1 << bits) if signed else value


def truncate(form: Format, bits: int, signed: bool, pattern: int) -> int:
    if is_nan(pattern, form):
        raise Trap("invalid conversion to integer")
    number = to_float(pattern, form)
    least, most = _range(bits, signed)
    if math.isinf(number) or not least <= math.trunc(number) <= most:
        raise Trap("integer overflow")
    return math.trunc(number) % (1 << bits)


def saturate(form: Format, bits: int, signed: bool, pattern: int) -> int:
    if is_nan(pattern, form):
        return 0
    number = to_float(pattern, form)
    least, most = _range(bits, signed)
    if math.isinf(number):
        return (least if number < 0 else most) % (1 << bits)
    return min(max(math.trunc(number), least), most) % (1 << bits)


def _range(bits: int, signed: bool) -> tuple[int, int]:
    half = 1 << bits - 1
    return (-half, half - 1) if signed else (0, 2 * half - 1)


def convert(bits: int, form: Format, signed: bool, value: int) -> int:
    return from_integer(to_signed(value, bits) if signed else value, form)


def change_format(source: Format, target: Format, pattern: int) -> int:
    if is_nan(pattern, source):
        return target.quiet_nan
    return from_float(to_float(pattern, source), target)


def reinterpret(_source: object, _target: object, pattern: int) -> int:
    return pattern
