"""An expression as a program for a stack."""

from __future__ import annotations

from typing import NamedTuple

from curta.delegate.calculator.exact import Rational
from curta.delegate.calculator.operations import Operation


class Apply(NamedTuple):
    """Take so many operands from the stack, and put the result there."""

    operation: Operation
    operands: int


Step = Rational | Apply
"""A number is put on the stack; a constant such as pi is an operation of nothing."""


class Program(NamedTuple):
    """Operands before operations, in the order in which they happen."""

    text: str
    steps: tuple[Step, ...]
    compares: bool
    """Whether the result is true or false rather than a number."""
