"""Python's numbers as the machine's words, and back.

A value of 64 bits is two words, the low one first. Integers come back signed, as wasmtime gives
them; bit patterns are unsigned and keep the payload of a NaN.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Sequence

from curta.errors import UserError
from curta.machine.wasm import BITS, ValueType

WORD_BITS = 32
Number = int | float


def width(type_: ValueType) -> int:
    """Bits of a value."""
    return BITS[type_]


def word_count(types: Sequence[ValueType]) -> int:
    return sum(width(type_) // WORD_BITS for type_ in types)


def to_words(patterns: Sequence[int], types: Sequence[ValueType]) -> list[int]:
    """Bit patterns as words."""
    words = []
    for pattern, type_ in zip(patterns, types, strict=True):
        words.append(pattern % (1 << WORD_BITS))
        if width(type_) > WORD_BITS:
            words.append(pattern >> WORD_BITS)
    return words


def from_words(words: Sequence[int], types: Sequence[ValueType]) -> list[int]:
    """Words as bit patterns."""
    left = iter(words)
    return [
        next(left) | (next(left) << WORD_BITS if width(type_) > WORD_BITS else 0) for type_ in types
    ]


def to_pattern(number: object, type_: ValueType, what: str) -> int:
    """The bit pattern of a Python number; `what` names it in errors."""
    return _float_pattern(number, type_, what) if type_[0] == "f" else _integer(number, type_, what)


def _integer(number: object, type_: ValueType, what: str) -> int:
    try:
        value = operator.index(number)  # type: ignore[arg-type]
    except TypeError:
        raise UserError(f"{what} is of type {type_}: {number!r} is not an integer") from None
    bits = width(type_)
    if not -(1 << bits - 1) <= value < 1 << bits:
        raise UserError(
            f"{what} is of type {type_}: {value} is outside of -2^{bits - 1} ... 2^{bits} - 1"
        )
    return value % (1 << bits)


def _float_pattern(number: object, type_: ValueType, what: str) -> int:
    if not isinstance(number, int | float) and not hasattr(number, "__float__"):
        raise UserError(f"{what} is of type {type_}: {number!r} is not a number")
    try:
        value = float(number)
        layout = "<f" if type_ == "f32" else "<d"
        return int.from_bytes(struct.pack(layout, value), "little")
    except (OverflowError, ValueError, TypeError):
        raise UserError(f"{what} is of type {type_}: {number!r} does not fit") from None


def to_number(pattern: int, type_: ValueType) -> Number:
    """A bit pattern as a Python number."""
    bits = width(type_)
    if type_[0] == "i":
        return pattern - (1 << bits) if pattern >> bits - 1 else pattern
    (value,) = struct.unpack("<f" if bits == 32 else "<d", pattern.to_bytes(bits // 8, "little"))
    return float(value)


def check_pattern(pattern: object, type_: ValueType, what: str) -> int:
    """A bit pattern that somebody gave."""
    try:
        value = operator.index(pattern)  # type: ignore[arg-type]
    except TypeError:
        raise UserError(f"{what}: {pattern!r} is not the bit pattern of an {type_}") from None
    if not 0 <= value < 1 << width(type_):
        raise UserError(
            f"{what}: {value} is not the bit pattern of an {type_}, 0 ... 2^{width(type_)} - 1"
        )
    return value


def parse_number(text: str, type_: ValueType, what: str) -> Number:
    """What somebody wrote on the command line: decimal or 0x integers, floats, inf, nan."""
    try:
        return int(text, 0) if type_[0] == "i" else _parse_float(text)
    except ValueError:
        kind = "an integer" if type_[0] == "i" else "a number"
        raise UserError(f"{what} is of type {type_}: {text!r} is not {kind}") from None


def _parse_float(text: str) -> float:
    return float.fromhex(text) if "0x" in text.lower() else float(text)


def show(number: Number) -> str:
    """A result as text: what Python writes, without the zero of a whole number."""
    if isinstance(number, float) and math.isfinite(number) and number == int(number):
        return f"{number:.0f}" if abs(number) < 1e16 else repr(number)
    return repr(number)
