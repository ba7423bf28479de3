"""Promises, checked on the residual stream (levels plain and hull)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from curta.compiler.model import Model
from curta.engine.base import broken_promise


@dataclass(frozen=True, slots=True)
class Guard:
    """A sum of slots, and the interval it has to stay in."""

    name: str
    slots: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float64]
    low: float
    high: float


Guards = Mapping[int, Sequence[Guard]]
"""By their period."""


def guards_of(model: Model) -> Guards:
    found: dict[int, list[Guard]] = {}
    for guard in model.plan["guards"]:
        slots = np.array([slot for slot, _ in guard["terms"]], dtype=np.int64)
        weights = np.array([weight for _, weight in guard["terms"]], dtype=np.float64)
        found.setdefault(guard["period"], []).append(
            Guard(guard["name"], slots, weights, guard["low"], guard["high"])
        )
    return found


class GuardCheck:
    """Promises about consecutive positions, looked at one period after another."""

    def __init__(self, guards: Guards, first: int) -> None:
        self.guards = guards
        self.first = first
        self.broken: list[tuple[int, Guard, float]] = []

    def look(self, period: int, stream: npt.NDArray[np.float64]) -> None:
        """The residual stream [position, slot] at one period."""
        for guard in self.guards.get(period, ()):
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
