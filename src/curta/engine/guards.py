"""Promises, checked on the residual stream (levels plain and hull)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from curta.compiler.model import Model
from curta.engine.base import Residuals, broken_promise


@dataclass(frozen=True, slots=True)
class Guard:
    """A sum of slots in one period, and the interval it has to stay in."""

    name: str
    period: int
    slots: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float64]
    low: float
    high: float


def guards_of(model: Model) -> tuple[Guard, ...]:
    return tuple(
        Guard(
            guard["name"],
            guard["period"],
            np.array([slot for slot, _ in guard["terms"]], dtype=np.int64),
            np.array([weight for _, weight in guard["terms"]], dtype=np.float64),
            guard["low"],
            guard["high"],
        )
        for guard in model.plan["guards"]
    )


def check_guards(guards: tuple[Guard, ...], residuals: Residuals, first: int) -> None:
    """Stop at the first position of a residual stream [position, period, slot] that breaks one."""
    broken: list[tuple[int, Guard, float]] = []
    for guard in guards:
        values = residuals[:, guard.period, guard.slots] @ guard.weights
        wrong = np.flatnonzero((values < guard.low) | (values > guard.high))
        if len(wrong):
            broken.append((int(wrong[0]), guard, float(values[wrong[0]])))
    if broken:
        place, guard, value = min(broken, key=lambda found: found[0])
        raise broken_promise(guard.name, first + place, f"{value:.17g}", guard.low, guard.high)
