"""How an adapter is trained."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

from curta.delegate.interception.protocol import Protocol
from curta.delegate.options import check
from curta.errors import DataError
from curta.options import option

Mode = Literal["full", "mlp"]
Precision = Literal["float32", "bfloat16"]
ABOVE = "must be above 0, and finite"


@dataclass(frozen=True)
class Updates:
    """What both stages of training can be told.

    steps:         updates
    batch:         conversations in a pass; questions in the second stage
    accumulate:    passes in an update
    learning_rate: at its highest
    warmup:        updates in which it grows; then it falls by a cosine
    clip:          the longest that gradients may be
    precision:     of the model's weights
    seed:          the same seed trains the same adapter
    checkpoint:    updates between two checkpoints
    """

    steps: int = 3_000
    batch: int = 1
    accumulate: int = 1
    learning_rate: float = 2e-5
    warmup: int = 100
    clip: float = 1.0
    precision: Precision = "float32"
    seed: int = 0
    checkpoint: int = 200

    def __post_init__(self) -> None:
        check_least(self, 1, "steps batch accumulate checkpoint")
        check_least(self, 0, "warmup")
        check(self, "learning_rate", ABOVE, lambda n: 0 < n < math.inf)
        check_named(self, "precision", Precision)


def check_least(config: Updates, least: int, names: str) -> None:
    check(config, names, f"must be at least {least}", lambda n: least <= n < math.inf)


def check_named(config: Updates, name: str, kind: Any) -> None:
    check(config, name, f"one of {', '.join(get_args(kind))}", get_args(kind).__contains__)


@dataclass(frozen=True)
class TrainingConfig(Updates):
    """Defaults are those of the text that the method comes from (a 2 B model on one A100).

    mode:        full: adapters on all linear layers of the blocks; mlp: on feed-forward layers and
                 ordinary attention only, so that linear attention stays as it is
    last_blocks: only so many of the last blocks; all of them with 0
    rank:        of the adapters
    alpha:       they are scaled by alpha / rank
    dropout:     of the adapters
    longest:     tokens of a conversation, in the longer of its forms: with calls, or written out;
                 longer ones are left out
    calls:       the same answers, written out without calls: what a calculator is compared with
    open:        what a call begins with
    close:       what a call ends with
    special_tokens: the markers of a call are tokens of their own; new ones begin as the mean of all
                 others
    """

    mode: Mode = "full"
    last_blocks: int = 16
    rank: int = 32
    alpha: int = 64
    dropout: float = 0.0
    longest: int = 2_048
    calls: bool = True
    open: str = Protocol.open
    close: str = Protocol.close
    special_tokens: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_least(self, 1, "rank alpha longest")
        check(self, "dropout", "must be at least 0, below 1", lambda share: 0 <= share < 1)
        check_named(self, "mode", Mode)
        check(
            self, "open close", "some characters, no spaces",
            lambda marker: marker and not any(map(str.isspace, marker)),
        )  # fmt: skip
        if self.open == self.close:
            raise DataError(f"open = close = {self.open!r}: two markers that differ")

    @property
    def protocol(self) -> Protocol:
        """How calls are written."""
        return Protocol(open=self.open, close=self.close)


@dataclass(frozen=True)
class GrpoConfig(Updates):
    """How an adapter is improved by what its own answers are worth.

    adapter:        the folder of the adapter that it begins with
    group:          answers to each question
    max_new_tokens: tokens of an answer, results of calls among them
    temperature:    of the answers that are drawn
    pull:           weight of staying near the first stage's adapter (KL)
    right:          reward of the right answer
    valid:          reward of calls that are answered
    rejected:       what calls that fail cost
    unneeded:       what calls that nobody needs cost
    """

    adapter: str = option("", metavar="FOLDER")
    group: int = 8
    max_new_tokens: int = 256
    temperature: float = 1.0
    pull: float = 0.0
    right: float = 1.0
    valid: float = 0.1
    rejected: float = 0.2
    unneeded: float = 0.2

    def __post_init__(self) -> None:
        super().__post_init__()
        check_least(self, 1, "max_new_tokens")
        check(self, "group", "at least 2 answers, which are compared", lambda n: n >= 2)
        check(self, "temperature", ABOVE, lambda n: 0 < n < math.inf)
        check_least(self, 0, "pull right valid rejected unneeded")

    @property
    def weights(self) -> dict[str, float]:
        """What each judge's word counts."""
        return {
            "right": self.right,
            "valid": self.valid,
            "rejected": -self.rejected,
            "unneeded": -self.unneeded,
        }
