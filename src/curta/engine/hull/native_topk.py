"""Nested hulls in C: topk.c behind the interface of `PythonTopK`."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from curta.engine.hull.admission import Floats, Positions
from curta.engine.hull.native import native_library


class NativeTopK:
    """One `topk` of the C library, freed with this object. Not safe for two threads at once."""

    def __init__(self, width: int, k: int, scale: float) -> None:
        library: Any = native_library()
        self.width = width
        self.k = k
        self.points = 0
        self._library = library
        self._handle = library.topk_create(width, k, scale)
        weakref.finalize(self, library.topk_free, self._handle)

    def reset(self) -> None:
        self._library.topk_reset(self._handle)
        self.points = 0

    def vertices(self) -> int:
        return int(self._library.topk_vertices(self._handle))

    def memory_bytes(self) -> int:
        return int(self._library.topk_bytes(self._handle))

    def insert_many(self, keys: Floats, values: Floats) -> None:
        self._library.topk_insert_many(
            self._handle, len(keys), keys.ctypes.data, values.ctypes.data
        )
        self.points += len(keys)

    def query_many(self, queries: Floats) -> tuple[Floats, Positions, Floats]:
        answers = self._room(len(queries))
        self._library.topk_query_many(
            self._handle,
            len(queries),
            queries.ctypes.data,
            *(array.ctypes.data for array in answers),
        )
        return answers

    def insert_and_query_many(
        self, keys: Floats, values: Floats, queries: Floats
    ) -> tuple[Floats, Positions, Floats]:
        answers = self._room(len(queries))
        self._library.topk_step_many(
            self._handle,
            len(keys),
            *(array.ctypes.data for array in (keys, values, queries, *answers)),
        )
        self.points += len(keys)
        return answers

    def _room(self, n: int) -> tuple[Floats, Positions, Floats]:
        return (
            np.empty((n, self.width)),
            np.empty((n, self.k), dtype=np.int64),
            np.empty((n, self.k)),
        )
