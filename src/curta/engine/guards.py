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


class GuardCheck:
    """Promises about consecutive positions, looked at one period after another."""

    def __init__(self, guards: tuple[Guard, ...], first: int) -> None:
        self.guards = guards
        self.first = first
        self.broken: list[tuple[int, Guard, float]] = []

    def look(self, period: int, stream: npt.NDArray[np.float64]) -> None:
        """The residual stream [position, slot] at one period."""
        for guard in self.guards:
            if guard.period != period:
                continue
            values = stream[:, guard.slots] @ guard.weights
            wrong = np.flatnonzero((values < guard.low) | (values > guard.high))
            if len(wrong):
                self.broken.append((int(wrong[0]), guard, float(values[wrong[0]])))

    def kept(self, count: int) -> int:
        """How many of so many positions come before the first that breaks a promise."""
        return min([place for place, _, _ in self.broken], default=count)

    def finish(self) -> None:
        """Stop at the first position that breaks a promise."""
        if self.broken:
            place, guard, value = min(self.broken, key=lambda found: found[0])
            raise broken_promise(
                guard.name, self.first + place, f"{value:.17g}", guard.low, guard.high
            )


def check_guards(guards: tuple[Guard, ...], residuals: Residuals, first: int) -> None:
    """The same for a residual stream [position, period, slot]."""
    check = GuardCheck(guards, first)
    for period in sorted({guard.period for guard in guards}):
        check.look(period, residuals[:, period])
    check.finish()
