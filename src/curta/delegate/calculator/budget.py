"""What an expression may cost. Every bound is checked before the work that it bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from curta.delegate.checked import Checked, within


@dataclass(frozen=True)
class Budget(Checked):
    """Bounds on one expression.

    characters:  of its text
    steps:       numbers and operations
    depth:       of parentheses, powers and calls in each other
    exponent:    of a power
    decimal_exponent: of a number such as 2e10, either way
    bits:        of a whole number or numerator
    denominator_bits: of a denominator
    printed:     characters of a printed result; longer ones are rounded

    The most that each can be is what Python's own limits leave room for: digits of a number as
    text, functions in each other.
    """

    characters: Annotated[int, within(1, 4_000)] = 256
    steps: Annotated[int, within(1, 4_000)] = 64
    depth: Annotated[int, within(1, 100)] = 20
    exponent: Annotated[int, within(1, 100_000)] = 1_024
    decimal_exponent: Annotated[int, within(1, 4_000)] = 308
    bits: Annotated[int, within(1, 14_000)] = 4_096
    denominator_bits: Annotated[int, within(1, 14_000)] = 1_024
    printed: Annotated[int, within(1, 4_000)] = 40
