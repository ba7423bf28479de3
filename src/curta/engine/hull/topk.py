"""Softmax attention over the k best keys of a head of width 2.

Softmax attention is dominated by its largest scores. `TopKCache` finds the k keys with the highest
scores exactly (ties to the latest) and takes the softmax over them alone; with k at least the
number of keys that is full softmax attention. `onion.py` has the structure and the proof that k
nested hulls are enough.

Cost: a query takes O(L log n + k log k), L <= k being the layers it opens. An insertion takes
O(log k log n) while the point stays below all k layers, and more when it pushes points down from
layer to layer: O(k log n) amortised.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Never

from numpy.typing import ArrayLike

from curta.engine.hull.admission import (
    Floats,
    Positions,
    as_rows,
    check_same_length,
    empty_error,
)
from curta.engine.hull.cache import Backend, check_options
from curta.engine.hull.native import choose_backend
from curta.engine.hull.native_topk import NativeTopK
from curta.engine.hull.onion import Attended, PythonTopK
from curta.engine.hull.reference import Vector
from curta.errors import HullError

LARGEST_K = 1 << 16


class AttendedMany(NamedTuple):
    """Answers to n queries: values [n, value_width]; positions and weights [n, k], best first.

    While there are fewer than k keys, the last positions are -1 and their weights 0.
    """

    values: Floats
    positions: Positions
    weights: Floats


def check_k(k: int) -> None:
    if not isinstance(k, int) or not 1 <= k <= LARGEST_K:
        raise HullError(f"k={k!r}: expected a whole number from 1 to {LARGEST_K}")


class TopKCache:
    """The k keys in the plane that score highest, and the softmax over them.

    A weight is proportional to exp(scale * score); `scale` is 1/sqrt(2) for an ordinary 2D head.

        >>> cache = TopKCache(2, 1, scale=0.0, backend="python")
        >>> cache.insert_many([(0, 0), (1, 1), (2, 2)], [[10], [20], [30]])
        >>> cache.query((1, 0))
        (25.0,)
    """

    def __init__(
        self, k: int, value_width: int, scale: float = 1.0, backend: Backend = "auto"
    ) -> None:
        check_options(value_width, "latest")
        check_k(k)
        if not (math.isfinite(scale) and scale >= 0):
            raise HullError(f"scale={scale!r}: expected a finite number, 0 or more")
        self.k = k
        self.value_width = value_width
        self.scale = float(scale)
        self.backend = choose_backend(backend)
        implementation = NativeTopK if self.backend == "c" else PythonTopK
        self.implementation: NativeTopK | PythonTopK = implementation(value_width, k, self.scale)

    def __len__(self) -> int:
        """The number of keys inserted, kept in a layer or not."""
        return self.implementation.points

    def __repr__(self) -> str:
        return (
            f"TopKCache(k={self.k}, value_width={self.value_width}, scale={self.scale}, "
            f"backend={self.backend!r}): {len(self)} keys"
        )

    def __reduce__(self) -> Never:
        raise TypeError("a hull cache cannot be copied or pickled: keep the keys and insert again")

    def insert(self, key: Vector, value: Vector) -> None:
        """File `value` under `key`, at the next position."""
        self.insert_many([key], [value])

    def query(self, query: Vector) -> tuple[float, ...]:
        """The mean of the k winners' values under the softmax of their scores."""
        return self.find(query).value

    def find(self, query: Vector) -> Attended:
        """The same with the winners' positions and weights, best first."""
        return self._single(self.query_many([query]))

    def insert_and_query(self, key: Vector, value: Vector, query: Vector) -> tuple[float, ...]:
        """One step of causal attention: insert, then query, in one call."""
        return self._single(self.insert_and_query_many([key], [value], [query])).value

    def insert_many(self, keys: ArrayLike, values: ArrayLike) -> None:
        """Insert n keys [n, 2] with values [n, value_width], in order; all of them or none."""
        self.implementation.insert_many(*self._as_points(keys, values))

    def query_many(self, queries: ArrayLike) -> AttendedMany:
        """Answer n queries [n, 2]."""
        rows = as_rows(queries, 2, "queries")
        if len(rows) and not len(self):
            raise empty_error()
        return AttendedMany(*self.implementation.query_many(rows))

    def insert_and_query_many(
        self, keys: ArrayLike, values: ArrayLike, queries: ArrayLike
    ) -> AttendedMany:
        """n steps of causal attention: step i inserts key i, then answers query i."""
        key_rows, value_rows = self._as_points(keys, values)
        query_rows = as_rows(queries, 2, "queries")
        check_same_length(keys=key_rows, queries=query_rows)
        return AttendedMany(
            *self.implementation.insert_and_query_many(key_rows, value_rows, query_rows)
        )

    def hull_vertices(self) -> int:
        """Corners kept in all layers."""
        return self.implementation.vertices()

    def memory_bytes(self) -> int:
        """Memory held; an estimate for the Python backend."""
        return self.implementation.memory_bytes()

    def reset(self) -> None:
        """Forget everything and free the memory."""
        self.implementation.reset()

    def _as_points(self, keys: ArrayLike, values: ArrayLike) -> tuple[Floats, Floats]:
        key_rows = as_rows(keys, 2, "keys")
        value_rows = as_rows(values, self.value_width, "values")
        check_same_length(keys=key_rows, values=value_rows)
        return key_rows, value_rows

    def _single(self, answers: AttendedMany) -> Attended:
        count = min(self.k, len(self))
        return Attended(
            tuple(answers.values[0].tolist()),
            tuple(answers.positions[0, :count].tolist()),
            tuple(answers.weights[0, :count].tolist()),
        )
