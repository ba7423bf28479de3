"""Who computes: one interface, several ways.

exact    rationals; the definition
torch    PyTorch operations on a device, float64
kernel   compiled code, many expressions in one call, float64; on a GPU, one launch
machine  a calculator program that the transformer executes; rationals only
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from curta.delegate.calculator.backends.packed import Packed, Status, pack, too_long
from curta.delegate.calculator.budget import Budget
from curta.delegate.calculator.exact import Arithmetic, Value
from curta.delegate.calculator.program import Program
from curta.errors import CalculatorError, TooLargeError, UndefinedError

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


class Kernel:
    """All in one call of compiled code; in one launch if the device is a GPU."""

    name = "kernel"

    def __init__(self, device: Any = "cpu") -> None:
        self.device = device

    def evaluate(self, programs: Sequence[Program]) -> list[Outcome]:
        values, statuses = self.run(pack(programs))
        found = outcomes(values, statuses)
        return [too_long(program) or each for program, each in zip(programs, found, strict=True)]

    def run(self, packed: Packed) -> tuple[np.ndarray, np.ndarray]:
        """Values and statuses of programs that are packed already."""
        if str(self.device).partition(":")[0] == "cuda":
            try:
                from curta.delegate.calculator.backends import triton_kernel
            except ImportError as error:
                raise CalculatorError(
                    f"the kernel on device {self.device} needs triton and PyTorch ({error}): "
                    "pip install triton torch, or take device cpu"
                ) from error
            return triton_kernel.evaluate(packed, self.device)
        from curta.delegate.calculator.backends import kernel

        return kernel.evaluate(packed)


class Tensors:
    """PyTorch operations on a device; on the CPU if none is given."""

    name = "torch"

    def __init__(self, device: Any = "cpu") -> None:
        self.device = device

    def evaluate(self, programs: Sequence[Program]) -> list[Outcome]:
        import torch

        from curta.delegate.calculator.backends import tensors

        try:
            device = torch.device(self.device)
            torch.zeros(1, device=device)
        except (AssertionError, RuntimeError) as error:  # PyTorch's own: not built for it, or none
            raise CalculatorError(
                f"device {self.device}: PyTorch has none ({str(error).splitlines()[0]}); "
                "take device cpu"
            ) from error
        values, statuses = tensors.evaluate(programs, device)
        return outcomes(values.cpu().double().numpy(), statuses.cpu().numpy())


def outcomes(values: np.ndarray, statuses: np.ndarray) -> list[Outcome]:
    """Floats as what they stand for."""
    return [
        outcome(float(value), Status(int(status)))
        for value, status in zip(values, statuses, strict=True)
    ]


def outcome(value: float, status: Status) -> Outcome:
    """One of them."""
    if status == Status.UNDEFINED:
        return UndefinedError("the expression has no real value")
    if status == Status.TOO_LARGE:
        return TooLargeError("a number on the way to the result is beyond what float64 has")
    return value


def backend(name: str, budget: Budget, device: Any = None) -> Backend:
    """The backend of this name; kernel and torch compute on the device, others on the CPU."""
    if name == "exact":
        return Exact(budget)
    if name in ("kernel", "torch"):
        made = Kernel(device or "cpu") if name == "kernel" else Tensors(device or "cpu")
        if device is not None:
            made.evaluate([])  # what is wrong with it is said now, and not to a model as an answer
        return made
    if name == "machine":
        from curta.delegate.calculator.backends.machine import Machine

        return Machine(budget)
    raise CalculatorError(f"no backend is called {name!r}: {', '.join(NAMES)}")
