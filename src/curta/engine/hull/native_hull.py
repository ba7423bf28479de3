"""Hard maximum in C: hull2d.c and hull3d.c behind the interface of `PythonHull`."""

from __future__ import annotations

import struct
import weakref
from collections.abc import Sequence
from ctypes import c_double, c_int64, c_void_p
from typing import Any

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
from curta.engine.hull.native import native_library
from curta.engine.hull.reference import Found, Ties, Vector


class NativeHull:
    """One `hull2d` or `hull3d` of the C library, freed with this object.

    Not safe for two threads at once. Single steps go through a buffer that the C side owns
    (`exchange`: key, value, query, answer): packing numbers is cheaper than passing arguments.
    """

    def __init__(self, dimension: int, width: int, ties: Ties) -> None:
        def function(name: str) -> Any:
            return getattr(library, f"hull{dimension}d_{name}")

        library = native_library()
        self.dimension = dimension
        self.width = width
        self.points = 0
        self.handle = function("create")(width, ties == "average")
        weakref.finalize(self, function("free"), self.handle)
        numbers = 2 * (dimension + width)
        self._exchange = (c_double * numbers).from_address(function("exchange")(self.handle))
        self._position = c_int64.from_address(function("position")(self.handle))
        self._pack_point = struct.Struct(f"{dimension + width}d").pack_into
        self._pack_step = struct.Struct(f"{2 * dimension + width}d").pack_into
        self._pack_query = struct.Struct(f"{dimension}d").pack_into
        self._unpack_answer = struct.Struct(f"{width}d").unpack_from
        self._query_offset = 8 * (dimension + width)
        self._answer_offset = 8 * (2 * dimension + width)
        self._call_insert, self._call_query = function("insert"), function("query")
        self._call_step = function("step")
        self._call_insert_many = function("insert_many")
        self._call_query_many = function("query_many")
        self.call_step_rows = function("step_rows")
        self._call_reset = function("reset")
        self._call_vertices, self._call_bytes = function("vertices"), function("bytes")

    def reset(self) -> None:
        self._call_reset(self.handle)
        self.points = 0

    def vertices(self) -> int:
        return int(self._call_vertices(self.handle))

    def memory_bytes(self) -> int:
        return int(self._call_bytes(self.handle))

    def insert(self, key: Vector, value: Vector) -> None:
        try:
            if len(key) != self.dimension:
                raise ValueError
            self._pack_point(self._exchange, 0, *key, *value)
        except (ValueError, TypeError, struct.error):
            as_numbers(key, self.dimension, "the key")
            as_numbers(value, self.width, "the value")
            raise
        if self._call_insert(self.handle) >= 0:
            check_coordinates(key, "the key")
            check_values(value)
        self.points += 1

    def query(self, query: Vector) -> Found:
        try:
            self._pack_query(self._exchange, self._query_offset, *query)
        except (ValueError, TypeError, struct.error):
            as_numbers(query, self.dimension, "the query")
            raise
        if self._call_query(self.handle) >= 0:
            check_coordinates(query, "the query")
        return Found(self._unpack_answer(self._exchange, self._answer_offset), self._position.value)

    def insert_and_query(self, key: Vector, value: Vector, query: Vector) -> tuple[float, ...]:
        try:
            if not len(key) == len(query) == self.dimension:
                raise ValueError
            self._pack_step(self._exchange, 0, *key, *value, *query)
        except (ValueError, TypeError, struct.error):
            as_numbers(key, self.dimension, "the key")
            as_numbers(value, self.width, "the value")
            as_numbers(query, self.dimension, "the query")
            raise
        if self._call_step(self.handle) >= 0:
            check_coordinates(key, "the key")
            check_values(value)
            check_coordinates(query, "the query")
        self.points += 1
        return self._unpack_answer(self._exchange, self._answer_offset)

    def insert_many(self, keys: Floats, values: Floats) -> None:
        refused = self._call_insert_many(
            self.handle, len(keys), keys.ctypes.data, values.ctypes.data
        )
        if refused >= 0:
            check_points(keys, values)
        self.points += len(keys)

    def query_many(self, queries: Floats) -> tuple[Floats, Positions]:
        values = np.empty((len(queries), self.width))
        positions = np.empty(len(queries), dtype=np.int64)
        refused = self._call_query_many(
            self.handle,
            len(queries),
            queries.ctypes.data,
            values.ctypes.data,
            positions.ctypes.data,
        )
        if refused >= 0:
            check_queries(queries)
        return values, positions

    def insert_and_query_many(
        self, keys: Floats, values: Floats, queries: Floats
    ) -> tuple[Floats, Positions]:
        return step_rows([self], keys, values, queries)

    def step_heads(self, keys: Floats, values: Floats, queries: Floats, columns: Columns) -> Floats:
        reads = np.array([len(read) for read in columns], dtype=np.int32)
        flat = np.array([column for read in columns for column in read], dtype=np.int32)
        answers = np.empty((len(keys), len(flat)))
        refused = native_library().hull2d_step_heads(
            self.handle,
            len(keys),
            len(columns),
            *(part.ctypes.data for part in (keys, values, queries, reads, flat, answers)),
        )
        if refused >= 0:
            check_points(keys, values)
            check_queries(queries.reshape(-1, 2))
        self.points += len(keys)
        return answers


def step_rows(
    hulls: Sequence[NativeHull], keys: Floats, values: Floats, queries: Floats
) -> tuple[Floats, Positions]:
    """n steps for each of several hulls of one kind in one call; arrays [rows, n, ...].

    With one hull the first axis may be missing. Either all rows take their steps, or none.
    """
    steps = keys.size // hulls[0].dimension
    answers = np.empty_like(values)
    positions = np.empty(values.shape[:-1], dtype=np.int64)
    refused = hulls[0].call_step_rows(
        (c_void_p * len(hulls))(*(hull.handle for hull in hulls)),
        len(hulls),
        steps // len(hulls),
        *(array.ctypes.data for array in (keys, values, queries, answers, positions)),
    )
    if refused >= 0:
        check_points(keys, values)
        check_queries(queries)
    for hull in hulls:
        hull.points += steps // len(hulls)
    return answers, positions
