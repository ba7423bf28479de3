"""IEEE 754 bit patterns: formats, and rounding of exact numbers to the nearest even."""

from __future__ import annotations

import struct
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Format:
    """A binary format: `precision` counts the hidden bit; steps are multiples of 2**least."""

    bits: int
    precision: int
    least: int  # exponent of the smallest subnormal number
    letter: str  # for struct

    @property
    def sign(self) -> int:
        return 1 << self.bits - 1

    @property
    def infinity(self) -> int:
        return self.sign - (1 << self.precision - 1)

    @property
    def quiet_nan(self) -> int:
        """The canonical NaN, positive."""
        return self.infinity | 1 << self.precision - 2


F32 = Format(32, 24, -149, "f")
F64 = Format(64, 53, -1074, "d")
_INTEGER_LETTERS = {32: "I", 64: "Q"}


def is_nan(pattern: int, form: Format) -> bool:
    return pattern & ~form.sign > form.infinity


def to_float(pattern: int, form: Format) -> float:
    """The number, exactly; it must not be a NaN, whose payload would get lost."""
    (number,) = struct.unpack("<" + form.letter, pattern.to_bytes(form.bits // 8, "little"))
    return float(number)


def from_float(number: float, form: Format) -> int:
    """The pattern of the nearest number in the format; every NaN becomes the canonical one."""
    if number != number:
        return form.quiet_nan
    try:
        packed = struct.pack("<" + form.letter, number)
    except OverflowError:
        return form.infinity | (form.sign if number < 0 else 0)
    return int.from_bytes(packed, "little")


def from_ratio(numerator: int, denominator: int, form: Format) -> int:
    """The pattern nearest to a ratio of natural numbers; ties go to even, too much to infinity."""
    if numerator == 0:
        return 0
    exponent = numerator.bit_length() - denominator.bit_length()
    # The ratio lies between 2**(exponent - 1) and 2**(exponent + 1): one of two steps is right.
    for step in (exponent - form.precision, exponent - form.precision + 1):
        quotient, rest, scale = _divide(numerator, denominator, max(step, form.least))
        if quotient < 1 << form.precision:
            break
    step = max(step, form.least)
    quotient += 2 * rest > scale or (2 * rest == scale and quotient & 1)
    pattern = (step - form.least << form.precision - 1) + quotient
    return min(pattern, form.infinity)


def _divide(numerator: int, denominator: int, step: int) -> tuple[int, int, int]:
    """Quotient and remainder of the ratio divided by 2**step, and the divisor."""
    if step > 0:
        denominator <<= step
    else:
        numerator <<= -step
    return *divmod(numerator, denominator), denominator
