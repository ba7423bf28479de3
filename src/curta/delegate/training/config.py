"""How an adapter is trained."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from curta.delegate.interception.protocol import Protocol
from curta.errors import DataError

Mode = Literal["full", "mlp"]
Precision = Literal["float32", "bfloat16"]


@dataclass(frozen=True)
class TrainingConfig:
    """Defaults are those of the text that the method comes from (a 2 B model on one A100).

    mode:        full: adapters on all linear layers of the blocks; mlp: on feed-forward layers and
                 ordinary attention only, so that linear attention stays as it is
    last_blocks: only so many of the last blocks; all of them with 0
    rank, alpha, dropout: of the adapters; they are scaled by alpha / rank
    steps, batch, accumulate: updates; conversations in a pass; passes in an update
    warmup:      updates in which the learning rate grows; then it falls by a cosine
    longest:     tokens of a conversation, in the longer of its forms: with calls, or written out
    calls:       answers with calls; without, the same answers written out by the model itself
    open, close: the markers around a call
    special_tokens: the markers are tokens of their own; new ones begin as the mean of all others
    checkpoint:  updates between two checkpoints
    """

    mode: Mode = "full"
    last_blocks: int = 16
    rank: int = 32
    alpha: int = 64
    dropout: float = 0.0
    steps: int = 3_000
    batch: int = 1
    accumulate: int = 1
    learning_rate: float = 2e-5
    warmup: int = 100
    clip: float = 1.0
    longest: int = 2_048
    calls: bool = True
    open: str = Protocol.open
    close: str = Protocol.close
    special_tokens: bool = False
    precision: Precision = "float32"
    seed: int = 0
    checkpoint: int = 200

    def __post_init__(self) -> None:
        for name in ("rank", "alpha", "steps", "batch", "accumulate", "longest", "checkpoint"):
            if getattr(self, name) < 1:
                raise DataError(f"{name} = {getattr(self, name)}: must be at least 1")
        if not 0 < self.learning_rate < math.inf:
            raise DataError(f"learning_rate = {self.learning_rate}: must be above 0, and finite")
        if not 0 <= self.dropout < 1:
            raise DataError(f"dropout = {self.dropout}: must be at least 0, below 1")
        for name, allowed in (("mode", Mode), ("precision", Precision)):
            if getattr(self, name) not in get_args(allowed):
                raise DataError(
                    f"{name} = {getattr(self, name)!r}: one of {', '.join(get_args(allowed))}"
                )
        for name in ("open", "close"):
            if not getattr(self, name) or any(c.isspace() for c in getattr(self, name)):
                raise DataError(f"{name} = {getattr(self, name)!r}: some characters, no spaces")
        if self.open == self.close:
            raise DataError(f"open = close = {self.open!r}: two markers that differ")

    @property
    def protocol(self) -> Protocol:
        """How calls are written."""
        return Protocol(open=self.open, close=self.close)

    def rate(self, step: int) -> float:
        """The share of the learning rate at a step: up to 1, then down to 0 by a cosine."""
        if step < self.warmup:
            return (step + 1) / self.warmup
        done = (step - self.warmup) / max(1, self.steps - self.warmup)
        return 0.5 * (1 + math.cos(math.pi * min(1.0, done)))
