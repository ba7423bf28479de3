"""The caches in C, compiled at first use and bound with ctypes.

The sources are one translation unit; `SOURCE_FILES` is its order. caches.c has the functions that
are called here: see the head of each C file.
"""

from __future__ import annotations

import struct
import weakref
from collections.abc import Iterator, Mapping, Sequence
from ctypes import Structure, addressof, c_double, c_int, c_int64, c_void_p
from functools import cache
from importlib.resources import files
from itertools import chain
from types import SimpleNamespace
from typing import Any

import numpy as np

from curta.engine.hull.admission import Array, Columns, Single, check_single, check_steps
from curta.engine.hull.reference import Attended, Vector
from curta.engine.hull.scan import Answers
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
    "caches.c",
)
SIGNATURES: Signatures = {
    "create": (c_void_p, c_int, c_int, c_int, c_int, c_double),
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
        *((name, c_void_p) for name in Answers._fields),
    )


class NativeCache:
    """One `cache` of the C library, freed with this object. Not safe for two threads at once.

    Single steps go through `_exchange` (key, value, query, answer) and requests that are made once:
    packing numbers is cheaper than passing arguments.
    """

    def __init__(
        self, dimension: int, width: int, average: bool = False, k: int = 1, scale: float = 0.0
    ) -> None:
        library = native_library()
        self.dimension, self.width, self.k = dimension, width, k
        self.points = 0
        self.run, self.library = library.run, library
        self.handle = library.create(dimension, width, average, k, scale)
        weakref.finalize(self, library.free, self.handle)
        self._exchange = (c_double * (2 * (dimension + width)))()
        self._positions, self._weights = (c_int64 * k)(), (c_double * k)(1.0)
        self._unpack = struct.Struct(f"{width}d").unpack_from
        self._answer_offset = 8 * (2 * dimension + width)
        self._single = self._single_steps()

    def _single_steps(self) -> dict[Single, tuple[int, Any, int, tuple[int, int]]]:
        """The address of a request; how its numbers are packed, and where; widths of key and query."""
        d, point, start = self.dimension, self.dimension + self.width, addressof(self._exchange)
        self._handles = (c_void_p * 1)(self.handle)
        insert = {"keys": start, "values": start + 8 * d}
        query = {"queries": start + 8 * point, "answers": start + self._answer_offset}
        query |= {"positions": addressof(self._positions), "weights": addressof(self._weights)}
        self._requests = [
            Request(addressof(self._handles), 1, 1, 1, **fields)
            for fields in (insert, query, insert | query)
        ]
        pack = [struct.Struct(f"{numbers}d").pack_into for numbers in (point, d, point + d)]
        offsets, widths = (0, 8 * point, 0), ((d, 0), (0, d), (d, d))
        steps = zip(map(addressof, self._requests), pack, offsets, widths, strict=True)
        return dict(zip(("insert", "query", "step"), steps, strict=True))

    def vertices(self) -> int:
        return int(self.library.vertices(self.handle))

    def memory_bytes(self) -> int:
        return int(self.library.bytes(self.handle))

    def single(
        self, what: Single, key: Vector = (), value: Vector = (), query: Vector = ()
    ) -> tuple[float, ...]:
        request, pack, offset, widths = self._single[what]
        try:
            if (len(key), len(query)) != widths:
                raise ValueError
            pack(self._exchange, offset, *key, *value, *query)
            admitted = self.run(request)
        except (ValueError, TypeError, struct.error):
            admitted = False
        if not admitted:
            check_single(what, self.dimension, self.width, key, value, query)
        if what != "query":
            self.points += 1
        return self._unpack(self._exchange, self._answer_offset)

    def find(self, query: Vector) -> Attended:
        value, count = self.single("query", query=query), min(self.k, self.points)
        return Attended(value, tuple(self._positions[:count]), tuple(self._weights[:count]))

    def steps(self, arrays: Mapping[str, Array], columns: Columns | None = None) -> Answers:
        n, heads, width = len(next(iter(arrays.values()))), 1, self.width
        given = dict(arrays)
        if columns is not None:
            given["reads"] = np.array([len(read) for read in columns], dtype=np.int32)
            given["columns"] = np.array([*chain.from_iterable(columns)], dtype=np.int32)
            heads, width = len(columns), len(given["columns"])
        asked = n * heads if "queries" in arrays else 0
        positions, weights = np.empty((asked, self.k), dtype=np.int64), np.ones((asked, self.k))
        answers = Answers(np.empty((n, width)), positions, weights)
        run([self], n, heads, given | answers._asdict())
        return answers


def addresses(*arrays: Array) -> Iterator[int]:
    """For C. They hold as long as the caller has the arrays."""
    return (array.ctypes.data for array in arrays)


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
