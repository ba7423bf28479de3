"""All keys compared with every query: what a cache answers where there is no compiler.

The definition (`reference.py`), with most of its work done in float64. Rounded scores are off by
less than 2^-48 of the sum of their terms' sizes, and 2^-1000 where something underflows; where
something overflows that sum is infinite. Keys whose rounded score could be among the best are
compared in rational arithmetic. O(n) per query, and all keys are kept: the C has the hulls.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from sys import float_info

import numpy as np

from curta.engine.hull.admission import (
    Columns,
    Floats,
    Positions,
    as_coordinates,
    as_point,
    check_coordinates,
    check_points,
)
from curta.engine.hull.reference import Attended, Found, Vector, score

SLACK = 2.0**-48
UNDERFLOW_SLACK = 2.0**-1000
LOWEST = -Fraction(float_info.max)


class ScannedCache:
    """What `NativeCache` answers, from arrays of all keys that double when full."""

    def __init__(
        self, dimension: int, width: int, *, average: bool = False, k: int = 0, scale: float = 0.0
    ) -> None:
        self.dimension, self.width = dimension, width
        self.average, self.k, self.scale = average, k, scale
        self.reset()

    def reset(self) -> None:
        self.points = 0
        self._keys = np.empty((16, self.dimension))
        self._values = np.empty((16, self.width))

    def vertices(self) -> int:
        return self.points

    def memory_bytes(self) -> int:
        return int(self._keys.nbytes + self._values.nbytes)

    # -- one at a time ------------------------------------------------------------------------

    def insert(self, key: Vector, value: Vector) -> None:
        self._append(*as_point(key, self.dimension, value, self.width))

    def query(self, query: Vector) -> Found:
        return self._found(as_coordinates(query, self.dimension, "query")[0], self.points)

    def insert_and_query(self, key: Vector, value: Vector, query: Vector) -> tuple[float, ...]:
        as_coordinates(query, self.dimension, "query")
        self.insert(key, value)
        return self.query(query).value

    # -- many ---------------------------------------------------------------------------------

    def insert_many(self, keys: Floats, values: Floats) -> None:
        check_points(keys, values)
        self._append(keys, values)

    def query_many(self, queries: Floats) -> tuple[Floats, Positions, Floats]:
        check_coordinates(queries, "query")
        return self._answers(queries, [self.points] * len(queries))

    def insert_and_query_many(
        self, keys: Floats, values: Floats, queries: Floats
    ) -> tuple[Floats, Positions, Floats]:
        check_coordinates(queries, "query")
        self.insert_many(keys, values)
        return self._answers(queries, range(self.points - len(keys) + 1, self.points + 1))

    def step_heads(self, keys: Floats, values: Floats, queries: Floats, columns: Columns) -> Floats:
        apart = queries.reshape(-1, self.dimension)
        seen = np.arange(self.points + 1, self.points + len(keys) + 1).repeat(len(columns))
        check_coordinates(apart, "query")
        self.insert_many(keys, values)
        found = self._answers(apart, seen.tolist())[0].reshape(len(keys), len(columns), self.width)
        answers = [found[:, head, list(read)] for head, read in enumerate(columns)]
        return np.concatenate([np.empty((len(keys), 0)), *answers], axis=1)

    def _append(self, keys: Floats, values: Floats) -> None:
        end = self.points + len(keys)
        while end > len(self._keys):
            self._keys = np.concatenate([self._keys, np.empty_like(self._keys)])
            self._values = np.concatenate([self._values, np.empty_like(self._values)])
        self._keys[self.points : end] = keys
        self._values[self.points : end] = values
        self.points = end

    # -- answers ------------------------------------------------------------------------------

    def _answers(self, queries: Floats, seen: Iterable[int]) -> tuple[Floats, Positions, Floats]:
        """Every query sees the first so many keys."""
        values = np.empty((len(queries), self.width))
        positions = np.full((len(queries), max(self.k, 1)), -1, dtype=np.int64)
        weights = np.zeros((len(queries), self.k))
        for row, (query, count) in enumerate(zip(queries, seen, strict=True)):
            if self.k:
                attended = self._attended(query, count)
                values[row] = attended.value
                positions[row, : len(attended.positions)] = attended.positions
                weights[row, : len(attended.weights)] = attended.weights
            else:
                values[row], positions[row] = self._found(query, count)
        return values, positions if self.k else positions[:, 0], weights

    def _found(self, query: Floats, seen: int) -> Found:
        ranked = self._ranked(query, seen)
        winners = [position for s, position in ranked if s == ranked[0][0]]
        latest = winners[0]
        if not self.average:
            return Found(tuple(self._values[latest].tolist()), latest)
        columns = self._values[winners].T.tolist()
        return Found(tuple(math.fsum(column) / len(winners) for column in columns), latest)

    def _attended(self, query: Floats, seen: int) -> Attended:
        """Weights exp(scale * (score - best score))."""
        ranked = self._ranked(query, seen)[: self.k]
        positions = tuple(position for _, position in ranked)
        below = (float(max(s - ranked[0][0], LOWEST)) for s, _ in ranked)
        weights = np.array([math.exp(self.scale * difference) for difference in below])
        weights /= weights.sum()
        value = weights @ self._values[list(positions)]
        return Attended(tuple(value.tolist()), positions, tuple(weights.tolist()))

    def _ranked(self, query: Floats, seen: int) -> list[tuple[Fraction, int]]:
        """Exact scores and positions from the best on: as many as are asked for, and ties."""
        if not query.any():
            latest = range(seen - 1, -1, -1)
            return [(Fraction(0), position) for position in latest[: self.k or seen]]
        keys, wanted = self._keys[:seen], min(max(self.k, 1), seen)
        with np.errstate(all="ignore"):
            direction = scaled(query)
            rounded = keys @ direction
            slack = SLACK * (np.abs(keys) @ np.abs(direction)) + UNDERFLOW_SLACK
            lowest = rounded - slack
            lowest[np.isnan(lowest)] = -np.inf
            floor = lowest.max() if wanted == 1 else np.partition(lowest, -wanted)[-wanted]
            contenders = np.flatnonzero(~(rounded + slack < floor)).tolist()
        if len(contenders) == 1:
            return [(Fraction(0), contenders[0])]
        rows = [tuple(row) for row in keys[contenders].tolist()]
        exact = {row: score(row, query.tolist()) for row in set(rows)}
        return sorted(zip(map(exact.__getitem__, rows), contenders, strict=True), reverse=True)


def scaled(query: Floats) -> Floats:
    """The query times a power of two, of a size near 1, so that hardly anything overflows.

    Where that would lose bits of a small coordinate, the query itself.
    """
    exponent = math.frexp(np.abs(query).max())[1]
    found = np.ldexp(query, -exponent)
    return found if np.array_equal(np.ldexp(found, exponent), query) else query
