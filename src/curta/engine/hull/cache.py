"""Hard-max attention for heads of width 2, in O(log n) per step.

Attention with a hard maximum asks: which key has the largest dot product with the query? As a
function of the direction of the query the answer changes only at the corners of the convex hull of
the keys, and no key inside the hull is ever the answer. So it is enough to keep the hull, under
insertion, and to search it by slope. Answers are those of `reference.hard_maximum`, bit for bit
alike from both backends.

Cost: O(log n) per query, O(log n) amortised per insertion, whatever the keys. Memory is that of
the hull: about n^(1/3) vertices for n random keys in a disc, n for keys on a parabola.
"""

from __future__ import annotations

from typing import ClassVar, Literal, NamedTuple, Never

from numpy.typing import ArrayLike

from curta.engine.hull.admission import (
    Columns,
    Floats,
    Positions,
    as_rows,
    check_same_length,
    empty_error,
)
from curta.engine.hull.hull2d import PythonHull2D
from curta.engine.hull.hull3d import PythonHull3D
from curta.engine.hull.native import choose_backend
from curta.engine.hull.native_hull import NativeHull
from curta.engine.hull.python_hull import PythonHull
from curta.engine.hull.reference import Found, Ties, Vector
from curta.errors import HullError

Backend = Literal["auto", "c", "python"]


class FoundMany(NamedTuple):
    """Answers to n queries: values of shape [n, value_width], positions of shape [n]."""

    values: Floats
    positions: Positions


def check_options(value_width: int, ties: str) -> None:
    if not isinstance(value_width, int) or not 1 <= value_width <= 1 << 20:
        raise HullError(f"value_width={value_width!r}: expected a whole number from 1 to 2^20")
    if ties not in ("latest", "average"):
        raise HullError(f"ties={ties!r}: expected 'latest' or 'average'")


class HardMaximumCache:
    """What the caches for 2D and 3D heads have in common."""

    _python_class: ClassVar[type[PythonHull]]

    def __init__(self, value_width: int, ties: Ties = "latest", backend: Backend = "auto") -> None:
        check_options(value_width, ties)
        self.value_width = value_width
        self.ties = ties
        self.backend = choose_backend(backend)
        self.implementation: NativeHull | PythonHull
        if self.backend == "c":
            self.implementation = NativeHull(self.key_width, value_width, ties)
        else:
            self.implementation = self._python_class(value_width, ties)

    @property
    def key_width(self) -> int:
        """Coordinates of a key: 2 or 3."""
        return self._python_class.dimension

    def __len__(self) -> int:
        """The number of keys inserted, kept on the hull or not."""
        return self.implementation.points

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(value_width={self.value_width}, ties={self.ties!r}, "
            f"backend={self.backend!r}): {len(self)} keys"
        )

    def __reduce__(self) -> Never:
        raise TypeError("a hull cache cannot be copied or pickled: keep the keys and insert again")

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

    def insert_many(self, keys: ArrayLike, values: ArrayLike) -> None:
        """Insert keys [n, key_width] with values [n, value_width], in order; all or none."""
        key_rows = as_rows(keys, self.key_width, "keys")
        value_rows = as_rows(values, self.value_width, "values")
        check_same_length(keys=key_rows, values=value_rows)
        self.implementation.insert_many(key_rows, value_rows)

    def query_many(self, queries: ArrayLike) -> FoundMany:
        """Answer n queries [n, key_width]."""
        rows = as_rows(queries, self.key_width, "queries")
        if len(rows) and not self.implementation.points:
            raise empty_error()
        return FoundMany(*self.implementation.query_many(rows))

    def insert_and_query_many(
        self, keys: ArrayLike, values: ArrayLike, queries: ArrayLike
    ) -> FoundMany:
        """n steps of causal attention: step i inserts key i, then answers query i."""
        key_rows = as_rows(keys, self.key_width, "keys")
        value_rows = as_rows(values, self.value_width, "values")
        query_rows = as_rows(queries, self.key_width, "queries")
        check_same_length(keys=key_rows, values=value_rows, queries=query_rows)
        return FoundMany(
            *self.implementation.insert_and_query_many(key_rows, value_rows, query_rows)
        )

    def hull_vertices(self) -> int:
        """Keys kept: in the plane the corners of the upper hull and of the lower one."""
        return self.implementation.vertices()

    def memory_bytes(self) -> int:
        """Memory held; an estimate for the Python backend."""
        return self.implementation.memory_bytes()

    def reset(self) -> None:
        """Forget everything and free the memory."""
        self.implementation.reset()


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

    _python_class = PythonHull2D

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
    Keys inside the hull are forgotten, most of them. Without a compiler every query scans all keys.

        >>> cache = HullCache3D(1, "average", backend="python")
        >>> cache.insert_many([(0, 0, 1), (1, 0, 1), (0, 1, 0)], [[1], [2], [30]])
        >>> cache.query((0, 0, 5))
        (1.5,)
    """

    _python_class = PythonHull3D
