"""How a program is fitted: read by the command line too, which needs no PyTorch for that."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class FitConfig:
    """How it is fitted.

    steps:         updates
    batch:         examples of each, at most
    learning_rate: of Adam
    hottest:       the temperature at the first step: 4 where numbers are sought, else 0.2
    coldest:       at the last; in between it falls by equal factors
    seeds:         beginnings, all fitted at once
    seed:          the first of them
    """

    steps: int = 400
    batch: int = 64
    learning_rate: float = 0.1
    hottest: float | None = None
    coldest: float = 0.05
    seeds: int = 16
    seed: int = 0

    def temperature(self, step: int, *, numbers: bool) -> float:
        """At a step, counted from 0."""
        hottest = self.hottest or (4.0 if numbers else 0.2)
        share: float = (self.coldest / hottest) ** (step / max(self.steps - 1, 1))
        return hottest * share
