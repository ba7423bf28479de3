"""Level 3: the same forward pass, with attention answered by caches.

Everything is computed from the model's weights: queries, keys and values are products of the
residual stream with the matrices, and every head answers with the arg-max of query . key over all
earlier positions, the latest of equals.

| heads               | the arg-max                                            |
|---------------------|--------------------------------------------------------|
| one digit (2D)      | `HullCache`                                            |
| several digits      | `FiledKeys`: one key for all that share their digits   |
| means               | a running sum and a count                              |

2D heads whose keys are made by equal weights share one hull, with one column for all values that
are made by equal weights: look-ups by position keep all their keys, and models have dozens of them.

A sequence that is known is read in blocks; one that is continued, in blocks of one. The residual
stream of a block is an array [slot, position], and maps go through it row by row (`hull_maps`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from curta.compiler.model import Model
from curta.engine.base import Ids
from curta.engine.blocks import BlockEngine, BlockSession
from curta.engine.hull import Backend, HullCache
from curta.engine.hull_filed import FiledKeys
from curta.engine.hull_maps import LayerMaps, NumpyMaps, layer_matrices, new_maps

Matrix = npt.NDArray[np.float64]


class HullLevel(BlockEngine):
    """The weights without their zeros, attention in caches."""

    level: ClassVar[str] = "hull"
    block = 1024  # a multiple of the tiles that the C code works on

    def __init__(self, model: Model, backend: Backend = "auto") -> None:
        super().__init__(model)
        self.backend = backend

    @cached_property
    def maps(self) -> NumpyMaps:
        return new_maps(self.model, self.backend)

    def session(self) -> HullSession:
        return HullSession(self)


class HullSession(BlockSession):
    """The sequence so far, as every head remembers it."""

    engine: HullLevel

    def __init__(self, engine: HullLevel) -> None:
        super().__init__(engine)
        self.maps = engine.maps
        self.memories = [
            new_memories(engine.model, number, engine.backend)
            for number in range(len(self.maps.layers))
        ]
        self.stream: Matrix

    def half_layers(self, ids: Ids) -> Iterator[Matrix]:
        """Views of [slot, position], the same array again and again."""
        count = len(ids)
        x = np.zeros((self.engine.model.plan["width"], self.maps.columns(count)))
        x[:, :count] = self.embed(ids).T
        self.stream = x[:, :count]
        yield self.stream.T
        for number, maps in enumerate(self.maps.layers):
            if self.memories[number]:
                x += self.attend(number, maps, x, count)
            yield self.stream.T
            maps.add_gates(x)
            yield self.stream.T

    def choose(self, places: npt.NDArray[np.int64]) -> Ids:
        ends = np.zeros((len(self.stream), self.maps.columns(len(places))))
        ends[:, : len(places)] = self.stream[:, places]
        return self.maps.arg_max(ends)[: len(places)]

    def embed(self, tokens: Ids) -> Matrix:
        model = self.engine.model
        positions = np.arange(self.length, self.length + len(tokens))
        embedded = model.weights["embedding.weight"][tokens] + model.positional(positions)
        return np.asarray(embedded, np.float64)

    def attend(self, number: int, maps: LayerMaps, x: Matrix, count: int) -> Matrix:
        """All heads of a layer, side by side."""
        asked = maps.ask(x)
        found = np.zeros((len(asked) // 3, asked.shape[1]))
        for memory in self.memories[number]:
            found[memory.found, :count] = memory.blocks.steps(
                rows(asked, memory.queries, count),
                rows(asked, memory.keys, count),
                rows(asked, memory.values, count),
            ).T
        return maps.output(found)


def rows(block: Matrix, used: list[int], count: int) -> Matrix:
    """Some rows of [row, position], as an array [position, row]."""
    return np.ascontiguousarray(block[used, :count].T)


class HeadBlocks(Protocol):
    """What heads with the same keys remember of the sequence, asked for a block of positions."""

    def steps(self, queries: Matrix, keys: Matrix, values: Matrix) -> Matrix:
        """File every position's values under its key; what the heads' queries find."""


class Memory(NamedTuple):
    """Heads with the same keys: their rows among the layer's queries, keys and values, and among
    what its heads find.
    """

    queries: list[int]
    keys: list[int]
    values: list[int]
    found: list[int]
    blocks: HeadBlocks


def new_memories(model: Model, number: int, backend: Backend) -> list[Memory]:
    """The memories of a layer: 2D heads share one if the weights that make their keys are equal."""
    plan, matrices = model.plan["layers"][number], layer_matrices(model, number)
    sharing: dict[bytes | int, list[int]] = {}
    for place, head in enumerate(plan["heads"]):
        first = place * plan["head_width"]
        weights = matrices["key"][first : first + own_width(head)].tobytes()
        sharing.setdefault(weights if is_plane(head) else place, []).append(place)
    return [new_memory(plan, places, matrices["value"], backend) for places in sharing.values()]


def new_memory(
    plan: dict[str, Any], places: list[int], weights: Matrix, backend: Backend
) -> Memory:
    """What several heads file is filed once: values that are made by equal weights are equal."""
    heads = [(plan["heads"][place], place * plan["head_width"]) for place in places]
    asked = [first + i for head, first in heads for i in range(own_width(head))]
    found = [[first + i for i in range(len(head["values"]))] for head, first in heads]
    flat = list(chain.from_iterable(found))
    head = heads[0][0]
    keys = [len(weights) + row for row in asked[: own_width(head)]]
    if not is_plane(head):
        filed = [2 * len(weights) + row for row in flat]
        return Memory(asked, keys, filed, flat, new_blocks(head, backend))
    row_of = {weights[row].tobytes(): row for row in flat}
    column_of = {content: column for column, content in enumerate(row_of)}
    columns = [[column_of[weights[row].tobytes()] for row in read] for read in found]
    filed = [2 * len(weights) + row for row in row_of.values()]
    return Memory(asked, keys, filed, flat, PlaneBlocks(len(row_of), columns, backend))


def own_width(head: dict[str, Any]) -> int:
    """The components of query and key that a head uses; the rest are zeros."""
    return 2 if head["kind"] == "mean" else len(head["key"]) + 1


def is_plane(head: dict[str, Any]) -> bool:
    """Has it keys, of one digit?"""
    return head["kind"] != "mean" and len(head["key"]) == 1


def new_blocks(head: dict[str, Any], backend: Backend) -> HeadBlocks:
    if head["kind"] == "mean":
        return MeanBlocks(len(head["values"]))
    return FiledKeys(len(head["key"]), len(head["values"]), backend)


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
    """2D heads: the hull of their keys. Head i reads the values `columns[i]`."""

    def __init__(self, width: int, columns: list[list[int]], backend: Backend) -> None:
        self.hull = HullCache(width, ties="latest", backend=backend)
        self.columns = columns

    def steps(self, queries: Matrix, keys: Matrix, values: Matrix) -> Matrix:
        if len(keys) == len(self.columns) == 1:  # one step of one head has a quicker way
            step = (part[0].tolist() for part in (keys, values, queries))
            return np.array(self.hull.insert_and_query(*step))[None, self.columns[0]]
        return self.hull.insert_and_query_heads(keys, values, queries, self.columns)
