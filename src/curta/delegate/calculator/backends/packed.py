"""Many programs as flat arrays, for kernels that evaluate them in one go.

A step is a code of one byte: 0 puts the next number on the stack, k applies the k-th operation of
the table; beside it, how many operands that takes. Numbers are float64; one that is infinite is
out of range, and the program ends there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from curta.delegate.calculator.operations import NEVER_VANISHING, TABLE
from curta.delegate.calculator.program import Apply, Program, Push, Rational
from curta.errors import TooLongError

CODES = {operation.name: code for code, operation in enumerate(TABLE, start=1)}
VANISHING = bytes(operation.name not in NEVER_VANISHING for operation in TABLE)
"""Of each operation, whether its result may be 0 though no operand is."""

STACK = 64
"""Numbers on the stack of a kernel at most; a budget of 64 steps needs no more."""


FACTORIALS = tuple(float(math.factorial(n)) for n in range(171))
"""All that float64 has."""


class Status(IntEnum):
    """What became of an expression."""

    FINE = 0
    UNDEFINED = 1
    TOO_LARGE = 2


@dataclass(frozen=True)
class Packed:
    """Programs one behind the other; program i has steps[i]:steps[i + 1], and numbers alike."""

    codes: np.ndarray
    operands: np.ndarray
    numbers: np.ndarray
    first_step: np.ndarray
    first_number: np.ndarray

    @property
    def count(self) -> int:
        """How many programs there are."""
        return len(self.first_step) - 1


def pack(programs: Sequence[Program]) -> Packed:
    """All programs as arrays."""
    codes = bytearray()
    operands = bytearray()
    numbers: list[float] = []
    first_step, first_number = [0], [0]
    for program in programs:
        for step in steps_of(program):
            if isinstance(step, Push):
                codes.append(0)
                operands.append(0)
                numbers.append(as_double(step.number))
            else:
                codes.append(CODES[step.operation.name])
                operands.append(step.operands)
        first_step.append(len(codes))
        first_number.append(len(numbers))
    return Packed(
        np.frombuffer(bytes(codes), np.uint8),
        np.frombuffer(bytes(operands), np.uint8),
        np.array(numbers, np.float64),
        np.array(first_step, np.int64),
        np.array(first_number, np.int64),
    )


def too_long(program: Program) -> TooLongError | None:
    """The error that a program is for a stack of limited height, if it has too many steps."""
    steps = len(program.steps)
    if steps <= STACK:
        return None
    return TooLongError(f"{steps} numbers and operations: this backend takes {STACK} at most")


def steps_of(program: Program) -> tuple[Push | Apply, ...]:
    """The steps, or a number that no kernel takes if they are too many."""
    return program.steps if too_long(program) is None else (Push(math.inf),)


def as_double(number: Rational | float) -> float:
    """The nearest float64; infinite if the number is beyond the largest or the smallest."""
    try:
        near = float(number)
    except OverflowError:
        near = 0.0
    if near or not number:
        return near
    return math.inf if number > 0 else -math.inf
