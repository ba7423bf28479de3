"""What the Python implementations share: checks before anything changes, and arrays row by row."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from curta.engine.hull.admission import (
    Columns,
    Floats,
    Positions,
    as_numbers,
    check_coordinates,
    check_points,
    check_queries,
    check_values,
)
from curta.engine.hull.reference import Found, Ties, Vector


class PythonHull(ABC):
    """Points under insertion; answers what `reference.hard_maximum` defines."""

    dimension: ClassVar[int]
    points: int

    def __init__(self, width: int, ties: Ties) -> None:
        self.width = width
        self.ties = ties
        self.reset()

    @abstractmethod
    def reset(self) -> None: ...

    @abstractmethod
    def vertices(self) -> int: ...

    @abstractmethod
    def memory_bytes(self) -> int: ...

    @abstractmethod
    def _insert(self, key: Vector, value: Vector) -> None: ...

    @abstractmethod
    def _query(self, query: Vector) -> Found: ...

    def insert(self, key: Vector, value: Vector) -> None:
        key = as_numbers(key, self.dimension, "the key")
        value = as_numbers(value, self.width, "the value")
        check_coordinates(key, "the key")
        check_values(value)
        self._insert(key, value)

    def query(self, query: Vector) -> Found:
        query = as_numbers(query, self.dimension, "the query")
        check_coordinates(query, "the query")
        return self._query(query)

    def insert_and_query(self, key: Vector, value: Vector, query: Vector) -> tuple[float, ...]:
        query = as_numbers(query, self.dimension, "the query")
        check_coordinates(query, "the query")
        self.insert(key, value)
        return self._query(query).value

    def insert_many(self, keys: Floats, values: Floats) -> None:
        check_points(keys, values)
        for key, value in zip(keys.tolist(), values.tolist(), strict=True):
            self._insert(key, value)

    def query_many(self, queries: Floats) -> tuple[Floats, Positions]:
        check_queries(queries)
        return self._as_arrays([self._query(query) for query in queries.tolist()])

    def insert_and_query_many(
        self, keys: Floats, values: Floats, queries: Floats
    ) -> tuple[Floats, Positions]:
        check_points(keys, values)
        check_queries(queries)
        found = []
        for key, value, query in zip(keys.tolist(), values.tolist(), queries.tolist(), strict=True):
            self._insert(key, value)
            found.append(self._query(query))
        return self._as_arrays(found)

    def step_heads(self, keys: Floats, values: Floats, queries: Floats, columns: Columns) -> Floats:
        check_points(keys, values)
        check_queries(queries.reshape(-1, 2))
        answers = np.empty((len(keys), sum(map(len, columns))))
        for row, (key, value, asked) in enumerate(
            zip(keys.tolist(), values.tolist(), queries.tolist(), strict=True)
        ):
            self._insert(key, value)
            found = [self._query(asked[at : at + 2]).value for at in range(0, len(asked), 2)]
            answers[row] = [
                found[head][column] for head, read in enumerate(columns) for column in read
            ]
        return answers

    def _as_arrays(self, found: list[Found]) -> tuple[Floats, Positions]:
        values = np.array([answer.value for answer in found], dtype=np.float64)
        positions = np.array([answer.position for answer in found], dtype=np.int64)
        return values.reshape(len(found), self.width), positions
