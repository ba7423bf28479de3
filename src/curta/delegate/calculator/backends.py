"""Who computes: one interface, several ways.

exact   rationals; the definition
torch   PyTorch operations on a device, float64
kernel  compiled code, many expressions in one call, float64
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from curta.delegate.calculator.budget import Budget
from curta.delegate.calculator.exact import Arithmetic, Value
from curta.delegate.calculator.packed import Status, pack
from curta.delegate.calculator.program import Program
from curta.errors import CalculatorError, TooLargeError, UndefinedError

Outcome = Value | CalculatorError


class Backend(Protocol):
    """Evaluates programs, several at once; each has a value or an error."""

    name: str

    def evaluate(self, programs: Sequence[Program]) -> list[Outcome]:
        """The outcome of each program."""
        ...


class Exact:
    """One after the other, exactly."""

    name = "exact"

    def __init__(self, budget: Budget) -> None:
        self.arithmetic = Arithmetic(budget)

    def evaluate(self, programs: Sequence[Program]) -> list[Outcome]:
        return [self.outcome(program) for program in programs]

    def outcome(self, program: Program) -> Outcome:
        try:
            return self.arithmetic.evaluate(program)
        except CalculatorError as error:
            return error


class Kernel:
    """All in one call of compiled code."""

    name = "kernel"

    def evaluate(self, programs: Sequence[Program]) -> list[Outcome]:
        from curta.delegate.calculator import kernel

        values, statuses = kernel.evaluate(pack(programs))
        return outcomes(programs, values, statuses)


class Tensors:
    """PyTorch operations on a device; on the CPU if none is given."""

    name = "torch"

    def __init__(self, device: Any = "cpu") -> None:
        self.device = device

    def evaluate(self, programs: Sequence[Program]) -> list[Outcome]:
        import torch

        from curta.delegate.calculator import tensors

        values, statuses = tensors.evaluate(programs, torch.device(self.device))
        return outcomes(programs, values.cpu().double().numpy(), statuses.cpu().numpy())


def outcomes(
    programs: Sequence[Program], values: np.ndarray, statuses: np.ndarray
) -> list[Outcome]:
    """Floats as what they stand for."""
    return [
        outcome(program, float(value), Status(int(status)))
        for program, value, status in zip(programs, values, statuses, strict=True)
    ]


def outcome(program: Program, value: float, status: Status) -> Outcome:
    """One of them."""
    if status == Status.UNDEFINED:
        return UndefinedError("the expression has no real value")
    if status == Status.TOO_LARGE:
        return TooLargeError("the result is beyond the largest float64")
    return bool(value) if program.compares else value


def backend(name: str, budget: Budget, device: Any = None) -> Backend:
    """The backend of this name."""
    if name == "exact":
        return Exact(budget)
    if name == "kernel":
        return Kernel()
    if name == "torch":
        return Tensors(device or "cpu")
    raise CalculatorError(f"no backend is called {name!r}: exact, torch or kernel")
