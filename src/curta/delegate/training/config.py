"""How an adapter is trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from curta.delegate.checked import Checked, Count, Natural, Positive, Rule, at_least
from curta.delegate.interception.protocol import Protocol
from curta.errors import DataError
from curta.options import option

Mode = Literal["full", "mlp"]
Precision = Literal["float32", "bfloat16"]
DROPPED = Rule("must be at least 0, below 1", lambda share: 0 <= share < 1)
Weight = Annotated[float, at_least(0)]
Marker = Annotated[
    str,
    Rule("some characters, no spaces", lambda text: text and not any(map(str.isspace, text))),
]


@dataclass(frozen=True)
class Updates(Checked):
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

    steps: Count = 3_000
    batch: Count = 1
    accumulate: Count = 1
    learning_rate: Positive = 2e-5
    warmup: Natural = 100
    clip: float = 1.0
    precision: Precision = "float32"
    seed: int = 0
    checkpoint: Count = 200


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
    rank: Count = 32
    alpha: Count = 64
    dropout: Annotated[float, DROPPED] = 0.0
    longest: Count = 2_048
    calls: bool = True
    open: Marker = Protocol.open
    close: Marker = Protocol.close
    special_tokens: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
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
    group: Annotated[int, at_least(2)] = 8
    max_new_tokens: Count = 256
    temperature: Positive = 1.0
    pull: Weight = 0.0
    right: Weight = 1.0
    valid: Weight = 0.1
    rejected: Weight = 0.2
    unneeded: Weight = 0.2

    @property
    def weights(self) -> dict[str, float]:
        """What each judge's word counts."""
        return {
            "right": self.right,
            "valid": self.valid,
            "rejected": -self.rejected,
            "unneeded": -self.unneeded,
        }
