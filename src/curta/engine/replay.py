"""Going through a sequence that is known already, many positions at a time.

A session computes position after position, because the next token depends on the last. A given
sequence can be taken a block of positions at a time, layer by layer: the maps become products of
matrices, and only what the heads look up remains a loop. What every position says is the same.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np
import numpy.typing as npt

from curta.engine.base import Engine, Ids
from curta.engine.guards import check_guards
from curta.engine.hull_level import (
    DigitCache,
    HeadCache,
    HullLevel,
    MeanCache,
    PlaneCache,
    new_cache,
    own_width,
)

Matrix = npt.NDArray[np.float64]
BLOCK = 256
"""Positions at a time, at most."""
SCORES = 1 << 20
"""How many scores of a softmax head are computed at once, about."""


def replay(engine: Engine, ids: Ids) -> Generator[Ids, None, None]:
    """What the model says after every position of the sequence, block by block."""
    ids = engine.check_ids(ids)
    if len(ids) > engine.max_tokens:
        raise engine.too_long()
    if isinstance(engine, HullLevel):
        yield from _replay_hull(engine, ids)
    elif engine.level == "plain":
        yield from _replay_plain(engine, ids)
    else:
        session = engine.session()
        for token in ids.tolist():
            yield np.array([session.feed(token)], dtype=np.int32)


def _replay_plain(engine: Engine, ids: Ids) -> Generator[Ids, None, None]:
    """Softmax over all of the sequence so far."""
    import torch

    from curta.engine.plain import Plain, PlainSession

    assert isinstance(engine, Plain)
    session = PlainSession(engine)
    start, threads = 0, torch.get_num_threads()
    torch.set_num_threads(1)  # the matrices are small: threads would wait for one another
    try:
        while start < len(ids):
            count = min(BLOCK, max(1, SCORES // (start + BLOCK)), len(ids) - start)
            tokens = torch.tensor([ids[start : start + count].tolist()], device=engine.device)
            yield np.array(session.feed_block(tokens, start), dtype=np.int32)
            start += count
    finally:
        torch.set_num_threads(threads)


def _replay_hull(engine: HullLevel, ids: Ids) -> Generator[Ids, None, None]:
    blocks = HullBlocks(engine)
    for start in range(0, len(ids), BLOCK):
        yield blocks.feed(ids[start : start + BLOCK])


class HullBlocks:
    """The hull level, a block of positions at a time."""

    def __init__(self, engine: HullLevel) -> None:
        self.engine = engine
        self.length = 0
        self.heads = [
            [HeadBlocks(new_cache(head), head) for head in layer["heads"]]
            for layer in engine.model.plan["layers"]
        ]

    def feed(self, tokens: Ids) -> Ids:
        x = self.embed(tokens)
        streams = [x]
        for number, layer in enumerate(self.engine.layers):
            if self.heads[number]:
                x = x + self.attend(number, layer, x) @ layer["attention.output"].T
            streams.append(x)
            opened = np.maximum(x @ layer["feed_forward.gate"].T, 0.0)
            expanded = x @ layer["feed_forward.expand"].T
            x = x + (opened * expanded) @ layer["feed_forward.contract"].T
            streams.append(x)
        check_guards(self.engine.guards, np.stack(streams, axis=1), self.length)
        self.length += len(tokens)
        logits = x @ self.engine.model.weights["unembedding.weight"].T
        said: Ids = logits.argmax(axis=1).astype(np.int32)
        return said

    def embed(self, tokens: Ids) -> Matrix:
        weights = self.engine.model.weights
        modulus, power = weights["position.modulus"], weights["position.power"]
        positions = np.arange(self.length, self.length + len(tokens))[:, None]
        digits = positions // weights["position.divisor"]
        digits = np.where(modulus > 0, digits % np.maximum(modulus, 1), digits)
        features = (digits - weights["position.offset"]) ** power
        embedded: Matrix = (
            weights["embedding.weight"][tokens] + features @ weights["position.weight"].T
        )
        return embedded

    def attend(self, number: int, layer: dict[str, Matrix], x: Matrix) -> Matrix:
        """All heads of a layer, side by side."""
        queries, keys, values = (
            x @ layer[f"attention.{part}"].T for part in ("query", "key", "value")
        )
        width = self.engine.model.plan["layers"][number]["head_width"]
        found = np.zeros_like(values)
        for place, head in enumerate(self.heads[number]):
            used = slice(place * width, place * width + head.key_width)
            filed = slice(place * width, place * width + head.value_width)
            found[:, filed] = head.steps(queries[:, used], keys[:, used], values[:, filed])
        return found


class HeadBlocks:
    """One head's memory of the sequence, asked for a block of positions."""

    def __init__(self, cache: HeadCache, head: dict[str, Any]) -> None:
        self.cache = cache
        self.key_width, self.value_width = own_width(head), len(head["values"])
        self.distinct = DistinctKeys(self.key_width)

    def steps(self, queries: Matrix, keys: Matrix, values: Matrix) -> Any:
        """File every position's value under its key; what its query finds."""
        if isinstance(self.cache, MeanCache):
            return self._means(self.cache, values)
        if isinstance(self.cache, PlaneCache):
            step = self.cache.hull.insert_and_query
            return [
                step(key, value, query)
                for query, key, value in zip(
                    queries.tolist(), keys.tolist(), values.tolist(), strict=True
                )
            ]
        assert isinstance(self.cache, DigitCache)
        return self._digits(self.cache, queries, keys, values)

    def _means(self, cache: MeanCache, values: Matrix) -> Matrix:
        totals = np.cumsum(np.concatenate([cache.total[None], values]), axis=0)[1:]
        counts = np.arange(cache.count + 1, cache.count + 1 + len(values))
        cache.total, cache.count = totals[-1], int(counts[-1])
        means: Matrix = totals / counts[:, None]
        return means

    def _digits(self, cache: DigitCache, queries: Matrix, keys: Matrix, values: Matrix) -> Matrix:
        """As `DigitCache.step` does it."""
        digits = cache.digits
        filed = np.ascontiguousarray(keys[:, :digits] * 0.5 + 0.0)
        asked = np.ascontiguousarray(queries[:, :digits] / queries[:, digits:] + 0.0)
        found = np.empty_like(values)
        for place, value in enumerate(values):
            self.distinct.insert(keys[place], value)
            cache.latest[filed[place].tobytes()] = value
            known = cache.latest.get(asked[place].tobytes())
            found[place] = self.distinct.query(queries[place]) if known is None else known
        return found


class DistinctKeys:
    """Keys that no dictionary answers for: the highest score wins, the latest of equals.

    Equal keys have equal scores, so only the latest value of each is kept: a head that files one
    and the same key at every position of a long prompt has one key to look at.
    """

    def __init__(self, width: int) -> None:
        self.places: dict[bytes, int] = {}
        self.keys = np.empty((64, width))
        self.filed = np.zeros(64, dtype=np.int64)
        self.values: list[Matrix] = []
        self.count = 0

    def insert(self, key: Matrix, value: Matrix) -> None:
        written = (key + 0.0).tobytes()
        place = self.places.setdefault(written, len(self.places))
        if place == len(self.keys):
            self.keys = np.concatenate([self.keys, np.empty_like(self.keys)])
            self.filed = np.concatenate([self.filed, np.zeros_like(self.filed)])
        if place == len(self.values):
            self.keys[place] = key
            self.values.append(value)
        self.values[place] = value
        self.count += 1
        self.filed[place] = self.count

    def query(self, query: Matrix) -> Matrix:
        scores = self.keys[: len(self.values)] @ query
        best = np.flatnonzero(scores == scores.max())
        return self.values[int(best[self.filed[best].argmax()])]
