"""Levels that compute the residual stream, some positions at a time (plain and hull).

They know nothing of promises: these are checked on the stream, and a run that breaks one stops.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from curta.compiler.model import Model
from curta.engine.base import NOT_ASKED, Engine, Ids, Mask, Residuals, Session, broken_promise
from curta.errors import RegionError

LOGITS = 64
"""Positions whose logits are computed at once."""


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


def first_broken(
    guards: Guards, first: int, streams: Iterable[Residuals]
) -> tuple[int | None, RegionError | None]:
    """How many positions from the `first` on come before one that breaks a promise, and the error,
    if there is one. Their residual stream [position, slot] is looked at one period after another.
    """
    kept, error = None, None
    for period, stream in enumerate(streams):
        for guard in guards.get(period, ()):
            values = stream[:, guard.slots] @ guard.weights
            wrong = np.flatnonzero(((values < guard.low) | (values > guard.high))[:kept])
            if len(wrong):
                kept = int(wrong[0])
                found = first + kept, f"{values[kept]:.17g}", guard.low, guard.high
                error = broken_promise(guard.name, *found)
    return kept, error


class BlockEngine(Engine):
    """A level that takes many positions of a known sequence at once."""

    block: ClassVar[int]
    """Positions at a time, at most."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.guards = guards_of(model)

    @abstractmethod
    def session(self) -> BlockSession: ...

    def residuals(self, ids: Sequence[int]) -> Residuals:
        """The residual stream [position, period, slot]: after the embedding, and after the
        attention and the feed-forward part of every layer.
        """
        streams = [x.copy() for x in self.session().half_layers(self.check_prompt(ids))]
        _, error = first_broken(self.guards, 0, streams)
        if error is not None:
            raise error
        return np.stack(streams, axis=1)


class BlockSession(Session):
    """One sequence in progress; one token is a block of one."""

    engine: BlockEngine

    @abstractmethod
    def half_layers(self, ids: Ids) -> Iterator[Residuals]:
        """Take checked tokens: the residual stream [position, slot] after the embedding and after
        every half layer, which holds until the next is asked for.
        """

    @abstractmethod
    def choose(self, places: npt.NDArray[np.int64]) -> Ids:
        """The most likely tokens after positions of the block taken last, the first of equals."""

    def _read(self, tokens: Ids, asked: Mask) -> Iterator[Ids]:
        for start in range(0, len(tokens), self.engine.block):
            block = slice(start, start + self.engine.block)
            streams = self.half_layers(tokens[block])
            kept, error = first_broken(self.engine.guards, self.length, streams)
            said = np.full(len(tokens[block]), NOT_ASKED, dtype=np.int32)
            places = np.flatnonzero(asked[block])
            for first in range(0, len(places), LOGITS):
                some = places[first : first + LOGITS]
                said[some] = self.choose(some)
            yield said[:kept]
            if error is not None:
                raise error
