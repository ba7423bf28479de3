"""What numeric instructions compute: functions of unsigned bit patterns.

Where the specification leaves the NaN that results open, it is the canonical one, positive.
Negation, absolute value, copysign and reinterpretation keep the payload, as they must.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from curta.errors import Trap
from curta.machine.wasm.floats import F32, F64, Format, from_float, from_integer, is_nan, to_float

Operation = Callable[..., int]


def to_signed(value: int, bits: int) -> int:
    """The signed number with the bit pattern of the unsigned one, of which the low bits count."""
    half = 1 << bits - 1
    return (value & (1 << bits) - 1 ^ half) - half


# -- integers -------------------------------------------------------------------------------------


def _divide_signed(bits: int, a: int, b: int) -> int:
    x, y = to_signed(a, bits), to_signed(b, bits)
    if y == 0:
        raise Trap("integer divide by zero")
    quotient = abs(x) // abs(y)
    if (x < 0) != (y < 0):
        quotient = -quotient
    if quotient == 1 << bits - 1:
        raise Trap("integer overflow")
    return quotient % (1 << bits)


def _divide_unsigned(a: int, b: int) -> int:
    if b == 0:
        raise Trap("integer divide by zero")
    return a // b


def _remainder_signed(bits: int, a: int, b: int) -> int:
    x, y = to_signed(a, bits), to_signed(b, bits)
    if y == 0:
        raise Trap("integer divide by zero")
    rest = abs(x) % abs(y)
    return (-rest if x < 0 else rest) % (1 << bits)


def _remainder_unsigned(a: int, b: int) -> int:
    if b == 0:
        raise Trap("integer divide by zero")
    return a % b


def _rotate_left(bits: int, a: int, count: int) -> int:
    count %= bits
    return (a << count | a >> bits - count) % (1 << bits)


def _trailing_zeros(bits: int, a: int) -> int:
    return (a & -a).bit_length() - 1 if a else bits


def _integer_operations(bits: int) -> dict[str, Operation]:
    size = 1 << bits

    def signed(a: int) -> int:
        return to_signed(a, bits)

    return {
        "eqz": lambda a: int(a == 0),
        "eq": lambda a, b: int(a == b),
        "ne": lambda a, b: int(a != b),
        "lt_s": lambda a, b: int(signed(a) < signed(b)),
        "lt_u": lambda a, b: int(a < b),
        "gt_s": lambda a, b: int(signed(a) > signed(b)),
        "gt_u": lambda a, b: int(a > b),
        "le_s": lambda a, b: int(signed(a) <= signed(b)),
        "le_u": lambda a, b: int(a <= b),
        "ge_s": lambda a, b: int(signed(a) >= signed(b)),
        "ge_u": lambda a, b: int(a >= b),
        "clz": lambda a: bits - a.bit_length(),
        "ctz": partial(_trailing_zeros, bits),
        "popcnt": lambda a: a.bit_count(),
        "add": lambda a, b: (a + b) % size,
        "sub": lambda a, b: (a - b) % size,
        "mul": lambda a, b: a * b % size,
        "div_s": partial(_divide_signed, bits),
        "div_u": _divide_unsigned,
        "rem_s": partial(_remainder_signed, bits),
        "rem_u": _remainder_unsigned,
        "and": lambda a, b: a & b,
        "or": lambda a, b: a | b,
        "xor": lambda a, b: a ^ b,
        "shl": lambda a, b: (a << b % bits) % size,
        "shr_s": lambda a, b: (signed(a) >> b % bits) % size,
        "shr_u": lambda a, b: a >> b % bits,
        "rotl": partial(_rotate_left, bits),
        "rotr": lambda a, b: _rotate_left(bits, a, -b),
        "extend8_s": lambda a: to_signed(a, 8) % size,
        "extend16_s": lambda a: to_signed(a, 16) % size,
    }


# -- floats ---------------------------------------------------------------------------------------
#
# Binary64 is Python's float. Binary32 is computed in binary64 and rounded once more: 53 bits are
# more than 2 * 24 + 1, so that for + - * / and square roots the second rounding does no harm.


def _add(a: float, b: float) -> float:
    return a + b


def _subtract(a: float, b: float) -> float:
    return a - b


def _multiply(a: float, b: float) -> float:
    return a * b


def _divide(a: float, b: float) -> float:
    if b:
        return a / b
    if a == 0:
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def _minimum(a: float, b: float) -> float:
    if a == b:
        return a if math.copysign(1.0, a) < 0 else b
    return min(a, b)


def _maximum(a: float, b: float) -> float:
    if a == b:
        return b if math.copysign(1.0, a) < 0 else a
    return max(a, b)


def _square_root(a: float) -> float:
    return math.sqrt(a) if a >= 0 else math.nan


def _rounded_by(rounding: Callable[[float], int], a: float) -> float:
    """The integer that the rounding gives, with the sign of the argument even if it is zero."""
    return a if math.isinf(a) else math.copysign(float(rounding(a)), a)


def _arithmetic(form: Format, compute: Callable[..., float], *patterns: int) -> int:
    """A computation on numbers; a NaN among the operands gives the canonical one."""
    for pattern in patterns:
        if is_nan(pattern, form):
            return form.quiet_nan
    return from_float(compute(*(to_float(pattern, form) for pattern in patterns)), form)


def _compare(form: Format, if_nan: int, compare: Callable[..., bool], a: int, b: int) -> int:
    if is_nan(a, form) or is_nan(b, form):
        return if_nan
    return int(compare(to_float(a, form), to_float(b, form)))


def _float_operations(form: Format) -> dict[str, Operation]:
    magnitude = form.sign - 1
    computed: dict[str, Callable[..., float]] = {
        "ceil": partial(_rounded_by, math.ceil),
        "floor": partial(_rounded_by, math.floor),
        "trunc": partial(_rounded_by, math.trunc),
        "nearest": partial(_rounded_by, round),
        "sqrt": _square_root,
        "add": _add,
        "sub": _subtract,
        "mul": _multiply,
        "div": _divide,
        "min": _minimum,
        "max": _maximum,
    }
    compared: dict[str, tuple[int, Callable[..., bool]]] = {
        "eq": (0, lambda a, b: a == b),
        "ne": (1, lambda a, b: a != b),
        "lt": (0, lambda a, b: a < b),
        "gt": (0, lambda a, b: a > b),
        "le": (0, lambda a, b: a <= b),
        "ge": (0, lambda a, b: a >= b),
    }
    return {
        **{name: partial(_arithmetic, form, compute) for name, compute in computed.items()},
        **{name: partial(_compare, form, *rule) for name, rule in compared.items()},
        "abs": lambda a: a & magnitude,
        "neg": lambda a: a ^ form.sign,
        "copysign": lambda a, b: a & magnitude | b & form.sign,
    }


# -- conversions ----------------------------------------------------------------------------------


def _truncate(form: Format, bits: int, signed: bool, pattern: int) -> int:
    if is_nan(pattern, form):
        raise Trap("invalid conversion to integer")
    number = to_float(pattern, form)
    least, most = _range(bits, signed)
    if math.isinf(number) or not least <= math.trunc(number) <= most:
        raise Trap("integer overflow")
    return math.trunc(number) % (1 << bits)


def _saturate(form: Format, bits: int, signed: bool, pattern: int) -> int:
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


def _convert(form: Format, bits: int, signed: bool, value: int) -> int:
    return from_integer(to_signed(value, bits) if signed else value, form)


def _change_format(source: Format, target: Format, pattern: int) -> int:
    if is_nan(pattern, source):
        return target.quiet_nan
    return from_float(to_float(pattern, source), target)


def _keep(pattern: int) -> int:
    return pattern


def _conversions() -> dict[str, Operation]:
    operations: dict[str, Operation] = {
        "i32.wrap_i64": lambda a: a & 0xFFFFFFFF,
        "i64.extend_i32_s": lambda a: to_signed(a, 32) % (1 << 64),
        "i64.extend_i32_u": _keep,
        "i64.extend32_s": lambda a: to_signed(a, 32) % (1 << 64),
        "f32.demote_f64": partial(_change_format, F64, F32),
        "f64.promote_f32": partial(_change_format, F32, F64),
        "i32.reinterpret_f32": _keep,
        "i64.reinterpret_f64": _keep,
        "f32.reinterpret_i32": _keep,
        "f64.reinterpret_i64": _keep,
    }
    for bits in (32, 64):
        for form in (F32, F64):
            integer, floating = f"i{bits}", f"f{form.bits}"
            for sign, signed in (("s", True), ("u", False)):
                rest = form, bits, signed
                operations |= {
                    f"{integer}.trunc_{floating}_{sign}": partial(_truncate, *rest),
                    f"{integer}.trunc_sat_{floating}_{sign}": partial(_saturate, *rest),
                    f"{floating}.convert_{integer}_{sign}": partial(_convert, *rest),
                }
    return operations


NUMERIC: dict[str, Operation] = {
    **{f"i32.{name}": operation for name, operation in _integer_operations(32).items()},
    **{f"i64.{name}": operation for name, operation in _integer_operations(64).items()},
    **{f"f32.{name}": operation for name, operation in _float_operations(F32).items()},
    **{f"f64.{name}": operation for name, operation in _float_operations(F64).items()},
    **_conversions(),
}
"""By opcode: bit patterns of the operands to the bit pattern of the result."""
