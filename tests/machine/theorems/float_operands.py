"""Operands as TestFloat draws them: every kind of exponent beside every kind of fraction.

A float is a sign, an exponent and a fraction, each drawn on its own. Exponents: all alike, near
that of 1, and at both ends of the range. Fractions are those of float_draws.
"""

from __future__ import annotations

import numpy as np
from specifications import Format

from float_draws import ONE, Words, fractions


def draw(form: Format, count: int, rng: np.random.Generator) -> Words:
    """`count` floats as bits."""
    sign = rng.integers(0, 2, count, np.uint64) << np.uint64(form.width - 1)
    exponent = draw_exponents(form, count, rng) << np.uint64(form.fraction)
    return sign | exponent | fractions(form.fraction, count, rng)


def draw_exponents(form: Format, count: int, rng: np.random.Generator) -> Words:
    top = (1 << form.exponent) - 1
    bias = top // 2
    near = rng.integers(bias - form.fraction - 4, bias + form.fraction + 4, count, np.int64)
    ends = np.array([0, 0, 0, 1, 2, top - 2, top - 1, top, bias, bias + 1])
    kinds = [
        rng.integers(0, top, count, np.int64, endpoint=True),
        np.clip(near, 0, top),
        rng.choice(ends, count),
    ]
    return np.choose(rng.choice(3, count, p=(0.4, 0.45, 0.15)), kinds).astype(np.uint64)


def draw_words(count: int, rng: np.random.Generator) -> Words:
    """Numbers of 64 bits of all lengths, with runs of ones; half of them as negative ones."""
    length = rng.integers(0, 64, count, np.uint64)
    numbers = fractions(63, count, rng) >> length
    negative = rng.integers(0, 4, count) == 0
    numbers[negative] = ~numbers[negative] + ONE
    return numbers


def draw_quotients(count: int, rng: np.random.Generator) -> tuple[Words, Words]:
    """Dividends at, just below and just above a multiple of the divisor."""
    divisor, quotient = draw_words(count, rng), draw_words(count, rng)
    offset = rng.integers(0, 3, count, np.uint64) - ONE
    return divisor * quotient + offset, divisor
