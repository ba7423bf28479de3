"""Expressions as PyTorch operations, on whatever device the model is.

Programs of one shape, which differ in their numbers only, are evaluated together. In float64, or
in float32 on devices that have no more.

**Precision.** As that of the batch kernel (kernel.py), with every operation within 4 units in the
last place of the type.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from curta.delegate.calculator.backends.packed import FACTORIALS, Status, as_double
from curta.delegate.calculator.operations import NEVER_VANISHING
from curta.delegate.calculator.program import Program, Push

Tensor = torch.Tensor

MOST_CHOSEN = 600
"""There are more than 2^1024 ways to choose 600 of 1,200."""


def evaluate(programs: Sequence[Program], device: torch.device) -> tuple[Tensor, Tensor]:
    """The value of each program, and its `Status`."""
    kind = torch.float32 if device.type == "mps" else torch.float64
    values = torch.zeros(len(programs), dtype=kind, device=device)
    statuses = torch.zeros(len(programs), dtype=torch.uint8, device=device)
    for group in alike(programs):
        which = torch.tensor(group, device=device)
        values[which], statuses[which] = together([programs[n] for n in group], kind, device)
    return values, statuses


def alike(programs: Sequence[Program]) -> list[list[int]]:
    """The programs by their shape: steps without the numbers."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for number, program in enumerate(programs):
        shape = tuple(None if isinstance(step, Push) else step for step in program.steps)
        groups.setdefault(shape, []).append(number)
    return list(groups.values())


def together(
    programs: Sequence[Program], kind: torch.dtype, device: torch.device
) -> tuple[Tensor, Tensor]:
    """Programs of one shape, step by step, each step for all of them."""
    stack: list[Tensor] = []
    undefined = torch.zeros(len(programs), dtype=torch.bool, device=device)
    large = undefined.clone()
    for steps in zip(*(program.steps for program in programs), strict=True):
        first = steps[0]
        if isinstance(first, Push):
            numbers = [as_double(step.number) for step in steps]
            value = torch.tensor(numbers, dtype=kind, device=device)
            large |= ~torch.isfinite(value) & ~undefined
            stack.append(torch.where(undefined | large, torch.zeros_like(value), value))
            continue
        operands = stack[-first.operands :]
        del stack[-first.operands :]
        name = first.operation.name
        if name in WITHOUT_VALUE:
            undefined |= WITHOUT_VALUE[name](*operands) & ~large
        value = COLUMN[name](*operands).to(kind)
        beyond = ~torch.isfinite(value)
        if name in NEVER_VANISHING:
            beyond |= (value == 0) & torch.stack(operands).ne(0).all(dim=0)
        large |= beyond & ~undefined
        stack.append(torch.where(undefined | large, torch.zeros_like(value), value))
    status = torch.where(undefined, int(Status.UNDEFINED), int(Status.FINE))
    return stack[0], torch.where(large, int(Status.TOO_LARGE), status).to(torch.uint8)


def whole(*values: Tensor) -> Tensor:
    """Where all of them are whole."""
    return torch.stack([value == value.floor() for value in values]).all(dim=0)


def natural(*values: Tensor) -> Tensor:
    """Where all of them are whole and not negative."""
    return whole(*values) & torch.stack([value >= 0 for value in values]).all(dim=0)


def factorial(value: Tensor) -> Tensor:
    """From a table, as far as float64 goes."""
    table = torch.tensor(FACTORIALS, dtype=value.dtype, device=value.device)
    most = len(FACTORIALS) - 1
    return torch.where(value <= most, table[value.clamp(0, most).long()], math.inf)


def choose(n: Tensor, k: Tensor) -> Tensor:
    smaller = torch.minimum(k, n - k)
    result = torch.ones_like(n)
    for i in range(1, most_factors(smaller) + 1):
        result = torch.where(i <= smaller, result * (n - smaller + i) / i, result)
    result = torch.where(smaller > MOST_CHOSEN, math.inf, result.round())
    return torch.where(k > n, torch.zeros_like(result), result)


def most_factors(counts: Tensor) -> int:
    """The longest of several products; those with more than MOST_CHOSEN are infinite anyway."""
    return int(counts.clamp(0, MOST_CHOSEN).max()) if counts.numel() else 0


def arrange(n: Tensor, k: Tensor) -> Tensor:
    result = torch.ones_like(n)
    for i in range(min(most_factors(k), 171)):
        result = torch.where(i < k, result * (n - i), result)
    result = torch.where((k > 171) & (k <= n), math.inf, result)
    return torch.where(k > n, torch.zeros_like(result), result)


def divisor(*values: Tensor) -> Tensor:
    found = values[0].abs()
    for value in values[1:]:
        a, b = found, value.abs()
        while bool((b > 0).any()):  # never of nan, which remains of inf
            a, b = torch.where(b > 0, b, a), torch.where(b > 0, torch.fmod(a, b), b)
        found = a
    return found


def multiple(*values: Tensor) -> Tensor:
    found = values[0].abs()
    for value in values[1:]:
        common = divisor(found, value)
        found = torch.where(common == 0, 0.0, (found / common * value).abs())
    return found


def rounded(value: Tensor, places: Tensor | None = None) -> Tensor:
    if places is None:
        return value.round()
    unit = 10.0**places
    scaled = value * unit
    return torch.where(torch.isfinite(scaled), scaled.round() / unit, value)


def cube_root(value: Tensor) -> Tensor:
    """A power is near; a step of Newton's method takes away the error of writing a third."""
    near = value.sign() * value.abs() ** (1 / 3)
    return torch.where(near == 0, near, near - (near - value / (near * near)) / 3)


def logarithm(value: Tensor, base: Tensor | None = None) -> Tensor:
    return value.log() if base is None else value.log() / base.log()


def logarithm_missing(value: Tensor, base: Tensor | None = None) -> Tensor:
    missing = value <= 0
    return missing if base is None else missing | (base <= 0) | (base == 1)


def stacked(reduce: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    """A function of any number of operands."""
    return lambda *operands: reduce(torch.stack(operands))


COLUMN: dict[str, Callable[..., Tensor]] = {
    "add": torch.add,
    "subtract": torch.sub,
    "multiply": torch.mul,
    "divide": torch.div,
    "floor_divide": torch.floor_divide,
    "modulo": torch.remainder,
    "power": torch.pow,
    "negate": torch.neg,
    "percent": lambda value: value / 100,
    "less": torch.lt,
    "at_most": torch.le,
    "greater": torch.gt,
    "at_least": torch.ge,
    "equal": torch.eq,
    "unequal": torch.ne,
    "sqrt": torch.sqrt,
    "cbrt": cube_root,
    "exp": torch.exp,
    "ln": torch.log,
    "log": logarithm,
    "log2": torch.log2,
    "log10": torch.log10,
    "sin": torch.sin,
    "cos": torch.cos,
    "tan": torch.tan,
    "asin": torch.asin,
    "acos": torch.acos,
    "atan": torch.atan,
    "degrees": torch.rad2deg,
    "radians": torch.deg2rad,
    "abs": torch.abs,
    "sign": torch.sign,
    "floor": torch.floor,
    "ceil": torch.ceil,
    "trunc": torch.trunc,
    "round": rounded,
    "factorial": factorial,
    "comb": choose,
    "perm": arrange,
    "gcd": divisor,
    "lcm": multiple,
    "min": stacked(lambda values: values.amin(dim=0)),
    "max": stacked(lambda values: values.amax(dim=0)),
    "sum": stacked(lambda values: values.sum(dim=0)),
    "mean": stacked(lambda values: values.mean(dim=0)),
}
"""What each operation of the table does."""

WITHOUT_VALUE: dict[str, Callable[..., Tensor]] = {
    "divide": lambda a, b: b == 0,
    "floor_divide": lambda a, b: b == 0,
    "modulo": lambda a, b: b == 0,
    "power": lambda a, b: ((a == 0) & (b < 0)) | ((a < 0) & ~whole(b)),
    "sqrt": lambda value: value < 0,
    "ln": logarithm_missing,
    "log": logarithm_missing,
    "log2": logarithm_missing,
    "log10": logarithm_missing,
    "asin": lambda value: value.abs() > 1,
    "acos": lambda value: value.abs() > 1,
    "round": lambda value, places=None: ~whole(places) if places is not None else value != value,
    "factorial": lambda value: ~natural(value),
    "comb": lambda n, k: ~natural(n, k),
    "perm": lambda n, k: ~natural(n, k),
    "gcd": lambda *values: ~whole(*values),
    "lcm": lambda *values: ~whole(*values),
}
"""Where an operation has no value."""
