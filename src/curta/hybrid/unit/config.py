"""What can be chosen: which questions are drawn, and how a router is trained."""

from __future__ import annotations

from dataclasses import dataclass

from curta.errors import DataError


@dataclass(frozen=True)
class Drawing:
    """Questions that a router is trained on; for validation there are a third as many.

    wordings: that ask for an operation
    stories:  that tell of one
    others:   texts with numbers where nothing is to be computed
    beyond:   questions that take more than one operation, or another one
    seed:     the same seed draws the same
    """

    wordings: int = 774
    stories: int = 350
    others: int = 472
    beyond: int = 248
    seed: int = 7

    def __post_init__(self) -> None:
        if min(self.counts.values()) < 4:
            raise DataError("--wordings, --stories, --others, --beyond: at least 4 of each")

    @property
    def counts(self) -> dict[str, int]:
        """By kind of wording."""
        return {
            "wordings": self.wordings, "problems": self.stories,
            "others": self.others, "beyond": self.beyond,
        }  # fmt: skip


@dataclass(frozen=True)
class Asking:
    """How many are asked.

    seen:             of wordings that training had, with other numbers
    held_out:         of wordings that it did not have
    stories_seen:     stories of wordings that training had
    stories_held_out: stories of others
    texts:            with numbers and nothing to compute
    beyond:           with something to compute that a unit does not
    """

    seen: int = 516
    held_out: int = 343
    stories_seen: int = 175
    stories_held_out: int = 122
    texts: int = 1000
    beyond: int = 71

    @property
    def questions(self) -> dict[str, int]:
        """By suite; those that have an answer."""
        suites = {name.replace("_", " "): count for name, count in vars(self).items()}
        return {suite: count for suite, count in suites.items() if suite not in ("texts", "beyond")}


@dataclass(frozen=True)
class RouterTraining:
    """How a router is trained.

    epochs:       over all texts
    batch:        texts in a step
    rate:         of learning, at first
    penalty:      on squared weights of what is solved
    training_seed: of the order of texts and the first weights
    false_routes: share of validation texts without anything to compute that may fire
    false_beyond: share of validation questions beyond the unit that may
    """

    epochs: int = 6
    batch: int = 16
    rate: float = 3e-3
    penalty: float = 1000
    training_seed: int = 0
    false_routes: float = 0.01
    false_beyond: float = 0.1
