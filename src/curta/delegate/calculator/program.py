"""An expression as a program for a stack."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from curta.delegate.calculator.operations import Operation

Rational = int | Fraction
"""Whole numbers are always ints, so that most arithmetic is that of ints."""


class Push(NamedTuple):
    """Put a number on the stack. A constant such as pi is a float, and not exact."""

    number: Rational | float


@dataclass(frozen=True, slots=True)
class Apply:
    """Take so many operands from the stack, and put the result there."""

    operation: Operation
    operands: int


class Program(NamedTuple):
    """Operands before operations, in the order in which they happen."""

    text: str
    steps: tuple[Push | Apply, ...]
    compares: bool
    """Whether the result is true or false rather than a number."""
