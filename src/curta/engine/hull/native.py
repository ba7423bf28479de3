"""The caches in C, compiled at first use and bound with ctypes.

The sources are one translation unit; `SOURCE_FILES` is its order. caches.c has the functions that
are called here: see the head of each C file.
"""

from __future__ import annotations

import struct
import weakref
from collections.abc import Iterator, Sequence
from ctypes import c_double, c_int, c_int64, c_void_p
from functools import cache
from importlib.resources import files
from types import SimpleNamespace
from typing import Any

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
from curta.engine.hull.reference import Found, Vector
from curta.engine.toolchain import Signatures, build_library, load_functions
from curta.errors import CompilerNotFoundError, HullError
from curta.settings import read_settings

SOURCE_FILES = (
    "wide.c",
    "predicates.c",
    "columns.c",
    "records.c",
    "tree.c",
    "summits.c",
    "chain.c",
    "hull2d.c",
    "topk.c",
    "topk_query.c",
    "tree3d.c",
    "prune3d.c",
    "forest3d.c",
    "caches.c",
)
SIGNATURES: Signatures = {
    "create": (c_void_p, c_int, c_int, c_int, c_int, c_double),
    "free": (None, c_void_p),
    "reset": (None, c_void_p),
    "bytes": (c_int64, c_void_p),
    "vertices": (c_int64, c_void_p),
    "insert_many": (c_int64, c_void_p, c_int64, *2 * [c_void_p]),
    "query_many": (c_int64, c_void_p, c_int64, *4 * [c_void_p]),
    "step_rows": (c_int64, c_void_p, c_int64, c_int64, *6 * [c_void_p]),
    "step_heads": (c_int64, c_void_p, c_int64, c_int64, *6 * [c_void_p]),
    "exchange": (c_void_p, c_void_p),
    "position": (c_void_p, c_void_p),
    "insert": (c_int64, c_void_p),
    "query": (c_int64, c_void_p),
    "step": (c_int64, c_void_p),
}
"""What caches.c exports, as cache_create and so on."""


def source_text() -> str:
    """The C of this package as one translation unit."""
    folder = files("curta.engine.hull")
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in SOURCE_FILES)


@cache
def native_library() -> SimpleNamespace:
    """The functions in C; raises CompilerNotFoundError where there is no compiler."""
    flags = ("-fvisibility=hidden", "-lm")
    path = build_library(source_text(), name="hull", flags=flags)
    return SimpleNamespace(**load_functions(path, "cache_", SIGNATURES))


def choose_backend(backend: str) -> str:
    """`c` or `python`; `auto` is C unless there is no compiler at all.

    A `$CURTA_CC` that does not work is an error for `auto` too: it was set on purpose.
    """
    if backend == "python":
        return "python"
    if backend == "c":
        native_library()
        return "c"
    if backend != "auto":
        raise HullError(f"backend={backend!r}: expected 'auto', 'c' or 'python'")
    try:
        native_library()
    except CompilerNotFoundError:
        if read_settings().compiler_command is not None:
            raise
        return "python"
    return "c"


class NativeCache:
    """One `cache` of the C library, freed with this object. Not safe for two threads at once.

    Single steps of the hard maximum go through a buffer that the C side owns (`exchange`: key,
    value, query, answer): packing numbers is cheaper than passing arguments.
    """

    def __init__(
        self, dimension: int, width: int, *, average: bool = False, k: int = 0, scale: float = 0.0
    ) -> None:
        library = native_library()
        self.dimension, self.width, self.k = dimension, width, k
        self.points = 0
        self.library = library
        self.handle = library.create(dimension, width, average, k, scale)
        weakref.finalize(self, library.free, self.handle)
        numbers = 2 * (dimension + width)
        self._exchange = (c_double * numbers).from_address(library.exchange(self.handle))
        self._position = c_int64.from_address(library.position(self.handle))
        self._pack_point = struct.Struct(f"{dimension + width}d").pack_into
        self._pack_step = struct.Struct(f"{2 * dimension + width}d").pack_into
        self._pack_query = struct.Struct(f"{dimension}d").pack_into
        self._unpack_answer = struct.Struct(f"{width}d").unpack_from
        self._query_offset = 8 * (dimension + width)
        self._answer_offset = 8 * (2 * dimension + width)
        self._call_insert, self._call_query = library.insert, library.query
        self._call_step = library.step

    def reset(self) -> None:
        self.library.reset(self.handle)
        self.points = 0

    def vertices(self) -> int:
        return int(self.library.vertices(self.handle))

    def memory_bytes(self) -> int:
        return int(self.library.bytes(self.handle))

    # -- one at a time ------------------------------------------------------------------------

    def insert(self, key: Vector, value: Vector) -> None:
        try:
            if len(key) != self.dimension:
                raise ValueError
            self._pack_point(self._exchange, 0, *key, *value)
        except (ValueError, TypeError, struct.error):
            as_point(key, self.dimension, value, self.width)
            raise
        if self._call_insert(self.handle) >= 0:
            as_point(key, self.dimension, value, self.width)
        self.points += 1

    def query(self, query: Vector) -> Found:
        try:
            self._pack_query(self._exchange, self._query_offset, *query)
        except (ValueError, TypeError, struct.error):
            as_coordinates(query, self.dimension, "query")
            raise
        if self._call_query(self.handle) >= 0:
            as_coordinates(query, self.dimension, "query")
        return Found(self._unpack_answer(self._exchange, self._answer_offset), self._position.value)

    def insert_and_query(self, key: Vector, value: Vector, query: Vector) -> tuple[float, ...]:
        try:
            if not len(key) == len(query) == self.dimension:
                raise ValueError
            self._pack_step(self._exchange, 0, *key, *value, *query)
        except (ValueError, TypeError, struct.error):
            as_point(key, self.dimension, value, self.width)
            as_coordinates(query, self.dimension, "query")
            raise
        if self._call_step(self.handle) >= 0:
            as_point(key, self.dimension, value, self.width)
            as_coordinates(query, self.dimension, "query")
        self.points += 1
        return self._unpack_answer(self._exchange, self._answer_offset)

    # -- many ---------------------------------------------------------------------------------

    def insert_many(self, keys: Floats, values: Floats) -> None:
        pointers = addresses(keys, values)
        if self.library.insert_many(self.handle, len(keys), *pointers) >= 0:
            check_points(keys, values)
        self.points += len(keys)

    def query_many(self, queries: Floats) -> tuple[Floats, Positions, Floats]:
        answers = self._room(len(queries))
        pointers = addresses(queries, *answers)
        if self.library.query_many(self.handle, len(queries), *pointers) >= 0:
            check_coordinates(queries, "query")
        return answers

    def insert_and_query_many(
        self, keys: Floats, values: Floats, queries: Floats
    ) -> tuple[Floats, Positions, Floats]:
        answers = self._room(len(queries))
        step_rows([self], keys, values, queries, *answers)
        return answers

    def step_heads(self, keys: Floats, values: Floats, queries: Floats, columns: Columns) -> Floats:
        reads = np.array([len(read) for read in columns], dtype=np.int32)
        flat = np.array([column for read in columns for column in read], dtype=np.int32)
        answers = np.empty((len(keys), len(flat)))
        pointers = addresses(keys, values, queries, reads, flat, answers)
        if self.library.step_heads(self.handle, len(keys), len(columns), *pointers) >= 0:
            check_points(keys, values)
            check_coordinates(queries.reshape(-1, self.dimension), "query")
        self.points += len(keys)
        return answers

    def _room(self, n: int) -> tuple[Floats, Positions, Floats]:
        """For values, positions and weights; the hard maximum has one position and no weights."""
        positions = np.empty((n, self.k) if self.k else n, dtype=np.int64)
        return np.empty((n, self.width)), positions, np.empty((n, self.k))


def addresses(*arrays: np.ndarray[Any, Any]) -> Iterator[int]:
    """For C. They hold as long as the caller has the arrays."""
    return (array.ctypes.data for array in arrays)


def step_rows(
    caches: Sequence[NativeCache],
    keys: Floats,
    values: Floats,
    queries: Floats,
    answers: Floats,
    *explained: Floats | Positions,
) -> None:
    """n steps for each of several caches of one kind in one call; arrays [rows, n, ...].

    With one cache the first axis may be missing. Either all rows take their steps, or none.
    Positions and weights are written if there are arrays for them.
    """
    steps = keys.size // (caches[0].dimension * len(caches))
    handles = (c_void_p * len(caches))(*(one.handle for one in caches))
    pointers = addresses(keys, values, queries, answers)
    others = addresses(*explained) if explained else (None, None)
    library = caches[0].library
    if library.step_rows(handles, len(caches), steps, *pointers, *others) >= 0:
        check_points(keys, values)
        check_coordinates(queries, "query")
    for one in caches:
        one.points += steps
