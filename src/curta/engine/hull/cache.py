"""Attention for narrow heads, from caches that do not look at every key.

Attention with a hard maximum asks: which key has the largest dot product with the query? As a
function of the direction of the query the answer changes only at the corners of the convex hull of
the keys, and no key inside the hull is ever the answer. So it is enough to keep the hull, under
insertion, and to search it by slope. Answers are those of `reference.hard_maximum`, bit for bit
alike from both backends. In the plane that costs O(log n) per query and O(log n) amortised per
insertion, whatever the keys. Memory is that of the hull: about n^(1/3) vertices for n random keys
in a disc, n for keys on a parabola.

Softmax attention is dominated by its largest scores. `TopKCache` finds the k keys with the highest
scores exactly (ties to the latest) and takes the softmax over them alone; with k at least the
number of keys that is full softmax attention. topk.c has the structure, nested hulls, and the proof
that k of them are enough. A query takes O(L log n + k log k), L <= k being the layers it opens; an
insertion O(log k log n) while the point stays below all k layers, and more when it pushes points
down from layer to layer: O(k log n) amortised.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Generic, Literal, NamedTuple, Never, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from curta.engine.hull.admission import (
    Columns,
    Floats,
    Positions,
    as_rows,
    check_coordinates,
    check_points,
    check_same_length,
    empty_error,
)
from curta.engine.hull.native import NativeCache, choose_backend, step_rows
from curta.engine.hull.reference import Attended, Found, Ties, Vector
from curta.engine.hull.scan import ScannedCache
from curta.errors import HullError

Backend = Literal["auto", "c", "python"]
LARGEST_K = 1 << 16


class FoundMany(NamedTuple):
    """Answers to n queries: values of shape [n, value_width], positions of shape [n]."""

    values: Floats
    positions: Positions


class AttendedMany(NamedTuple):
    """Answers to n queries: values [n, value_width]; positions and weights [n, k], best first.

    While there are fewer than k keys, the last positions are -1 and their weights 0.
    """

    values: Floats
    positions: Positions
    weights: Floats


Many = TypeVar("Many", FoundMany, AttendedMany)


def check_options(value_width: int, ties: str) -> None:
    if not isinstance(value_width, int) or not 1 <= value_width <= 1 << 20:
        raise HullError(f"value_width={value_width!r}: expected a whole number from 1 to 2^20")
    if ties not in ("latest", "average"):
        raise HullError(f"ties={ties!r}: expected 'latest' or 'average'")


def check_k(k: int) -> None:
    if not isinstance(k, int) or not 1 <= k <= LARGEST_K:
        raise HullError(f"k={k!r}: expected a whole number from 1 to {LARGEST_K}")


class Cache(ABC, Generic[Many]):
    """Keys and their values, inserted in order, and what all caches do with them."""

    key_width: ClassVar[int] = 2
    """Coordinates of a key."""

    def __init__(
        self,
        value_width: int,
        backend: Backend,
        *,
        average: bool = False,
        k: int = 0,
        scale: float = 0.0,
    ) -> None:
        self.value_width = value_width
        self.backend = choose_backend(backend)
        made = NativeCache if self.backend == "c" else ScannedCache
        self.implementation: NativeCache | ScannedCache = made(
            self.key_width, value_width, average=average, k=k, scale=scale
        )

    def __len__(self) -> int:
        """The number of keys inserted, kept or not."""
        return self.implementation.points

    def __reduce__(self) -> Never:
        raise TypeError("a hull cache cannot be copied or pickled: keep the keys and insert again")

    @abstractmethod
    def _as_many(self, values: Floats, positions: Positions, weights: Floats) -> Many: ...

    def insert_many(self, keys: ArrayLike, values: ArrayLike) -> None:
        """Insert keys [n, key_width] with values [n, value_width], in order; all or none."""
        key_rows = as_rows(keys, self.key_width, "keys")
        value_rows = as_rows(values, self.value_width, "values")
        check_same_length(keys=key_rows, values=value_rows)
        self.implementation.insert_many(key_rows, value_rows)

    def query_many(self, queries: ArrayLike) -> Many:
        """Answer n queries [n, key_width]."""
        rows = as_rows(queries, self.key_width, "queries")
        if len(rows) and not len(self):
            raise empty_error()
        return self._as_many(*self.implementation.query_many(rows))

    def insert_and_query_many(self, keys: ArrayLike, values: ArrayLike, queries: ArrayLike) -> Many:
        """n steps of causal attention: step i inserts key i, then answers query i."""
        key_rows = as_rows(keys, self.key_width, "keys")
        value_rows = as_rows(values, self.value_width, "values")
        query_rows = as_rows(queries, self.key_width, "queries")
        check_same_length(keys=key_rows, values=value_rows, queries=query_rows)
        answers = self.implementation.insert_and_query_many(key_rows, value_rows, query_rows)
        return self._as_many(*answers)

    def hull_vertices(self) -> int:
        """Keys kept: in the plane the corners of the upper hulls and of the lower ones; without a
        compiler, all of them."""
        return self.implementation.vertices()

    def memory_bytes(self) -> int:
        """Memory held."""
        return self.implementation.memory_bytes()

    def reset(self) -> None:
        """Forget everything and free the memory."""
        self.implementation.reset()


class HardMaximumCache(Cache[FoundMany]):
    """What the caches for 2D and 3D heads have in common."""

    def __init__(self, value_width: int, ties: Ties = "latest", backend: Backend = "auto") -> None:
        check_options(value_width, ties)
        super().__init__(value_width, backend, average=ties == "average")
        self.ties = ties

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(value_width={self.value_width}, ties={self.ties!r}, "
            f"backend={self.backend!r}): {len(self)} keys"
        )

    def _as_many(self, values: Floats, positions: Positions, weights: Floats) -> FoundMany:
        return FoundMany(values, positions)

    def insert(self, key: Vector, value: Vector) -> None:
        """File `value` under `key`, at the next position."""
        self.implementation.insert(key, value)

    def query(self, query: Vector) -> tuple[float, ...]:
        """The value of the key with the highest score."""
        return self.find(query).value

    def find(self, query: Vector) -> Found:
        """The value, and the position of the latest key with the highest score."""
        if not self.implementation.points:
            raise empty_error()
        return self.implementation.query(query)

    def insert_and_query(self, key: Vector, value: Vector, query: Vector) -> tuple[float, ...]:
        """One step of causal attention: insert, then query, in one call."""
        return self.implementation.insert_and_query(key, value, query)


class HullCache(HardMaximumCache):
    """Keys in the plane, inserted one at a time; a query finds the key that scores highest.

    `ties`: which value answers when several keys have exactly the highest score: that of the
    `latest`, or the `average` of all. `backend`: `auto` is C, or Python where there is no compiler.

        >>> cache = HullCache(1, backend="python")
        >>> for j in range(4):
        ...     cache.insert((2 * j, -j * j), (10.0 * j,))
        >>> cache.query((2, 1))
        (20.0,)
    """

    def insert_and_query_heads(
        self, keys: ArrayLike, values: ArrayLike, queries: ArrayLike, columns: Columns
    ) -> Floats:
        """n steps of several heads that share their keys, and so this cache.

        Step i inserts key i, then answers the queries of all heads: [n, 2 * heads], side by side.
        Head j reads the values columns[j] of what it finds; these, too, stand side by side.
        """
        wrong = [read for read in columns if not set(read) <= set(range(self.value_width))]
        if wrong:
            raise HullError(f"columns {wrong[0]}: there are {self.value_width} values, from 0 on")
        key_rows = as_rows(keys, self.key_width, "keys")
        value_rows = as_rows(values, self.value_width, "values")
        query_rows = as_rows(queries, self.key_width * len(columns), "queries")
        check_same_length(keys=key_rows, values=value_rows, queries=query_rows)
        return self.implementation.step_heads(key_rows, value_rows, query_rows, columns)


class HullCache3D(HardMaximumCache):
    """The same for keys in space, (x, y, z).

    Not by a hull: by a forest of bounding volumes searched with exact scores (forest3d.c says why).
    Keys inside the hull are forgotten, most of them.

        >>> cache = HullCache3D(1, "average", backend="python")
        >>> cache.insert_many([(0, 0, 1), (1, 0, 1), (0, 1, 0)], [[1], [2], [30]])
        >>> cache.query((0, 0, 5))
        (1.5,)
    """

    key_width = 3


class TopKCache(Cache[AttendedMany]):
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
        super().__init__(value_width, backend, k=k, scale=float(scale))
        self.k, self.scale = k, float(scale)

    def __repr__(self) -> str:
        return (
            f"TopKCache(k={self.k}, value_width={self.value_width}, scale={self.scale}, "
            f"backend={self.backend!r}): {len(self)} keys"
        )

    def _as_many(self, values: Floats, positions: Positions, weights: Floats) -> AttendedMany:
        return AttendedMany(values, positions, weights)

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

    def _single(self, answers: AttendedMany) -> Attended:
        count = min(self.k, len(self))
        return Attended(
            tuple(answers.values[0].tolist()),
            tuple(answers.positions[0, :count].tolist()),
            tuple(answers.weights[0, :count].tolist()),
        )


AnyCache = HardMaximumCache | TopKCache


def step_together(
    caches: Sequence[AnyCache], keys: Floats, values: Floats, queries: Floats
) -> Floats:
    """n steps of causal attention for each of several caches of one kind: the heads of a layer.

    Keys and queries [caches, n, key width], values and the answers [caches, n, value width], all
    contiguous. All caches take their steps, or an error is raised and none does.
    """
    answers = np.empty_like(values)
    native = [c.implementation for c in caches if isinstance(c.implementation, NativeCache)]
    if native:
        step_rows(native, keys, values, queries, answers)
        return answers
    check_points(keys, values)
    check_coordinates(queries, "query")
    for cache, answer, *steps in zip(caches, answers, keys, values, queries, strict=True):
        answer[:] = cache.insert_and_query_many(*steps).values
    return answers
