"""Levels that compute the residual stream, some positions at a time (plain and hull).

They know nothing of promises: these are checked on the stream, and a run that breaks one stops.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from curta.compiler.model import Model
from curta.engine.base import NOT_ASKED, Engine, Ids, Mask, Residuals, Session, broken_promise
from curta.errors import RegionError

LOGITS = 128
"""Positions whose logits are computed at once."""


class Guards:
    """Sums of slots that have to stay in an interval: how they stand in the plan, by period."""

    def __init__(self, model: Model) -> None:
        self.by_period = defaultdict[int, list[dict[str, Any]]](list)
        for guard in model.plan["guards"]:
            slots, weights = np.array(guard["terms"], dtype=np.float64).reshape(-1, 2).T
            arrays = {"slots": slots.astype(np.int64), "weights": weights}
            self.by_period[guard["period"]].append(guard | arrays)

    def first_broken(
        self, first: int, streams: Iterable[Residuals]
    ) -> tuple[int | None, RegionError | None]:
        """How many positions from the `first` on come before one that breaks a promise, and the
        error, if there is one. The residual stream [position, slot] comes period by period.
        """
        kept, error = None, None
        for period, stream in enumerate(streams):
            for guard in self.by_period.get(period, ()):
                values = stream[:, guard["slots"]] @ guard["weights"]
                low, high = guard["low"], guard["high"]
                wrong = np.flatnonzero(((values < low) | (values > high))[:kept])
                if len(wrong):
                    kept = int(wrong[0])
                    value = f"{values[kept]:.17g}"
                    error = broken_promise(guard["name"], first + kept, value, low, high)
        return kept, error


class BlockEngine(Engine):
    """A level that takes many positions of a known sequence at once."""

    block: ClassVar[int]
    """Positions at a time, at most."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.guards = Guards(model)

    @abstractmethod
    def session(self) -> BlockSession: ...

    def residuals(self, ids: Sequence[int]) -> Residuals:
        """The residual stream [position, period, slot]: after the embedding, and after the
        attention and the feed-forward part of every layer.
        """
        streams = [x.copy() for x in self.session().half_layers(self.check_prompt(ids))]
        _, error = self.guards.first_broken(0, streams)
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
            kept, error = self.engine.guards.first_broken(self.length, streams)
            said = np.full(len(tokens[block]), NOT_ASKED, dtype=np.int32)
            places = np.flatnonzero(asked[block])
            for first in range(0, len(places), LOGITS):
                some = places[first : first + LOGITS]
                said[some] = self.choose(some)
            yield said[:kept]
            if error is not None:
                raise error
