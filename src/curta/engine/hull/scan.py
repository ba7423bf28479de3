"""All keys compared with every query: what a cache answers where there is no compiler.

The definition (`reference.py`), given only those keys that can be among the best. Scores rounded
to float64 are off by less than 2^-48 of the sum of their terms' sizes, and 2^-1000 where something
underflows; where something overflows that sum is infinite. O(n) per query, and all keys are kept:
the C has the hulls.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from curta.engine.hull.admission import (
    Array,
    Columns,
    Floats,
    Positions,
    check_point,
    check_query,
    check_steps,
)
from curta.engine.hull.reference import Attended, AttendedMany, Ties, Vector, attend, hard_maximum

SLACK = 2.0**-48
UNDERFLOW_SLACK = 2.0**-1000


class Make(NamedTuple):
    """What a cache is made with: the arguments of cache_create (caches.c)."""

    dimension: int
    width: int
    average: bool = False
    k: int = 1
    scale: float = 0.0
    filed: bool = False
    """Entries by digits, as filed.c says."""


class ScannedCache:
    """What `NativeCache` answers, from arrays of all keys that double when full."""

    def __init__(self, made: Make) -> None:
        self.dimension, self.width, average, self.k, self.scale, _ = made
        self.ties: Ties = "average" if average else "latest"
        self.points = 0
        self._keys, self._values = np.empty((16, self.dimension)), np.empty((16, self.width))

    def vertices(self) -> int:
        return self.points

    def memory_bytes(self) -> int:
        return int(self._keys.nbytes + self._values.nbytes)

    def insert(self, key: Vector, value: Vector) -> None:
        check_point(key, self.dimension, value, self.width)
        self._append(np.array([key], dtype=float), np.array([value], dtype=float))

    def query(self, query: Vector) -> tuple[float, ...]:
        return self.find(query).value

    def find(self, query: Vector) -> Attended:
        check_query(query, self.dimension)
        return self._answer(np.array(query, dtype=float), self.points)

    def insert_and_query(self, key: Vector, value: Vector, query: Vector) -> tuple[float, ...]:
        check_query(query, self.dimension)
        self.insert(key, value)
        return self.query(query)

    def steps(self, arrays: Mapping[str, Array], columns: Columns | None = None) -> AttendedMany:
        """n steps: insert a key, if there are any, then answer, if there are queries. There may be
        several heads, with queries side by side: each reads some `columns` of the values.
        """
        heads = 1 if columns is None else len(columns)
        check_steps(arrays, heads)
        n, before = len(next(iter(arrays.values()))), self.points
        if "keys" in arrays:
            self._append(arrays["keys"], arrays["values"])
        grown = np.arange(n) + 1 if "keys" in arrays else np.zeros(n, dtype=np.int64)
        queries = arrays.get("queries", np.empty((0, self.dimension)))
        seen = (before + grown).repeat(heads)[: queries.size // self.dimension]
        found = self._answers(queries.reshape(-1, self.dimension), seen)
        if columns is None:
            return found
        apart = found.values.reshape(n, heads, self.width)
        read = [apart[:, head, list(read)] for head, read in enumerate(columns)]
        return found._replace(values=np.concatenate([np.empty((n, 0)), *read], axis=1))

    def _append(self, keys: Floats, values: Floats) -> None:
        end = self.points + len(keys)
        while end > len(self._keys):
            self._keys = np.concatenate([self._keys, np.empty_like(self._keys)])
            self._values = np.concatenate([self._values, np.empty_like(self._values)])
        self._keys[self.points : end] = keys
        self._values[self.points : end] = values
        self.points = end

    # -- answers ------------------------------------------------------------------------------

    def _answers(self, queries: Floats, seen: Positions) -> AttendedMany:
        """Every query sees the first so many keys."""
        values = np.empty((len(queries), self.width))
        positions = np.full((len(queries), self.k), -1, dtype=np.int64)
        weights = np.zeros((len(queries), self.k))
        for row, (query, count) in enumerate(zip(queries, seen.tolist(), strict=True)):
            answer = self._answer(query, count)
            values[row] = answer.value
            positions[row, : len(answer.positions)] = answer.positions
            weights[row, : len(answer.weights)] = answer.weights
        return AttendedMany(values, positions, weights)

    def _answer(self, query: Floats, seen: int) -> Attended:
        chosen = self._contenders(query, seen)
        keys, values = self._keys[chosen].tolist(), self._values[chosen].tolist()
        if self.k > 1:
            answer = attend(keys, values, query.tolist(), self.k, self.scale)
        else:
            value, position = hard_maximum(keys, values, query.tolist(), self.ties)
            answer = Attended(value, (position,), (1.0,))
        return answer._replace(positions=tuple(chosen[list(answer.positions)].tolist()))

    def _contenders(self, query: Floats, seen: int) -> Positions:
        """The keys that can be among the k best."""
        keys, wanted = self._keys[:seen], min(self.k, seen)
        with np.errstate(all="ignore"):
            direction = scaled(query)
            rounded = keys @ direction
            slack = SLACK * (np.abs(keys) @ np.abs(direction)) + UNDERFLOW_SLACK
            lowest = rounded - slack
            lowest[np.isnan(lowest)] = -np.inf
            floor = np.partition(lowest, -wanted)[-wanted]
            return np.flatnonzero(~(rounded + slack < floor))


def scaled(query: Floats) -> Floats:
    """The query times a power of two, of a size near 1, so that hardly anything overflows.

    Where that would lose bits of a small coordinate, the query itself.
    """
    exponent = math.frexp(np.abs(query).max())[1]
    found = np.ldexp(query, -exponent)
    return found if np.array_equal(np.ldexp(found, exponent), query) else query
