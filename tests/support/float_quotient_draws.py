"""Operands whose quotients and roots are hard to round: at the middle between two floats, or next
to it; exact; subnormal; next to a power of two; with digits of all ones.

A quotient q is made first: of significands a and b with a * 2**n = q * b + r and a small r, the
quotient lies next to q, which has one bit more than there is room for.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from curta.machine.wasm.floats import Format
from tests.support.float_draws import (
    Pair,
    Random,
    Words,
    exponents,
    fractions,
    made,
    pairs,
    short,
    singly,
    top,
)

Significands = tuple[int, int]


def drawn_number(bits: int, rng: Random) -> int:
    """Of so many bits, any or one of those that fractions are."""
    return 1 << bits - 1 | int(fractions(bits - 1, 1, rng)[0])


def beside_the_middle(form: Format, rng: Random) -> Significands:
    """q from its lowest bits on: those that let b divide all but a small rest."""
    precision, b = form.precision, drawn_number(form.precision, rng) | 1
    rest = int(rng.integers(-40, 41)) * 2 + 1
    q = 1 << precision | -rest * pow(b, -1, 1 << precision) % (1 << precision)
    return (q * b + rest) >> precision, b


def made_of_a_quotient(form: Format, rng: Random) -> Significands:
    """What has all ones, or a few bits only, at the places of some digits."""
    b, q = (drawn_number(form.precision, rng) for _ in range(2))
    return (q * b >> form.precision - 1) + int(rng.integers(0, 2)), b


def next_to_a_power(form: Format, rng: Random) -> Significands:
    b = drawn_number(form.precision, rng)
    return b + int(rng.integers(-3, 4)), b


QUOTIENTS: tuple[Callable[[Format, Random], Significands], ...] = (
    beside_the_middle,
    made_of_a_quotient,
    next_to_a_power,
)


def fraction_of(form: Format, significand: int) -> int:
    """With its highest bit moved to where it is hidden."""
    up = form.precision - significand.bit_length()
    return (significand << up if up > 0 else significand >> -up) % (1 << form.precision - 1)


def quotients(form: Format, count: int, rng: Random) -> Pair:
    """Also exact ones, whose exponents make them subnormal: ties at every place; and all others."""
    table = [QUOTIENTS[n % 3](form, rng) for n in range(count)]
    first, second = (
        np.array([fraction_of(form, one[side]) for one in table], np.uint64) for side in range(2)
    )
    field, bias = exponents(form, count, rng), top(form) // 2
    near = field + rng.integers(-form.precision, form.precision, count)
    small = field + bias + rng.integers(-3, form.precision + 4, count)
    large = field - bias + rng.integers(-3, 4, count)
    other = np.choose(rng.integers(0, 3, count), [near, small, large])
    hard = made(form, field, first, rng), made(form, other, second, rng)
    drawn = [hard, exact(form, count, rng), pairs(form, count, rng)]
    kind = rng.integers(0, 3, count)
    return tuple(np.choose(kind, [one[side] for one in drawn]) for side in range(2))  # type: ignore[return-value]


def exact(form: Format, count: int, rng: Random) -> Pair:
    """b and its product with a number of few bits, or something small besides."""
    bits, bias = form.precision - 1, top(form) // 2
    second, factor = short(form, count, rng)
    mask = np.uint64((1 << bits) - 1)
    few = rng.integers(0, form.precision, count, np.uint64)
    parts = [(one & mask) | np.uint64(1 << bits) for one in (second, factor)]
    keep = [one.tolist() for one in (*parts, few)]
    whole = [a * (b >> n << n) for a, b, n in zip(*keep, strict=True)]
    fraction = np.array([fraction_of(form, n) for n in whole], np.uint64)
    field = rng.integers(1, bias, count)
    other = np.where(
        rng.integers(0, 2, count) == 1,
        field + bias + rng.integers(-2, form.precision + 3, count),
        exponents(form, count, rng),
    )
    return made(form, field, fraction, rng), made(form, other, parts[0] & mask, rng)


# -- roots ----------------------------------------------------------------------------------------


def root_modulo(number: int, bits: int) -> int:
    """Of a number that is 1 modulo 8: s * s is the same modulo 2**bits."""
    root = 1
    for n in range(3, bits):
        root |= ((root * root - number) >> n & 1) << n - 1
    return root


def root_beside_the_middle(form: Format, rng: Random) -> int:
    """M, twice the middle, with M * M = r modulo a power of two, for a small r: then x, M * M - r
    without these zeros, has a root next to it."""
    rest = 8 * int(rng.integers(-60, 60)) + 1
    bits = form.precision + 1 + int(rng.integers(0, 2))
    root = root_modulo(rest, bits + 1) * int(rng.choice([-1, 1])) % (1 << bits)
    return abs(root * root - rest) >> bits


def square(form: Format, rng: Random) -> int:
    """Of half as many bits, or a little besides."""
    root = drawn_number(int(rng.integers(2, form.precision // 2)), rng)
    wide = root * root << int(rng.integers(0, 2))
    up = form.precision - wide.bit_length()
    return (wide << up) + int(rng.integers(-1, 2))


def square_of_a_float(form: Format, rng: Random) -> int:
    """Cut off: the root is next to a float whose digits are of all kinds."""
    return drawn_number(form.precision, rng) ** 2


def square_with_a_large_digit(form: Format, rng: Random) -> int:
    """Of the digits in base 128 the second comes out too small, so that the third is above 128; and
    what is missing then is next to a whole number of these."""
    first, second = int(rng.integers(128, 140)), int(rng.integers(50, 80))
    third = int(rng.integers(0, 16))
    beside = int(rng.integers(-600, 600))
    return (((first * 128 + second) * 128 + third << 20) + beside) ** 2


ROOTS: tuple[Callable[[Format, Random], int], ...] = (
    root_beside_the_middle,
    square,
    square_of_a_float,
    square_with_a_large_digit,
)


def roots(form: Format, count: int, rng: Random) -> Words:
    """Most of them positive."""
    table = [max(ROOTS[n % 4](form, rng), 1) for n in range(count)]
    fraction = np.array([fraction_of(form, n) for n in table], np.uint64)
    hard = made(form, exponents(form, count, rng), fraction, rng)
    positive = [number & np.uint64(form.sign - 1) for number in (hard, singly(form, count, rng))]
    others, _ = pairs(form, count, rng)
    found: Words = np.choose(rng.choice(3, count, p=(0.6, 0.3, 0.1)), [*positive, others])
    return found
