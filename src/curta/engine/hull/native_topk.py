"""Nested hulls in C: topk.c behind the interface of `PythonTopK`."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from ctypes import c_void_p
from typing import Any

import numpy as np

from curta.engine.hull.admission import Floats, Positions, check_points, check_queries
from curta.engine.hull.native import native_library


class NativeTopK:
    """One `topk` of the C library, freed with this object. Not safe for two threads at once."""

    def __init__(self, width: int, k: int, scale: float) -> None:
        library: Any = native_library()
        self.width = width
        self.k = k
        self.points = 0
        self._library = library
        self.handle = library.topk_create(width, k, scale)
        weakref.finalize(self, library.topk_free, self.handle)

    def reset(self) -> None:
        self._library.topk_reset(self.handle)
        self.points = 0

    def vertices(self) -> int:
        return int(self._library.topk_vertices(self.handle))

    def memory_bytes(self) -> int:
        return int(self._library.topk_bytes(self.handle))

    def insert_many(self, keys: Floats, values: Floats) -> None:
        refused = self._library.topk_insert_many(
            self.handle, len(keys), keys.ctypes.data, values.ctypes.data
        )
        if refused >= 0:
            check_points(keys, values)
        self.points += len(keys)

    def query_many(self, queries: Floats) -> tuple[Floats, Positions, Floats]:
        answers = self._room(len(queries))
        refused = self._library.topk_query_many(
            self.handle,
            len(queries),
            queries.ctypes.data,
            *(array.ctypes.data for array in answers),
        )
        if refused >= 0:
            check_queries(queries)
        return answers

    def insert_and_query_many(
        self, keys: Floats, values: Floats, queries: Floats
    ) -> tuple[Floats, Positions, Floats]:
        answers = self._room(len(queries))
        _step_rows([self], keys, values, queries, *answers)
        return answers

    def _room(self, n: int) -> tuple[Floats, Positions, Floats]:
        return (
            np.empty((n, self.width)),
            np.empty((n, self.k), dtype=np.int64),
            np.empty((n, self.k)),
        )


def attend_rows(
    caches: Sequence[NativeTopK], keys: Floats, values: Floats, queries: Floats
) -> Floats:
    """n steps for each of several caches of one kind in one call; arrays [rows, n, ...].

    Either all rows take their steps, or none.
    """
    answers = np.empty_like(values)
    _step_rows(caches, keys, values, queries, answers, None, None)
    return answers


def _step_rows(
    caches: Sequence[NativeTopK],
    keys: Floats,
    values: Floats,
    queries: Floats,
    answers: Floats,
    positions: Positions | None,
    weights: Floats | None,
) -> None:
    steps = keys.size // (2 * len(caches))
    refused = native_library().topk_step_rows(
        (c_void_p * len(caches))(*(cache.handle for cache in caches)),
        len(caches),
        steps,
        *(array.ctypes.data for array in (keys, values, queries, answers)),
        None if positions is None else positions.ctypes.data,
        None if weights is None else weights.ctypes.data,
    )
    if refused >= 0:
        check_points(keys, values)
        check_queries(queries)
    for cache in caches:
        cache.points += steps
