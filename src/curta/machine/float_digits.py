"""Which digits of a quotient or root are said, in plain Python; parts/quotients.py says why these.

They only have to be right in what they add up to. But the machine without weights says the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from curta.machine.wasm.floats import F32, F64, Format

COUNT = 8
BITS = 7
A_TOP, B_TOP = 113, 57
LIMB = 24
CUT = 28
"""Bits of the step that no digit looks at."""


def missing_digits(name: str, words: Sequence[int], scratch: Sequence[int]) -> list[int]:
    """Those that an operation says before its result; `scratch` was said last, the lowest first."""
    form = F32 if name.startswith("f32") else F64
    a, b, c, e = (*words, 0, 0)[:4]
    x, y = (a, b) if form is F32 else (a << 32 | c, b << 32 | e)
    root = "sqrt" in name
    operands = (x,) if root else (x, y)
    if any(_is_strange(one, form) for one in operands) or (root and x & form.sign):
        return []
    dividend, power = _significand(x, form)
    if root:
        is_odd = (power + dividend.bit_length() - 1 - A_TOP) % 2
        dividend, divisor = _moved(dividend, A_TOP - is_odd), None
    else:
        dividend, divisor = _moved(dividend, A_TOP), _moved(_significand(y, form)[0], B_TOP)
    if _are_right(dividend, divisor, scratch):
        return []
    digits: list[int] = []
    for _ in range(COUNT):
        digits.append(_next_digit(dividend, divisor, digits))
    return digits


def _is_strange(pattern: int, form: Format) -> bool:
    size = pattern & ~form.sign
    return size == 0 or size >= form.infinity


def _significand(pattern: int, form: Format) -> tuple[int, int]:
    """And the power of two that it is to be multiplied by."""
    field, tail = divmod(pattern & ~form.sign, 1 << form.precision - 1)
    return tail | bool(field) << form.precision - 1, max(field, 1) - 1 + form.least


def _moved(number: int, top: int) -> int:
    """With its highest bit there."""
    return number << top + 1 - number.bit_length()


def _number(digits: Sequence[int]) -> int:
    """Of the first digits; zeros follow."""
    return sum(digit << BITS * (COUNT - 1 - place) for place, digit in enumerate(digits))


def _are_right(dividend: int, divisor: int | None, scratch: Sequence[int]) -> bool:
    number = _number(scratch[::-1])
    step = 2 * number + 1 if divisor is None else divisor
    rest = dividend - number * (number if divisor is None else divisor)
    # What is compared is what the machine compares: the leading parts, with an eighth to spare.
    high = 2 * (number >> LIMB) if divisor is None else step >> LIMB
    return 0 <= rest < 1 << 3 * LIMB and 8 * (rest >> LIMB) <= 9 * high


def _next_digit(dividend: int, divisor: int | None, digits: Sequence[int]) -> int:
    count, number = len(digits), _number(digits)
    lost = BITS * (COUNT - 1 - count) + CUT
    limb = -(-lost // LIMB)
    if divisor is not None:
        rest, step = dividend - number * divisor, (divisor >> CUT) + 1
    elif count == 0:
        return math.isqrt(dividend >> A_TOP - 15)
    else:
        rest = dividend - number * number
        last_place = 2 << BITS * (COUNT - count) - CUT if count < 5 else 9
        leading = sum(digit << BITS * (3 - place) for place, digit in enumerate(digits[:4]))
        step = 2 * leading + last_place
    return ((rest >> LIMB * limb) << LIMB * limb - lost) // step
