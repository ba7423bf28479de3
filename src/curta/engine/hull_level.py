"""Level 3: the same forward pass, with attention answered by caches.

Everything is computed from the model's weights: queries, keys and values are products of the
residual stream with the matrices, and every head answers with the arg-max of query . key over all
earlier positions, the latest of equals.

| heads               | the arg-max                                                   |
|---------------------|---------------------------------------------------------------|
| one digit (2D)      | a hull                                                        |
| several digits      | one entry for all keys that share their digits (hull/filed.c) |
| means               | a running sum and a count                                     |

Heads whose keys are made by equal weights share one memory, with one column for all values that
are made by equal weights: look-ups by position keep all their keys, and models have dozens of them.

A sequence that is known is read in blocks; one that is continued, in blocks of one. The residual
stream of a block is an array [slot, position]. Almost all weights are zero: matrices are kept
without their zeros.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from curta.compiler.model import Model
from curta.engine.base import Ids
from curta.engine.blocks import BlockEngine, BlockSession
from curta.engine.hull import Backend
from curta.engine.hull.native import new_implementation
from curta.engine.hull.scan import Make
from curta.errors import HullError

Matrix = npt.NDArray[np.float64]


class HullLevel(BlockEngine):
    """The weights without their zeros, attention in caches."""

    level: ClassVar[str] = "hull"
    block = 1024

    def __init__(self, model: Model, backend: Backend = "auto") -> None:
        super().__init__(model)
        self.backend = backend

    @cached_property
    def maps(self) -> list[LayerMaps]:
        layers = range(len(self.model.plan["layers"]))
        return [LayerMaps(layer_matrices(self.model, number)) for number in layers]

    @cached_property
    def unembedding(self) -> csr_array:
        return csr_array(self.model.weights["unembedding.weight"].astype(np.float64))

    def session(self) -> HullSession:
        return HullSession(self)


def layer_matrices(model: Model, number: int) -> dict[str, Matrix]:
    names = [f"attention.{part}" for part in ("query", "key", "value", "output")]
    names += [f"feed_forward.{part}" for part in ("gate", "expand", "contract")]
    return {
        name.partition(".")[2]: model.weights[f"layers.{number}.{name}.weight"].astype(
            np.float64, copy=False
        )
        for name in names
    }


class LayerMaps:
    """What a layer does besides attending."""

    def __init__(self, matrices: dict[str, Matrix]) -> None:
        self.asking, self.output, self.units, self.contract = (
            csr_array(np.concatenate([matrices[part] for part in parts]))
            for parts in (("query", "key", "value"), ("output",), ("gate", "expand"), ("contract",))
        )

    def add_gates(self, x: Matrix) -> None:
        """x += contract @ (relu(gate @ x) * (expand @ x)), in place."""
        gate, expand = np.split(self.units @ x, 2)
        np.maximum(gate, 0.0, out=gate)
        gate *= expand
        x += self.contract @ gate


class HullSession(BlockSession):
    """The sequence so far, as every head remembers it."""

    engine: HullLevel

    def __init__(self, engine: HullLevel) -> None:
        super().__init__(engine)
        self.memories = [
            new_memories(engine.model, number, engine.backend) for number in range(len(engine.maps))
        ]
        self.stream: Matrix

    def half_layers(self, ids: Ids) -> Iterator[Matrix]:
        """Views of [slot, position], the same array again and again."""
        self.stream = x = np.ascontiguousarray(self.embed(ids).T)
        yield x.T
        for memories, maps in zip(self.memories, self.engine.maps, strict=True):
            if memories:
                x += attended(memories, maps, x)
            yield x.T
            maps.add_gates(x)
            yield x.T

    def choose(self, places: npt.NDArray[np.int64]) -> Ids:
        logits = self.engine.unembedding @ self.stream[:, places]
        best: Ids = logits.argmax(axis=0).astype(np.int32)
        return best

    def embed(self, tokens: Ids) -> Matrix:
        model = self.engine.model
        positions = np.arange(self.length, self.length + len(tokens))
        embedded = model.weights["embedding.weight"][tokens] + model.positional(positions)
        return np.asarray(embedded, np.float64)


def attended(memories: list[Memory], maps: LayerMaps, x: Matrix) -> Matrix:
    """All heads of a layer, side by side."""
    asked = maps.asking @ x
    found = np.zeros((len(asked) // 3, x.shape[1]))
    for memory in memories:
        found[memory.found] = memory.steps(asked)
    mixed: Matrix = maps.output @ found
    return mixed


class MeanBlocks:
    """Equal scores everywhere: the mean of all values, of which some `columns` are read."""

    def __init__(self, width: int, columns: list[int]) -> None:
        self.total = np.zeros(width)
        self.count = 0
        self.columns = columns

    def steps(self, queries: Matrix, keys: Matrix, values: Matrix) -> Matrix:
        totals = np.cumsum(np.concatenate([self.total[None], values]), axis=0)[1:]
        counts = np.arange(self.count + 1, self.count + 1 + len(values))
        self.total, self.count = totals[-1], int(counts[-1])
        means: Matrix = totals / counts[:, None]
        return means[:, self.columns]


class KeyBlocks:
    """A cache, plane or of keys that are filed by digits. Head i reads the values `columns[i]`."""

    def __init__(self, digits: int, width: int, columns: list[list[int]], backend: Backend) -> None:
        self.cache = new_implementation(backend, Make(digits + 1, width, filed=digits > 1))
        self.digits, self.columns = digits, columns

    def steps(self, queries: Matrix, keys: Matrix, values: Matrix) -> Matrix:
        last = queries[:, self.digits :: self.digits + 1]
        if self.digits > 1 and not (last > 0.0).all():
            raise HullError(
                f"a query has {last[~(last > 0.0)][0]}, a last component that is not positive; the "
                "compiler makes no such heads"
            )
        arrays = {"keys": keys, "values": values, "queries": queries}
        return self.cache.steps(arrays, self.columns).values


class Memory:
    """Heads with the same keys: their rows among the layer's queries, keys and values, those among
    what its heads find, and what they remember of the sequence.

    What several heads file is filed once: values that are made by equal weights are equal.
    """

    def __init__(
        self, plan: dict[str, Any], places: list[int], weights: Matrix, backend: Backend
    ) -> None:
        heads = [(plan["heads"][place], place * plan["head_width"]) for place in places]
        width = own_width(heads[0][0])
        reads = [range(first, first + len(head["values"])) for head, first in heads]
        self.found = list(chain.from_iterable(reads))
        row_of = {weights[row].tobytes(): row for row in self.found}
        column_of = {content: column for column, content in enumerate(row_of)}
        columns = [[column_of[weights[row].tobytes()] for row in read] for read in reads]
        asked = [first + i for _, first in heads for i in range(width)]
        keys = [len(weights) + row for row in asked[:width]]
        self.asked = asked, keys, [2 * len(weights) + row for row in row_of.values()]
        self.blocks = (
            KeyBlocks(width - 1, len(row_of), columns, backend)
            if width
            else MeanBlocks(len(row_of), list(chain.from_iterable(columns)))
        )

    def steps(self, asked: Matrix) -> Matrix:
        """File the value of each position under its key; what the queries find."""
        return self.blocks.steps(*(np.ascontiguousarray(asked[rows].T) for rows in self.asked)).T


def new_memories(model: Model, number: int, backend: Backend) -> list[Memory]:
    """The memories of a layer: heads share one if the weights that make their keys are equal."""
    plan, matrices = model.plan["layers"][number], layer_matrices(model, number)
    sharing: dict[bytes, list[int]] = {}
    for place, head in enumerate(plan["heads"]):
        first = place * plan["head_width"]
        weights = matrices["key"][first : first + own_width(head)]
        sharing.setdefault(weights.tobytes(), []).append(place)
    return [Memory(plan, places, matrices["value"], backend) for places in sharing.values()]


def own_width(head: dict[str, Any]) -> int:
    """The components of query and key that a head uses; the rest are zeros. Means use none."""
    return 0 if head["kind"] == "mean" else len(head["key"]) + 1
