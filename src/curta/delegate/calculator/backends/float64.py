"""Float64: compiled code, and PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from curta.delegate.calculator.backends import Outcome
from curta.delegate.calculator.backends.packed import Packed, Status, pack, too_long
from curta.delegate.calculator.program import Program
from curta.errors import CalculatorError, TooLargeError, UndefinedError


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
