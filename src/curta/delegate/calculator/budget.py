"""What an expression may cost. Every bound is checked before the work that it bounds."""

from __future__ import annotations

from dataclasses import dataclass

from curta.errors import UserError


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

    def __post_init__(self) -> None:
        for name, most in MOST.items():
            if not 1 <= getattr(self, name) <= most:
                raise UserError(f"{name} = {getattr(self, name)}: from 1 to {most:,}")


MOST = {
    "characters": 4_000,
    "steps": 4_000,
    "depth": 100,
    "exponent": 100_000,
    "decimal_exponent": 4_000,
    "bits": 14_000,
    "denominator_bits": 14_000,
    "printed": 4_000,
}
"""What Python's own limits leave room for: digits of a number as text, functions in each other."""
