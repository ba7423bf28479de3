"""The choices that make a training run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from curta.errors import ExperimentError

Optimiser = Literal["sgd", "adam", "adamw", "lion", "adafactor"]
Schedule = Literal["constant", "cosine", "linear"]
Loss = Literal["answer", "tokens", "row"]
Precision = Literal["float32", "bfloat16"]


@dataclass(frozen=True)
class TrainingConfig:
    """How a model is trained.

    steps:         updates
    batch:         rows in each
    optimiser, learning_rate, momentum, weight_decay: of Optax
    clip:          the largest norm of a gradient, 0 for none
    warmup:        steps in which the learning rate grows
    schedule:      of the learning rate behind them: constant, or down to a hundredth
    loss:          answer (what follows the prompt), tokens (all up to the end), row (fill, too)
    progressive:   weight of the loss behind a random number of loops, fewer than all
    variance, covariance: weights of the two terms of Seq-VCR (there 1 and 0.004), on what is behind
                   the layers; 0 for none
    accumulate:    parts into which a batch is cut, to save memory
    precision:     of the forward and backward pass; parameters stay float32
    seeds:         models trained at once
    seed:          of the first of them
    devices:       how many to use, 0 for all: seeds are spread over them, or else rows
    chunk:         steps between two looks from outside
    checkpoint:    steps between two checkpoints
    """

    steps: int = 5_000
    batch: int = 256
    optimiser: Optimiser = "adamw"
    learning_rate: float = 1e-3
    momentum: float = 0.0
    weight_decay: float = 0.01
    clip: float = 1.0
    schedule: Schedule = "cosine"
    warmup: int = 100
    loss: Loss = "answer"
    progressive: float = 0.0
    variance: float = 0.0
    covariance: float = 0.0
    accumulate: int = 1
    precision: Precision = "float32"
    seeds: int = 1
    seed: int = 0
    devices: int = 0
    chunk: int = 50
    checkpoint: int = 1_000

    def __post_init__(self) -> None:
        for name in ("steps", "batch", "accumulate", "seeds", "chunk", "checkpoint"):
            if getattr(self, name) < 1:
                raise ExperimentError(f"{name} = {getattr(self, name)}: must be at least 1")
        if self.batch % self.accumulate:
            raise ExperimentError(
                f"accumulate = {self.accumulate} does not divide batch = {self.batch}"
            )
        if not 0 < self.learning_rate < math.inf:
            raise ExperimentError(
                f"learning_rate = {self.learning_rate}: must be above 0, and finite"
            )
        for name in ("variance", "covariance", "momentum", "weight_decay", "clip"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ExperimentError(
                    f"{name} = {getattr(self, name)}: must be at least 0, and finite"
                )
        if not 0 <= self.progressive <= 1:
            raise ExperimentError(f"progressive = {self.progressive}: must be from 0 to 1")
        named = {"optimiser": Optimiser, "schedule": Schedule, "loss": Loss, "precision": Precision}
        for name, allowed in named.items():
            if getattr(self, name) not in get_args(allowed):
                raise ExperimentError(
                    f"{name} = {getattr(self, name)!r}: one of {', '.join(get_args(allowed))}"
                )
