"""What an expression may cost. Every bound is checked before the work that it bounds."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

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

    The most that each can be is what Python's own limits leave room for: digits of a number as
    text, functions in each other.
    """

    characters: int = field(default=256, metadata={"most": 4_000})
    steps: int = field(default=64, metadata={"most": 4_000})
    depth: int = field(default=20, metadata={"most": 100})
    exponent: int = field(default=1_024, metadata={"most": 100_000})
    decimal_exponent: int = field(default=308, metadata={"most": 4_000})
    bits: int = field(default=4_096, metadata={"most": 14_000})
    denominator_bits: int = field(default=1_024, metadata={"most": 14_000})
    printed: int = field(default=40, metadata={"most": 4_000})

    def __post_init__(self) -> None:
        for bound in fields(self):
            value, most = getattr(self, bound.name), bound.metadata["most"]
            if not 1 <= value <= most:
                raise UserError(f"{bound.name} = {value}: from 1 to {most:,}")
