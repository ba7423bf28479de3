"""The hull level, a block of positions at a time: a sequence that is known is read, not continued.

Everything is computed from the model's weights: queries, keys and values are products of the
residual stream with the matrices, and every head answers with the arg-max of query . key over all
earlier positions, the latest of equals.

| heads               | the arg-max                                            |
|---------------------|--------------------------------------------------------|
| one digit (2D)      | `HullCache`                                            |
| several digits      | `FiledKeys`: one key for all that share their digits   |
| means               | a running sum and a count                              |

The residual stream of a block is an array [slot, position]: maps of mostly zeros go through it row
by row, in C where there is a compiler and in NumPy where there is none (`hull_replay_maps`).
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from curta.engine.base import Ids
from curta.engine.guards import GuardCheck
from curta.engine.hull import Backend, HullCache
from curta.engine.hull_filed import new_filed_keys
from curta.engine.hull_level import HullLevel, own_width
from curta.engine.hull_replay_maps import LayerMaps, new_maps

Matrix = npt.NDArray[np.float64]
BLOCK = 1024
"""Positions at a time, at most; a multiple of the tiles that the C code works on."""
NOT_ASKED = -1
"""Stands for what is said where nobody asks."""


def replay_hull(
    engine: HullLevel, ids: Ids, asked: npt.NDArray[np.bool_], backend: Backend = "auto"
) -> Generator[Ids, None, None]:
    """What is said after every position where it is asked, a block at a time."""
    blocks = HullBlocks(engine, backend)
    for start in range(0, len(ids), BLOCK):
        block = slice(start, start + BLOCK)
        said, check = blocks.feed(ids[block], asked[block])
        yield said[: check.kept(len(said))]
        check.finish()


class HullBlocks:
    """The sequence so far, as every head remembers it."""

    def __init__(self, engine: HullLevel, backend: Backend = "auto") -> None:
        self.engine = engine
        self.length = 0
        self.maps = new_maps(engine.model, backend)
        self.heads = [
            [new_head(head, backend) for head in layer["heads"]]
            for layer in engine.model.plan["layers"]
        ]

    def feed(self, tokens: Ids, asked: npt.NDArray[np.bool_]) -> tuple[Ids, GuardCheck]:
        count = len(tokens)
        x = np.zeros((self.engine.model.plan["width"], self.maps.columns(count)))
        x[:, :count] = self.embed(tokens).T
        check = GuardCheck(self.engine.guards, self.length)
        check.look(0, x[:, :count].T)
        for number, maps in enumerate(self.maps.layers):
            if self.heads[number]:
                x += self.attend(number, maps, x, count)
            check.look(2 * number + 1, x[:, :count].T)
            maps.add_gates(x)
            check.look(2 * number + 2, x[:, :count].T)
        self.length += count
        said = np.full(count, NOT_ASKED, dtype=np.int32)
        places = np.flatnonzero(asked)
        if len(places):
            ends = np.zeros((len(x), self.maps.columns(len(places))))
            ends[:, : len(places)] = x[:, places]
            said[places] = self.maps.arg_max(ends)[: len(places)]
        return said, check

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

    def attend(self, number: int, maps: LayerMaps, x: Matrix, count: int) -> Matrix:
        """All heads of a layer, side by side."""
        queries, keys, values = (maps.attention[part](x) for part in ("query", "key", "value"))
        plan = self.engine.model.plan["layers"][number]
        width = plan["head_width"]
        found = np.zeros_like(values)
        for place, (head, cache) in enumerate(zip(plan["heads"], self.heads[number], strict=True)):
            first = place * width
            used = slice(first, first + own_width(head))
            filed = slice(first, first + len(head["values"]))
            found[filed, :count] = cache.steps(
                rows(queries, used, count), rows(keys, used, count), rows(values, filed, count)
            ).T
        return maps.attention["output"](found)


def rows(block: Matrix, used: slice, count: int) -> Matrix:
    """Some rows of [row, position], as an array [position, row]."""
    return np.ascontiguousarray(block[used, :count].T)


class HeadBlocks(Protocol):
    """One head's memory of the sequence, asked for a block of positions."""

    def steps(self, queries: Matrix, keys: Matrix, values: Matrix) -> Matrix:
        """File every position's value under its key; what its query finds."""


def new_head(head: dict[str, Any], backend: Backend) -> HeadBlocks:
    if head["kind"] == "mean":
        return MeanBlocks(len(head["values"]))
    if len(head["key"]) == 1:
        return PlaneBlocks(len(head["values"]), backend)
    return new_filed_keys(len(head["key"]), len(head["values"]), backend)


class MeanBlocks:
    """Equal scores everywhere: the mean of all values."""

    def __init__(self, width: int) -> None:
        self.total = np.zeros(width)
        self.count = 0

    def steps(self, queries: Matrix, keys: Matrix, values: Matrix) -> Matrix:
        totals = np.cumsum(np.concatenate([self.total[None], values]), axis=0)[1:]
        counts = np.arange(self.count + 1, self.count + 1 + len(values))
        self.total, self.count = totals[-1], int(counts[-1])
        means: Matrix = totals / counts[:, None]
        return means


class PlaneBlocks:
    """A 2D head: the hull of the keys."""

    def __init__(self, width: int, backend: Backend) -> None:
        self.hull = HullCache(width, ties="latest", backend=backend)

    def steps(self, queries: Matrix, keys: Matrix, values: Matrix) -> Matrix:
        return self.hull.insert_and_query_many(keys, values, queries).values
