"""Attention for narrow heads, from caches that do not look at every key.

docs/hull.md has the idea and what it costs, plane.c the proof that k nested hulls are enough.
Answers are those of reference.py, whatever the backend.
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
    check_steps,
    empty_error,
)
from curta.engine.hull.native import NativeCache, choose_backend, new_implementation, run
from curta.engine.hull.reference import Attended, AttendedMany, Found, Ties, Vector
from curta.engine.hull.scan import Make
from curta.errors import HullError

Backend = Literal["auto", "c", "python"]
LARGEST_K = 1 << 16


class FoundMany(NamedTuple):
    """Answers to n queries: values of shape [n, value_width], positions of shape [n]."""

    values: Floats
    positions: Positions


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

    def __init__(self, backend: Backend, made: Make) -> None:
        self.value_width, self.made = made.width, made
        self.backend = choose_backend(backend)
        self.reset()

    def reset(self) -> None:
        """Forget everything and free the memory."""
        self.implementation = new_implementation(self.backend, self.made)

    def __len__(self) -> int:
        """The number of keys inserted, kept or not."""
        return self.implementation.points

    def __reduce__(self) -> Never:
        raise TypeError("a hull cache cannot be copied or pickled: keep the keys and insert again")

    @abstractmethod
    def _as_many(self, found: AttendedMany) -> Many: ...

    # -- one at a time ------------------------------------------------------------------------

    def insert(self, key: Vector, value: Vector) -> None:
        """File `value` under `key`, at the next position."""
        self.implementation.insert(key, value)

    def query(self, query: Vector) -> tuple[float, ...]:
        """The value that answers: of the key with the highest score, or the mean of the k best
        under the softmax of their scores.
        """
        if not self.implementation.points:
            raise empty_error()
        return self.implementation.query(query)

    def insert_and_query(self, key: Vector, value: Vector, query: Vector) -> tuple[float, ...]:
        """One step of causal attention: insert, then query, in one call."""
        return self.implementation.insert_and_query(key, value, query)

    # -- many ---------------------------------------------------------------------------------

    def insert_many(self, keys: ArrayLike, values: ArrayLike) -> None:
        """Insert keys [n, key_width] with values [n, value_width], in order; all or none."""
        self.implementation.steps(self._points(keys, values))

    def query_many(self, queries: ArrayLike) -> Many:
        """Answer n queries [n, key_width]."""
        rows = as_rows(queries, self.key_width, "queries")
        if len(rows) and not len(self):
            raise empty_error()
        return self._as_many(self.implementation.steps({"queries": rows}))

    def insert_and_query_many(self, keys: ArrayLike, values: ArrayLike, queries: ArrayLike) -> Many:
        """n steps of causal attention: step i inserts key i, then answers query i."""
        return self._as_many(self.implementation.steps(self._points(keys, values, queries)))

    def _points(
        self, keys: ArrayLike, values: ArrayLike, queries: ArrayLike | None = None, heads: int = 1
    ) -> dict[str, Floats]:
        arrays = {
            "keys": as_rows(keys, self.key_width, "keys"),
            "values": as_rows(values, self.value_width, "values"),
        }
        if queries is not None:
            arrays["queries"] = as_rows(queries, self.key_width * heads, "queries")
        count = len(arrays["keys"])
        for name, array in arrays.items():
            if len(array) != count:
                raise HullError(f"{count} keys, {len(array)} {name}: expected as many of each")
        return arrays

    # -- memory -------------------------------------------------------------------------------

    def hull_vertices(self) -> int:
        """Keys kept: in the plane the corners of the upper hulls and of the lower ones; without a
        compiler, all of them."""
        return self.implementation.vertices()

    def memory_bytes(self) -> int:
        """Memory held."""
        return self.implementation.memory_bytes()


class HullCache(Cache[FoundMany]):
    """Keys in the plane, inserted one at a time; a query finds the key that scores highest.

    `ties`: which value answers when several keys have exactly the highest score: that of the
    `latest`, or the `average` of all. `backend`: `auto` is C, or Python where there is no compiler.

        >>> cache = HullCache(1, backend="python")
        >>> for j in range(4):
        ...     cache.insert((2 * j, -j * j), (10.0 * j,))
        >>> cache.query((2, 1))
        (20.0,)
    """

    def __init__(self, value_width: int, ties: Ties = "latest", backend: Backend = "auto") -> None:
        check_options(value_width, ties)
        self.ties = ties
        super().__init__(backend, Make(self.key_width, value_width, ties == "average"))

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(value_width={self.value_width}, ties={self.ties!r}, "
            f"backend={self.backend!r}): {len(self)} keys"
        )

    def _as_many(self, found: AttendedMany) -> FoundMany:
        return FoundMany(found.values, found.positions[:, 0])

    def find(self, query: Vector) -> Found:
        """The value, and the position of the latest key with the highest score."""
        if not self.implementation.points:
            raise empty_error()
        found = self.implementation.find(query)
        return Found(found.value, found.positions[0])

    def insert_and_query_heads(
        self, keys: ArrayLike, values: ArrayLike, queries: ArrayLike, columns: Columns
    ) -> Floats:
        """n steps of several heads that share their keys, and so this cache.

        Step i inserts key i, then answers the queries of all heads, side by side: [n, key width *
        heads]. Head j reads the values columns[j] of what it finds; these, too, stand side by side.
        """
        wrong = [read for read in columns if not set(read) <= set(range(self.value_width))]
        if wrong:
            raise HullError(f"columns {wrong[0]}: there are {self.value_width} values, from 0 on")
        arrays = self._points(keys, values, queries, len(columns))
        return self.implementation.steps(arrays, columns).values


class HullCache3D(HullCache):
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
        self.k, self.scale = k, float(scale)
        super().__init__(backend, Make(2, value_width, k=k, scale=self.scale))

    def __repr__(self) -> str:
        return (
            f"TopKCache(k={self.k}, value_width={self.value_width}, scale={self.scale}, "
            f"backend={self.backend!r}): {len(self)} keys"
        )

    def _as_many(self, found: AttendedMany) -> AttendedMany:
        return found

    def find(self, query: Vector) -> Attended:
        """The value, and the winners' positions and weights, best first."""
        if not self.implementation.points:
            raise empty_error()
        return self.implementation.find(query)


AnyCache = HullCache | TopKCache


def step_together(
    caches: Sequence[AnyCache], keys: Floats, values: Floats, queries: Floats
) -> Floats:
    """n steps of causal attention for each of several caches of one kind: the heads of a layer.

    Keys and queries [caches, n, key width], values and the answers [caches, n, value width], all
    contiguous. All caches take their steps, or an error is raised and none does.
    """
    arrays = {"keys": keys, "values": values, "queries": queries}
    native = [c.implementation for c in caches if isinstance(c.implementation, NativeCache)]
    if native:
        answers = np.empty_like(values)
        run(native, keys.shape[1], 1, arrays | {"answers": answers})
        return answers
    check_steps(arrays)
    rows = zip(caches, keys, values, queries, strict=True)
    return np.array([cache.insert_and_query_many(*steps).values for cache, *steps in rows])
