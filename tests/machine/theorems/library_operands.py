"""Operands of integers of 64 bits for quotients and products."""

from __future__ import annotations

import numpy as np

from tests.support.float_draws import ONE, Words, fractions


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
