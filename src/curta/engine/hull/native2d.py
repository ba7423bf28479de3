"""The plane, in C: hull2d.c behind the interface of `PythonHull2D`, and arrays at once."""

from __future__ import annotations

import ctypes
import struct
import weakref
from typing import Any

import numpy as np

from curta.engine.hull.admission import (
    Floats,
    Positions,
    as_numbers,
    check_coordinate_array,
    check_coordinates,
    check_value_array,
    check_values,
)
from curta.engine.hull.native import native_library
from curta.engine.hull.reference import Found, Ties, Vector


class NativeHull2D:
    """One `hull2d` of the C library, freed with this object. Not safe for two threads at once.

    Single steps go through a buffer that the C side owns (`exchange`: key, value, query, answer),
    because packing numbers into it costs a third of converting them to arguments.
    """

    def __init__(self, width: int, ties: Ties) -> None:
        library: Any = native_library()
        self.width = width
        self.points = 0
        self._library = library
        self._handle = library.hull2d_create(width, ties == "average")
        weakref.finalize(self, library.hull2d_free, self._handle)
        address = library.hull2d_exchange(self._handle)
        self._exchange = (ctypes.c_double * (4 + 2 * width)).from_address(address)
        self._position = ctypes.c_int64.from_address(library.hull2d_position(self._handle))
        self._pack_point = struct.Struct(f"{2 + width}d").pack_into
        self._pack_step = struct.Struct(f"{4 + width}d").pack_into
        self._pack_query = struct.Struct("2d").pack_into
        self._unpack_answer = struct.Struct(f"{width}d").unpack_from
        self._query_offset = 8 * (2 + width)
        self._answer_offset = 8 * (4 + width)

    def reset(self) -> None:
        self._library.hull2d_reset(self._handle)
        self.points = 0

    def vertices(self) -> int:
        return int(self._library.hull2d_vertices(self._handle))

    def memory_bytes(self) -> int:
        return int(self._library.hull2d_bytes(self._handle))

    def insert(self, key: Vector, value: Vector) -> None:
        try:
            x, y = key
            self._pack_point(self._exchange, 0, x, y, *value)
        except (ValueError, TypeError, struct.error):
            as_numbers(key, 2, "the key")
            as_numbers(value, self.width, "the value")
            raise
        if self._library.hull2d_insert(self._handle) >= 0:
            check_coordinates(key, "the key")
            check_values(value)
        self.points += 1

    def query(self, query: Vector) -> Found:
        try:
            self._pack_query(self._exchange, self._query_offset, *query)
        except (ValueError, TypeError, struct.error):
            as_numbers(query, 2, "the query")
            raise
        if self._library.hull2d_query(self._handle) >= 0:
            check_coordinates(query, "the query")
        return Found(self._unpack_answer(self._exchange, self._answer_offset), self._position.value)

    def insert_and_query(self, key: Vector, value: Vector, query: Vector) -> tuple[float, ...]:
        try:
            x, y = key
            query_x, query_y = query
            self._pack_step(self._exchange, 0, x, y, *value, query_x, query_y)
        except (ValueError, TypeError, struct.error):
            as_numbers(key, 2, "the key")
            as_numbers(value, self.width, "the value")
            as_numbers(query, 2, "the query")
            raise
        if self._library.hull2d_step(self._handle) >= 0:
            check_coordinates(key, "the key")
            check_values(value)
            check_coordinates(query, "the query")
        self.points += 1
        return self._unpack_answer(self._exchange, self._answer_offset)

    def insert_many(self, keys: Floats, values: Floats) -> None:
        refused = self._library.hull2d_insert_many(
            self._handle, len(keys), keys.ctypes.data, values.ctypes.data
        )
        if refused >= 0:
            check_coordinate_array(keys, "key")
            check_value_array(values)
        self.points += len(keys)

    def query_many(self, queries: Floats) -> tuple[Floats, Positions]:
        values = np.empty((len(queries), self.width))
        positions = np.empty(len(queries), dtype=np.int64)
        refused = self._library.hull2d_query_many(
            self._handle,
            len(queries),
            queries.ctypes.data,
            values.ctypes.data,
            positions.ctypes.data,
        )
        if refused >= 0:
            check_coordinate_array(queries, "query")
        return values, positions

    def insert_and_query_many(
        self, keys: Floats, values: Floats, queries: Floats
    ) -> tuple[Floats, Positions]:
        answers = np.empty((len(queries), self.width))
        positions = np.empty(len(queries), dtype=np.int64)
        refused = self._library.hull2d_step_many(
            self._handle,
            len(keys),
            *(array.ctypes.data for array in (keys, values, queries, answers, positions)),
        )
        if refused >= 0:
            check_coordinate_array(keys, "key")
            check_value_array(values)
            check_coordinate_array(queries, "query")
        self.points += len(keys)
        return answers, positions
