"""What an expression may cost. Every bound is checked before the work that it bounds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Budget:
    """Bounds on one expression.

    characters:  of its text
    steps:       numbers and operations
    depth:       of parentheses, powers and calls in each other
    exponent:    of a power
    decimal_exponent: of a number such as 2e10, either way
    bits:        of a whole number or numerator
    denominator_bits: of a denominator
    printed:     characters of a printed result; longer ones are rounded
    """

    characters: int = 256
    steps: int = 64
    depth: int = 20
    exponent: int = 1_024
    decimal_exponent: int = 308
    bits: int = 4_096
    denominator_bits: int = 1_024
    printed: int = 40
