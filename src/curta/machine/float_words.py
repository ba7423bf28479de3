"""What core instructions on floats compute, in plain Python: the words of a result, of words.

Rounded to nearest even. Where an operand is no number, the result is that operand made quiet, the
first of two; an invalid operation gives the quiet NaN with the sign set. That is what x86-64 does.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

from curta.machine.wasm.floats import F32, F64, Format, from_float, from_ratio, is_nan, to_float

WORD = 1 << 32
SIGN = WORD // 2
BIAS = 1075
"""The exponent with which `pack` takes a whole number for itself."""
Meaning = Callable[..., int]
_ARITHMETIC: dict[str, Callable[[float, float], float]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": lambda x, y: x / y if y else x * math.copysign(math.inf, y) if x else math.nan,
}
_COMPARISONS = {"lt": operator.lt, "le": operator.le, "eq": operator.eq}


def _computed(compute: Callable[[float, float], float], x: int, y: int, form: Format) -> int:
    for operand in (x, y):
        if is_nan(operand, form):
            return operand | form.quiet_nan
    result = compute(to_float(x, form), to_float(y, form))
    return form.sign | form.quiet_nan if result != result else from_float(result, form)


def _compared(compare: Callable[[float, float], bool], x: int, y: int, form: Format) -> int:
    if is_nan(x, form) or is_nan(y, form):
        return 0
    return int(compare(to_float(x, form), to_float(y, form)))


def _root(x: int, form: Format) -> int:
    if is_nan(x, form):
        return x | form.quiet_nan
    number = to_float(x, form)
    return form.sign | form.quiet_nan if number < 0 else from_float(math.sqrt(number), form)


def _packed(number: int, exponent: int, sign: int, form: Format) -> int:
    """The float nearest to number * 2**(exponent - BIAS), the exponent a word with a sign."""
    power = exponent - WORD * (exponent >= SIGN) - BIAS
    power = max(min(power, 4096), -4096)
    size = from_ratio(number << max(power, 0), 1 << max(-power, 0), form)
    return size | (form.sign if sign >= SIGN else 0)


def _converted(pattern: int, form: Format, to: Format) -> int:
    """The same number; of a NaN, as many bits behind the first as there is room for, and quiet."""
    if not is_nan(pattern, form):
        return from_float(to_float(pattern, form), to)
    sign, moved = to.sign if pattern & form.sign else 0, to.precision - form.precision
    payload = pattern & (form.quiet_nan ^ form.infinity) - 1
    return sign | to.quiet_nan | (payload << moved if moved > 0 else payload >> -moved)


def _of_doubles(function: Callable[..., int], what: object, shift: int) -> Meaning:
    """Of two doubles, the high words first: one word of what a function gives."""

    def meaning(a: int, b: int, c: int, e: int) -> int:
        return function(what, a << 32 | c, b << 32 | e, F64) >> shift & WORD - 1

    return meaning


def _of_singles(function: Callable[..., int], what: object) -> Meaning:
    def meaning(a: int, b: int, c: int) -> int:
        return function(what, a, b, F32)

    return meaning


def _root_word(form: Format, shift: int) -> Meaning:
    """Of a number, the high word first, that is there twice: nothing has but three operands."""

    def meaning(a: int, b: int, c: int = 0, e: int = 0) -> int:
        return _root(a if form is F32 else a << 32 | c, form) >> shift & WORD - 1

    return meaning


def _promoted(shift: int) -> Meaning:
    def meaning(a: int, b: int, c: int) -> int:
        return _converted(a, F32, F64) >> shift & WORD - 1

    return meaning


def _pack(form: Format, shift: int) -> Meaning:
    def meaning(a: int, b: int, c: int, e: int) -> int:
        return _packed(a << 32 | c, b, e, form) >> shift & WORD - 1

    return meaning


FLOATS: dict[str, tuple[str, Meaning]] = {
    **{
        f"f64_{name}_{half}": ("abcde", _of_doubles(_computed, what, shift))
        for name, what in _ARITHMETIC.items()
        for half, shift in (("high", 32), ("low", 0))
    },
    "f64_sqrt_high": ("abcde", _root_word(F64, 32)),
    "f64_sqrt_low": ("abcde", _root_word(F64, 0)),
    "f64_pack_high": ("abcde", _pack(F64, 32)),
    "f64_pack_low": ("abcde", _pack(F64, 0)),
    **{
        f"f64_{name}": ("abcde", _of_doubles(_compared, what, 0))
        for name, what in _COMPARISONS.items()
    },
    **{f"f32_{name}": ("abd", _of_singles(_computed, what)) for name, what in _ARITHMETIC.items()},
    "f32_sqrt": ("abd", _root_word(F32, 0)),
    **{
        f"f64_promote_{half}": ("abd", _promoted(shift))
        for half, shift in (("high", 32), ("low", 0))
    },
    "f32_demote": ("abcde", lambda a, b, c, e: _converted(a << 32 | c, F64, F32)),
    "f32_pack": ("abcde", _pack(F32, 0)),
    **{f"f32_{name}": ("abd", _of_singles(_compared, what)) for name, what in _COMPARISONS.items()},
}
"""Operands and meaning of each; of those that need one float only, both are the same."""
