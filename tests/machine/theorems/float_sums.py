"""The sum of two floats, as the definition has it: the exact sum, rounded.

Let the exponents be `distance` apart (that of a subnormal counts as 1). In units of the last
place of the float with the smaller exponent both are integers, so the exact sum is one, S; it has
`fraction + distance + 2` bits. Where its leading bit stands says what the unit in the last place of
the result is, and how many bits of S are below it: those round it. A sum whose leading bit stands
no higher than a significand's is exact, subnormal ones among them.

`rounded_sum` builds this for one distance. That it is IEEE's addition, is proved for small formats
beside z3's theory, for all operands; beside it at full width it takes z3 minutes for each distance.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import z3
from specifications import Format

Bits = z3.BitVecRef


@dataclass(frozen=True)
class Parts:
    """A float's fields; the exponent of a subnormal is 1, and its significand has no leading 1."""

    sign: Bits
    exponent: Bits
    significand: Bits


def parts(form: Format, bits: Bits) -> Parts:
    top, fraction = form.width - 1, form.fraction
    exponent = z3.Extract(top - 1, fraction, bits)
    subnormal = exponent == 0
    leading = z3.If(subnormal, z3.BitVecVal(0, 1), z3.BitVecVal(1, 1))
    return Parts(
        z3.Extract(top, top, bits),
        z3.If(subnormal, z3.BitVecVal(1, form.exponent), exponent),
        z3.Concat(leading, z3.Extract(fraction - 1, 0, bits)),
    )


@dataclass(frozen=True)
class Sum:
    """The exact sum's sign and size, in units of the last place at `exponent`."""

    sign: Bits
    size: Bits
    exponent: Bits


def exact_sum(form: Format, larger: Bits, smaller: Bits, distance: int) -> Sum:
    """Of finite floats whose exponents are `distance` apart."""
    x, y = parts(form, larger), parts(form, smaller)
    width = form.fraction + distance + 3
    a = z3.ZeroExt(width - form.fraction - 1, x.significand) << distance
    b = z3.ZeroExt(width - form.fraction - 1, y.significand)
    same = x.sign == y.sign
    size = z3.If(same, a + b, z3.If(z3.UGE(a, b), a - b, b - a))
    sign = z3.If(z3.Or(same, z3.UGT(a, b)), x.sign, z3.If(a == b, z3.BitVecVal(0, 1), y.sign))
    return Sum(sign, size, y.exponent)


def leads_at(total: Sum, place: int) -> z3.BoolRef:
    """Whether the leading bit of the sum is that one."""
    return z3.LShR(total.size, place) == 1


def rounded_at(form: Format, total: Sum, place: int) -> Bits:
    """The float nearest to the sum, whose leading bit is at `place`."""
    below = place - form.fraction
    width = form.width + 1  # no carry is lost
    exponent = z3.ZeroExt(width - form.exponent, total.exponent)
    if below <= 0:
        return signed(form, total.sign, exact_at(form, total, exponent, -below))
    size = z3.ZeroExt(width, total.size)
    kept, lost = z3.LShR(size, below), size & ((1 << below) - 1)
    half = 1 << below - 1
    up = z3.Or(z3.UGT(lost, half), z3.And(lost == half, z3.Extract(0, 0, kept) == 1))
    fraction = z3.Extract(width - 1, 0, kept) - (1 << form.fraction)
    packed = (exponent + below << form.fraction) + fraction + z3.If(up, one(width), zero(width))
    infinite = z3.BitVecVal((1 << form.exponent) - 1 << form.fraction, width)
    return signed(form, total.sign, z3.If(z3.UGE(packed, infinite), infinite, packed))


def exact_at(form: Format, total: Sum, exponent: Bits, up: int) -> Bits:
    """A sum with `up` bits fewer than a significand has: shifted up, as far as exponents go."""
    width = exponent.size()
    size = resized(total.size, width)
    normal = (exponent - up << form.fraction) + (size << up) - (1 << form.fraction)
    return z3.If(z3.UGT(exponent, up), normal, size << exponent - 1)


def rounded_sum(
    form: Format, larger: Bits, smaller: Bits, distance: int, places: Iterable[int] | None = None
) -> Bits:
    """The float nearest to the sum of finite floats, the exponents of which are so far apart.

    `places` are those where its leading bit may be, if that is known.
    """
    total = exact_sum(form, larger, smaller, distance)
    both_negative = z3.Extract(form.width - 1, form.width - 1, larger & smaller)
    result = signed(form, both_negative, zero(form.width + 1))
    for place in range(form.fraction + distance + 2) if places is None else places:
        result = z3.If(leads_at(total, place), rounded_at(form, total, place), result)
    return result


def signed(form: Format, sign: Bits, packed: Bits) -> Bits:
    return z3.Concat(sign, z3.Extract(form.width - 2, 0, packed))


def resized(bits: Bits, width: int) -> Bits:
    if bits.size() >= width:
        return z3.Extract(width - 1, 0, bits)
    return z3.ZeroExt(width - bits.size(), bits)


def zero(width: int) -> Bits:
    return z3.BitVecVal(0, width)


def one(width: int) -> Bits:
    return z3.BitVecVal(1, width)


def distance_is(form: Format, larger: Bits, smaller: Bits, distance: int) -> list[z3.BoolRef]:
    """Both are finite, and the first one's exponent is that much higher."""
    x, y = (z3.ZeroExt(2, parts(form, bits).exponent) for bits in (larger, smaller))
    finite = [z3.Not(form.has_top_exponent(bits)) for bits in (larger, smaller)]
    return [x - y == distance, *finite]
