"""What happens in a sum, a product, a quotient, a root or a number to be packed, from its exact
value: for coverage.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from curta.machine.wasm.floats import Format

Case = tuple[object, ...]
Exact = tuple[int, int]
"""(n, e): n * 2**e."""
DECISIONS = ("exact", "below half", "tie to even below", "tie to even above", "above half")


def exact(form: Format, pattern: int) -> Exact | None:
    """A finite float."""
    field = pattern >> form.precision - 1 & (form.infinity >> form.precision - 1)
    if field == form.infinity >> form.precision - 1:
        return None
    size = pattern & (1 << form.precision - 1) - 1
    size |= (1 << form.precision - 1) * (field > 0)
    return -size if pattern & form.sign else size, form.least + max(field, 1) - 1


def rounding(form: Format, number: int, power: int) -> tuple[str, str]:
    """How number * 2**power is rounded, and what becomes of it."""
    number = abs(number)
    last = max(power + number.bit_length() - form.precision, form.least)
    below = last - power
    if below <= 0:
        decision, cut, up = DECISIONS[0], number << -below, False
    else:
        cut, rest, half = number >> below, number % (1 << below), 1 << below - 1
        tie = "tie to even above" if cut % 2 else "tie to even below"
        decision = tie if rest == half else DECISIONS[4 if rest > half else 1 if rest else 0]
        up = decision in ("above half", "tie to even above")
    carried = up and (cut + 1) >> form.precision
    if last + carried > (form.infinity >> form.precision - 1) - 2 + form.least:
        return decision, "too large"
    if not cut + up:
        return decision, "zero"
    if cut + up < 1 << form.precision - 1:
        return decision, "subnormal"
    to_next = up and cut & cut + 1 == 0
    return decision, "carried to the next power" if to_next else "normal"


def of_sums(form: Format, x: Iterable[int], y: Iterable[int]) -> Iterator[Case]:
    for pattern, other in zip(x, y, strict=True):
        one, two = exact(form, pattern), exact(form, other)
        if one is None or two is None:
            continue
        power = min(one[1], two[1])
        total = (one[0] << one[1] - power) + (two[0] << two[1] - power)
        same = (pattern ^ other) & form.sign == 0
        yield "distance", same, min(abs(one[1] - two[1]), form.precision + 3)
        yield "limbs", same, one[1] >= two[1], min(abs(one[1] - two[1]) // 24, 4)
        if not total:
            yield "zero", same, bool(pattern & other & form.sign)
            continue
        highest = max(abs(n).bit_length() + e for n, e in (one, two))
        yield "moved", same, abs(total).bit_length() + power - highest
        yield ("rounded", same, *rounding(form, total, power))


def of_products(form: Format, x: Iterable[int], y: Iterable[int]) -> Iterator[Case]:
    for pattern, other in zip(x, y, strict=True):
        one, two = exact(form, pattern), exact(form, other)
        if one is None or two is None:
            continue
        product, power = one[0] * two[0], one[1] + two[1]
        small = sum(abs(n) < 1 << form.precision - 1 for n, _ in (one, two) if n)
        if not product:
            yield "zero", bool((pattern ^ other) & form.sign)
            continue
        how = rounding(form, product, power)
        yield "rounded", *how
        yield "subnormal operands", small
        length = abs(product).bit_length()
        yield "length", length
        if how[1] == "subnormal":
            yield "lost", form.least - (power + length - form.precision)


def of_packs(form: Format, numbers: Iterable[int], powers: Iterable[int]) -> Iterator[Case]:
    for number, power in zip(numbers, powers, strict=True):
        if number and abs(power) < 4000:
            how = rounding(form, number, power - 1075)
            yield "rounded", *how
            yield "length", number.bit_length(), how[1]
            yield "power", power


SEEN = 200
"""Bits of a quotient or a root that are looked at; of those below, whether there are any."""


def of_quotients(form: Format, x: Iterable[int], y: Iterable[int]) -> Iterator[Case]:
    for pattern, other in zip(x, y, strict=True):
        one, two = exact(form, pattern), exact(form, other)
        if one is None or two is None or not one[0] or not two[0]:
            continue
        number, rest = divmod(abs(one[0]) << SEEN, abs(two[0]))
        yield "subnormal operands", subnormal(form, one[0]) + 2 * subnormal(form, two[0])
        yield from of_results(form, number, rest, one[1] - two[1] - SEEN)


def of_roots(form: Format, x: Iterable[int]) -> Iterator[Case]:
    for pattern in x:
        one = exact(form, pattern)
        if one is None or one[0] <= 0:
            continue
        odd = one[1] % 2
        whole = one[0] << 2 * SEEN + odd
        number = math.isqrt(whole)
        yield "subnormal operands", subnormal(form, one[0])
        yield "odd exponent", odd
        yield from of_results(form, number, whole - number**2, (one[1] - odd) // 2 - SEEN)


def of_results(form: Format, number: int, rest: int, power: int) -> Iterator[Case]:
    """How it is rounded; how near to the middle it lies, and on which side."""
    number, power = 2 * number + (rest > 0), power - 1
    how = rounding(form, number, power)
    yield "rounded", *how
    below = number.bit_length() - form.precision
    if how[1] == "subnormal":
        below = form.least - power
        yield "lost", min(below - (number.bit_length() - form.precision), form.precision)
    away = number % (1 << below) - (1 << below - 1)
    if abs(away) >> below - form.precision + 8 == 0 and away:
        yield "next to the middle", away > 0, how[1]
    if how[1] == "normal" and how[0] != "exact":
        fraction = (number >> below) % (1 << form.precision - 1)
        yield (
            "next to a power",
            ("above", "between", "below")[
                (fraction > 2) + (fraction > (1 << form.precision - 1) - 3)
            ],
        )


def subnormal(form: Format, number: int) -> bool:
    return abs(number) < 1 << form.precision - 1
