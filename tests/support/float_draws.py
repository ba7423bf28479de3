"""Operands of floats drawn so that what is rare happens: ties, carries, cancellation, both ends.

Uniform bits almost never meet: of two such doubles the exponents are hundreds apart. So pairs are
drawn together, each kind for a case of adding, multiplying or comparing (`PAIRS`). Patterns of both
formats are arrays of np.uint64. That the cases occur is measured by `coverage` in test_float_graph.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from curta.machine.wasm.floats import Format

Words = npt.NDArray[np.uint64]
Random = np.random.Generator
Pair = tuple[Words, Words]
ONE = np.uint64(1)


def fractions(bits: int, count: int, rng: Random) -> Words:
    """All alike; and where carries run far and ties lie: a few bits at the top, a run of ones, one
    bit, all but one; each a place up or down too."""
    mask = np.uint64((1 << bits) - 1)
    uniform = rng.integers(0, 1 << bits, count, np.uint64)
    high, low = (rng.integers(0, bits, count, np.uint64) for _ in range(2))
    run = (mask << high) ^ (mask << low)
    kinds = [
        uniform,
        uniform & (mask << low),
        run,
        (ONE << high) | (ONE << low),
        ~(ONE << high),
        (ONE << high) - (ONE << low),
    ]
    fraction = np.choose(rng.integers(0, len(kinds), count), kinds)
    offset = rng.integers(0, 3, count, np.uint64) - ONE
    offset[rng.integers(0, 2, count) == 0] = 0
    drawn: Words = (fraction + offset) & mask
    return drawn


def top(form: Format) -> int:
    """The exponent field of infinity."""
    return form.infinity >> form.precision - 1


def made(form: Format, exponents: npt.NDArray[np.int64], fraction: Words, rng: Random) -> Words:
    """Of exponent fields, cut to those of finite numbers; any sign."""
    field = np.clip(exponents, 0, top(form) - 1).astype(np.uint64)
    sign = rng.integers(0, 2, len(field), np.uint64) << np.uint64(form.bits - 1)
    return sign | field << np.uint64(form.precision - 1) | fraction


def exponents(form: Format, count: int, rng: Random) -> npt.NDArray[np.int64]:
    """Anywhere, at both ends, and about 1."""
    end = rng.integers(0, 3, count)
    middle = rng.integers(-form.precision, form.precision, count) + top(form) // 2
    kinds = [rng.integers(0, top(form), count), end, top(form) - 1 - end, middle]
    return np.choose(rng.integers(0, len(kinds), count), kinds)


def singly(form: Format, count: int, rng: Random) -> Words:
    return made(form, exponents(form, count, rng), fractions(form.precision - 1, count, rng), rng)


def near(form: Format, count: int, rng: Random) -> Pair:
    """Exponents at every distance that leaves the smaller one seen, and a little further."""
    first, reach = exponents(form, count, rng), form.precision + 4
    second = first + rng.integers(-reach, reach + 1, count)
    bits = form.precision - 1
    return tuple(made(form, field, fractions(bits, count, rng), rng) for field in (first, second))  # type: ignore[return-value]


def alike(form: Format, count: int, rng: Random) -> Pair:
    """A difference of any length: what cancels ends at every place."""
    first = singly(form, count, rng)
    length = rng.integers(0, form.precision, count, np.uint64)
    difference = fractions(form.precision, count, rng) >> length
    second = np.where(rng.integers(0, 2, count) == 1, first + difference, first - difference)
    second ^= rng.integers(0, 2, count, np.uint64) << np.uint64(form.bits - 1)
    mask = np.uint64(2 * form.sign - 1)
    return first, second & mask


def tied(form: Format, count: int, rng: Random) -> Pair:
    """The second one's last bit lies next below the last place of the first one, or beside that."""
    bits = form.precision - 1
    distance = rng.integers(1, form.precision + 2, count)
    first = rng.integers(form.precision + 2, top(form), count)
    last = np.uint64(1) << (distance - 1).astype(np.uint64)
    fraction = fractions(bits, count, rng) & ~(last - ONE) | last
    beside = rng.integers(0, 4, count)
    fraction = fraction + (beside == 1).astype(np.uint64) - (beside == 2).astype(np.uint64)
    fraction &= np.uint64((1 << bits) - 1)
    # Below a power of two there is a bit more room.
    above = np.where(rng.integers(0, 4, count) == 0, np.uint64(0), fractions(bits, count, rng))
    return made(form, first, above, rng), made(form, first - distance, fraction, rng)


def short(form: Format, count: int, rng: Random) -> Pair:
    """Significands whose product has a bit more than there is room for: ties, and exact ones."""
    bits = form.precision - 1
    length = rng.integers(1, form.precision, count)
    other = np.clip(form.precision + rng.integers(-1, 3, count) - length, 1, form.precision)
    pair = []
    for size in (length, other):
        left = (form.precision - size).astype(np.uint64)
        fraction = (fractions(bits, count, rng) >> left | ONE) << left
        pair.append(fraction & np.uint64((1 << bits) - 1))
    first = exponents(form, count, rng)
    second = 2 * (top(form) // 2) - first + rng.integers(-form.precision, form.precision, count)
    return made(form, first, pair[0], rng), made(form, second, pair[1], rng)


def at_the_ends(form: Format, count: int, rng: Random) -> Pair:
    """Products about the smallest and the largest numbers, and sums that are just too large."""
    bits, bias, most = form.precision - 1, top(form) // 2, top(form)
    first = rng.integers(0, most, count)
    small = bias - first + rng.integers(-form.precision - 3, 4, count)
    large = bias + most - first + rng.integers(-3, 2, count)
    largest = rng.integers(most - 1, most, count)
    choice = rng.integers(0, 3, count)
    first = np.where(choice == 2, largest, first)
    second = np.choose(choice, [small, large, largest - rng.integers(0, form.precision + 2, count)])
    return tuple(made(form, field, fractions(bits, count, rng), rng) for field in (first, second))  # type: ignore[return-value]


def products_at_the_end(form: Format, count: int, rng: Random) -> Pair:
    """Subnormal products, with few bits besides: ties at every place that is left."""
    first, second = short(form, count, rng)
    powers_of_two = rng.integers(0, 4, count) == 0
    first, second = (
        np.where(powers_of_two, one & ~np.uint64((1 << form.precision - 1) - 1), one)
        for one in (first, second)
    )
    field = np.uint64(top(form)) << np.uint64(form.precision - 1)
    place = rng.integers(1, top(form) // 2, count)
    other = top(form) // 2 - place + rng.integers(-form.precision - 2, 2, count)
    parts = [
        one & ~field
        | np.clip(at, 0, top(form) - 1).astype(np.uint64) << np.uint64(form.precision - 1)
        for one, at in ((first, place), (second, other))
    ]
    return parts[0], parts[1]


def specials(form: Format) -> Words:
    """Zeros (more than once), infinities, the smallest and largest numbers, NaNs with payloads."""
    bits = form.precision - 1
    hidden, quiet = 1 << bits, 1 << bits - 1
    low = [0, 0, 0, 0, 1, 2, hidden - 1, hidden, hidden + 1, form.infinity - 1, form.infinity - 2]
    one = top(form) // 2 << bits
    low += [one - 1, one, one + 1, one + (bits << bits), one + (bits + 1 << bits)]
    payloads = [1, 5, quiet - 1, quiet, quiet + 1, hidden - 1, 1 << 29, (1 << 29) - 1, 3 << 28]
    low += [form.infinity] + [form.infinity | p % hidden or 1 for p in payloads]
    return np.array([*low, *(pattern | form.sign for pattern in low)], np.uint64)


def special(form: Format, count: int, rng: Random) -> Pair:
    """One of them, or both."""
    table = specials(form)
    first, second = singly(form, count, rng), singly(form, count, rng)
    choice = rng.integers(0, 3, count)
    first = np.where(choice != 0, rng.choice(table, count), first)
    second = np.where(choice != 1, rng.choice(table, count), second)
    return first, second


def apart(form: Format, count: int, rng: Random) -> Pair:
    """Any bits."""
    most = 2 * form.sign - 1
    return tuple(rng.integers(0, most, count, np.uint64, endpoint=True) for _ in range(2))  # type: ignore[return-value]


PAIRS: dict[str, Callable[[Format, int, Random], Pair]] = {
    "near": near,
    "alike": alike,
    "tied": tied,
    "short": short,
    "at_the_ends": at_the_ends,
    "products_at_the_end": products_at_the_end,
    "special": special,
    "apart": apart,
}


def pairs(form: Format, count: int, rng: Random) -> Pair:
    """Of all kinds; half of them the other way round."""
    drawn = [draw(form, count, rng) for draw in PAIRS.values()]
    kind, turned = rng.integers(0, len(drawn), count), rng.integers(0, 2, count) == 1
    first, second = (np.choose(kind, [one[side] for one in drawn]) for side in range(2))
    return np.where(turned, second, first), np.where(turned, first, second)


def numbers(count: int, rng: Random) -> Words:
    """Whole numbers of 64 bits of every length, whose bits end at every place."""
    length = rng.integers(0, 64, count, np.uint64)
    drawn = (fractions(63, count, rng) << ONE | rng.integers(0, 2, count, np.uint64)) >> length
    place = rng.integers(0, 64, count, np.uint64)
    kept = np.where(rng.integers(0, 2, count) == 1, drawn, drawn & ~((ONE << place) - ONE))
    found: Words = kept | np.where(rng.integers(0, 8, count) == 0, ONE << place, np.uint64(0))
    return found


def powers(count: int, rng: Random) -> npt.NDArray[np.int64]:
    """Signed exponents for `pack`: all that give numbers of either format, and further ones."""
    kinds = [
        rng.integers(-70, 2110, count),
        rng.integers(850, 1280, count),
        rng.integers(-80, 70, count),
        rng.integers(2000, 2110, count),
        rng.integers(-5000, 7000, count),
        rng.integers(-(2**31), 2**31, count),
    ]
    return np.choose(rng.choice(len(kinds), count, p=(0.3, 0.25, 0.2, 0.15, 0.05, 0.05)), kinds)


def wide_singles(count: int, rng: Random) -> Words:
    """Doubles about the numbers of 32 bits: halfway between two of these, and beside that."""
    field = rng.integers(1023 - 127 - 30, 1023 + 130, count)
    bits = fractions(52, count, rng)
    place = rng.integers(20, 52, count, np.uint64)
    kept = np.where(rng.integers(0, 2, count) == 1, bits, bits & ~((ONE << place) - ONE))
    fraction = kept | np.where(rng.integers(0, 2, count) == 1, ONE << place, np.uint64(0))
    beside = rng.integers(0, 4, count)
    fraction = fraction + (beside == 1).astype(np.uint64) - (beside == 2).astype(np.uint64)
    fraction &= np.uint64((1 << 52) - 1)
    sign = rng.integers(0, 2, count, np.uint64) << np.uint64(63)
    found: Words = sign | field.astype(np.uint64) << np.uint64(52) | fraction
    return found
