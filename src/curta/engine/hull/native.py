"""The caches in C, compiled at first use and bound with ctypes.

The sources are one translation unit; `SOURCE_FILES` is its order. caches.c has the functions that
are called here: see the head of each C file.
"""

from __future__ import annotations

import struct
import weakref
from collections.abc import Mapping, Sequence
from ctypes import Structure, addressof, c_double, c_int, c_int64, c_void_p
from functools import cache
from importlib.resources import files
from itertools import chain
from types import SimpleNamespace

import numpy as np

from curta.engine.hull.admission import Array, Columns, check_point, check_query, check_steps
from curta.engine.hull.reference import Attended, AttendedMany, Vector
from curta.engine.hull.scan import Make, ScannedCache
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
    "plane.c",
    "answers.c",
    "tree3d.c",
    "prune3d.c",
    "forest3d.c",
    "filed.c",
    "caches.c",
)
SIGNATURES: Signatures = {
    "create": (c_void_p, *4 * [c_int], c_double, c_int),
    "free": (None, c_void_p),
    "bytes": (c_int64, c_void_p),
    "vertices": (c_int64, c_void_p),
    "run": (c_int, c_void_p),
}
"""What caches.c exports, as cache_create and so on."""


@cache
def native_library() -> SimpleNamespace:
    """The functions in C; raises CompilerNotFoundError where there is no compiler."""
    folder = files("curta.engine.hull")
    source = "\n".join((folder / name).read_text(encoding="utf-8") for name in SOURCE_FILES)
    path = build_library(source, name="hull", flags=("-fvisibility=hidden", "-lm"))
    return SimpleNamespace(**load_functions(path, "cache_", SIGNATURES))


def choose_backend(backend: str) -> str:
    """`c` or `python`; `auto` is C unless there is no compiler at all.

    A `$CURTA_CC` that does not work is an error for `auto` too: it was set on purpose.
    """
    if backend not in ("auto", "c", "python"):
        raise HullError(f"backend={backend!r}: expected 'auto', 'c' or 'python'")
    if backend == "python":
        return "python"
    try:
        native_library()
    except CompilerNotFoundError:
        if backend == "c" or read_settings().compiler_command is not None:
            raise
        return "python"
    return "c"


class Request(Structure):
    """`request` in caches.c."""

    _fields_ = (
        ("caches", c_void_p),
        *((name, c_int64) for name in ("rows", "steps", "heads")),
        *((name, c_void_p) for name in ("keys", "values", "queries", "reads", "columns")),
        *((name, c_void_p) for name in ("answers", "positions", "weights")),
    )


class NativeCache:
    """One `cache` of the C library, freed with this object. Not safe for two threads at once.

    Single steps go through `_exchange` (key, value, query, answer) and requests that are made once:
    packing numbers is cheaper than passing arguments.
    """

    def __init__(self, made: Make) -> None:
        library = native_library()
        self.dimension, self.width, self.k = made.dimension, made.width, made.k
        self.points = 0
        self.run, self.library = library.run, library
        self.handle = library.create(*made)
        weakref.finalize(self, library.free, self.handle)
        self._prepare_single_steps()

    def _prepare_single_steps(self) -> None:
        point, query = self.dimension + self.width, 8 * (self.dimension + self.width)
        self._query_offset, self._answer_offset = query, query + 8 * self.dimension
        self._exchange, self._handles = (c_double * (2 * point))(), (c_void_p * 1)(self.handle)
        self._positions, self._weights = (c_int64 * self.k)(), (c_double * self.k)(1.0)
        self._pack_point = struct.Struct(f"{point}d").pack_into
        self._pack_query = struct.Struct(f"{self.dimension}d").pack_into
        self._pack_step = struct.Struct(f"{point + self.dimension}d").pack_into
        self._unpack = struct.Struct(f"{self.width}d").unpack_from
        start = addressof(self._exchange)
        inserted = {"keys": start, "values": start + 8 * self.dimension}
        asked = {"queries": start + query, "answers": start + self._answer_offset}
        asked |= {"positions": addressof(self._positions), "weights": addressof(self._weights)}
        self._requests = [
            Request(addressof(self._handles), 1, 1, 1, **fields)
            for fields in (inserted, asked, inserted | asked)
        ]
        self._insert, self._query, self._step = map(addressof, self._requests)

    def vertices(self) -> int:
        return int(self.library.vertices(self.handle))

    def memory_bytes(self) -> int:
        return int(self.library.bytes(self.handle))

    def insert(self, key: Vector, value: Vector) -> None:
        try:
            self._pack_point(self._exchange, 0, *key, *value)
        except (TypeError, OverflowError, struct.error):
            check_point(key, self.dimension, value, self.width)
            raise
        if len(key) != self.dimension or not self.run(self._insert):
            check_point(key, self.dimension, value, self.width)
        self.points += 1

    def query(self, query: Vector) -> tuple[float, ...]:
        try:
            self._pack_query(self._exchange, self._query_offset, *query)
        except (TypeError, OverflowError, struct.error):
            check_query(query, self.dimension)
            raise
        if not self.run(self._query):
            check_query(query, self.dimension)
        return self._unpack(self._exchange, self._answer_offset)

    def insert_and_query(self, key: Vector, value: Vector, query: Vector) -> tuple[float, ...]:
        try:
            self._pack_step(self._exchange, 0, *key, *value, *query)
        except (TypeError, OverflowError, struct.error):
            check_point(key, self.dimension, value, self.width)
            check_query(query, self.dimension)
            raise
        if not (len(key) == len(query) == self.dimension and self.run(self._step)):
            check_point(key, self.dimension, value, self.width)
            check_query(query, self.dimension)
        self.points += 1
        return self._unpack(self._exchange, self._answer_offset)

    def find(self, query: Vector) -> Attended:
        value, count = self.query(query), min(self.k, self.points)
        return Attended(value, tuple(self._positions[:count]), tuple(self._weights[:count]))

    def steps(self, arrays: Mapping[str, Array], columns: Columns | None = None) -> AttendedMany:
        """As in scan.py; with `columns` there are no positions and weights."""
        n, heads, width, asked = len(next(iter(arrays.values()))), 1, self.width, 0
        given = dict(arrays)
        if columns is not None:
            given["reads"] = np.array([len(read) for read in columns], dtype=np.int32)
            given["columns"] = np.array([*chain.from_iterable(columns)], dtype=np.int32)
            heads, width = len(columns), len(given["columns"])
        elif "queries" in arrays:
            asked = n
        given["answers"] = answers = np.empty((n, width))
        positions, weights = np.empty((asked, self.k), dtype=np.int64), np.ones((asked, self.k))
        if asked:
            given |= {"positions": positions, "weights": weights}
        run([self], n, heads, given)
        return AttendedMany(answers, positions, weights)


def new_implementation(backend: str, made: Make) -> NativeCache | ScannedCache:
    return NativeCache(made) if choose_backend(backend) == "c" else ScannedCache(made)


def run(caches: Sequence[NativeCache], steps: int, heads: int, arrays: Mapping[str, Array]) -> None:
    """Several steps of each cache, over the arrays of a `Request`; all of them or none."""
    handles = (c_void_p * len(caches))(*(one.handle for one in caches))
    pointers = {name: array.ctypes.data for name, array in arrays.items()}
    request = Request(addressof(handles), len(caches), steps, heads, **pointers)
    if not native_library().run(addressof(request)):
        check_steps(arrays, heads)
    if "keys" in arrays:
        for one in caches:
            one.points += steps
