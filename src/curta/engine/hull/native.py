"""The C implementation, compiled at first use and bound with ctypes.

The sources are one translation unit; `SOURCE_FILES` is its order. Nothing here knows what the
functions mean: see the head of each C file.
"""

from __future__ import annotations

import ctypes
from ctypes import c_double, c_int, c_int64, c_void_p
from functools import cache
from importlib.resources import files
from typing import Any

from curta.engine.toolchain import build_library, load_library
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
    "hull3d.c",
)

_POINTER = c_void_p
_HARD_MAXIMUM: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "create": (_POINTER, (c_int, c_int)),
    "free": (None, (_POINTER,)),
    "reset": (None, (_POINTER,)),
    "bytes": (c_int64, (_POINTER,)),
    "vertices": (c_int64, (_POINTER,)),
    "insert_many": (c_int64, (_POINTER, c_int64, _POINTER, _POINTER)),
    "query_many": (c_int64, (_POINTER, c_int64, _POINTER, _POINTER, _POINTER)),
    "step_rows": (c_int64, (_POINTER, c_int64, c_int64, *[_POINTER] * 5)),
    "exchange": (_POINTER, (_POINTER,)),
    "position": (_POINTER, (_POINTER,)),
    "insert": (c_int64, (_POINTER,)),
    "query": (c_int64, (_POINTER,)),
    "step": (c_int64, (_POINTER,)),
}
_SIGNATURES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    **{
        f"hull{dimension}d_{name}": signature
        for dimension in (2, 3)
        for name, signature in _HARD_MAXIMUM.items()
    },
    "hull2d_step_heads": (c_int64, (_POINTER, c_int64, c_int64, *[_POINTER] * 6)),
    "topk_create": (_POINTER, (c_int, c_int, c_double)),
    "topk_free": (None, (_POINTER,)),
    "topk_reset": (None, (_POINTER,)),
    "topk_bytes": (c_int64, (_POINTER,)),
    "topk_vertices": (c_int64, (_POINTER,)),
    "topk_insert_many": (c_int64, (_POINTER, c_int64, *[_POINTER] * 2)),
    "topk_query_many": (c_int64, (_POINTER, c_int64, *[_POINTER] * 4)),
    "topk_step_rows": (c_int64, (_POINTER, c_int64, c_int64, *[_POINTER] * 6)),
}


def source_text() -> str:
    """The C of this package as one translation unit."""
    folder = files("curta.engine.hull")
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in SOURCE_FILES)


@cache
def native_library() -> ctypes.CDLL:
    """The loaded library; raises CompilerNotFoundError where there is no compiler."""
    flags = ("-fvisibility=hidden", "-lm")
    library = load_library(build_library(source_text(), name="hull", flags=flags))
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    return library


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
