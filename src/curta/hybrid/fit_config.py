"""How a program is fitted: read by the command line too, which needs no PyTorch for that."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class FitConfig:
    """How it is fitted.

    steps:         updates
    batch:         examples of each, at most
    learning_rate: of Adam
    hottest:       the temperature at the first step
    coldest:       at the last; in between it falls by equal factors
    seeds:         beginnings, all fitted at once
    seed:          the first of them
    """

    steps: int = 400
    batch: int = 64
    learning_rate: float = 0.1
    hottest: float = 4.0
    coldest: float = 0.05
    seeds: int = 16
    seed: int = 0
