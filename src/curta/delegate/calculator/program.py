"""An expression as a program for a stack."""

from __future__ import annotations

from typing import NamedTuple

from curta.delegate.calculator.exact import Number
from curta.delegate.calculator.operations import Operation


class Apply(NamedTuple):
    """Take so many operands from the stack, and put the result there."""

    operation: Operation
    operands: int


Step = Number | Apply
"""A number is put on the stack. A constant such as pi is a float, and not exact."""


class Program(NamedTuple):
    """Operands before operations, in the order in which they happen."""

    text: str
    steps: tuple[Step, ...]
    compares: bool
    """Whether the result is true or false rather than a number."""
