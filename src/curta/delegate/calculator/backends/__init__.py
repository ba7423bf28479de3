"""Who computes: one interface, several ways.

exact    rationals; the definition
torch    PyTorch operations on a device, float64
kernel   compiled code, many expressions in one call, float64; on a GPU, one launch
machine  a calculator program that the transformer executes; rationals only
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from curta.delegate.calculator.budget import Budget
from curta.delegate.calculator.exact import Arithmetic, Value
from curta.delegate.calculator.program import Program
from curta.errors import CalculatorError, TooLargeError

Outcome = Value | CalculatorError

NAMES = ("exact", "torch", "kernel", "machine")


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
        except ArithmeticError as error:  # no bound foresaw it: still nothing but an error of ours
            return TooLargeError(f"a number on the way to the result is out of range: {error}")


def backend(name: str, budget: Budget, device: Any = None) -> Backend:
    """The backend of this name; kernel and torch compute on the device, others on the CPU."""
    if name == "exact":
        return Exact(budget)
    if name in ("kernel", "torch"):
        from curta.delegate.calculator.backends.float64 import Kernel, Tensors

        made = Kernel(device or "cpu") if name == "kernel" else Tensors(device or "cpu")
        if device is not None:
            made.evaluate([])  # what is wrong with it is said now, and not to a model as an answer
        return made
    if name == "machine":
        from curta.delegate.calculator.backends.machine import Machine

        return Machine(budget)
    raise CalculatorError(f"no backend is called {name!r}: {', '.join(NAMES)}")
