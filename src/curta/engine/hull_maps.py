"""The maps of a model over a block of positions [slot, position], for the hull level.

Almost all weights are zero. In NumPy only those rows and columns are multiplied that have others;
in C (hull_maps.c) only the weights themselves.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_int64, c_void_p
from functools import cache
from importlib.resources import files
from typing import Protocol

import numpy as np
import numpy.typing as npt

from curta.compiler.model import Model
from curta.engine.hull import Backend
from curta.engine.hull.native import choose_backend
from curta.engine.toolchain import build_library, load_library

Matrix = npt.NDArray[np.float64]
TILE = 32
"""As in hull_maps.c."""
SMALL = 1 << 14
"""Entries of a matrix that are multiplied sooner than some of them could be left out."""
LOGITS = 128
"""Positions whose logits NumPy computes at once."""
ATTENTION = ("query", "key", "value", "output")
FEED_FORWARD = ("gate", "expand", "contract")


class Map(Protocol):
    def __call__(self, x: Matrix) -> Matrix:
        """The matrix times [slot, position]."""


class LayerMaps(Protocol):
    """What a layer does besides attending."""

    ask: Map
    """Queries, keys and values, one below the other."""
    output: Map

    def add_gates(self, x: Matrix) -> None:
        """x += contract @ (relu(gate @ x) * (expand @ x)), in place."""


class Maps(Protocol):
    layers: list[LayerMaps]

    def columns(self, count: int) -> int:
        """How many columns a block of so many positions has; those left over hold zeros."""

    def arg_max(self, x: Matrix) -> npt.NDArray[np.int32]:
        """The token with the highest logit after every position, the first of equals."""


def new_maps(model: Model, backend: Backend = "auto") -> Maps:
    return NativeMaps(model) if choose_backend(backend) == "c" else NumpyMaps(model)


def layer_matrices(model: Model, number: int) -> dict[str, Matrix]:
    names = [f"attention.{part}" for part in ATTENTION]
    names += [f"feed_forward.{part}" for part in FEED_FORWARD]
    return {
        name.partition(".")[2]: np.asarray(model.weights[f"layers.{number}.{name}.weight"])
        for name in names
    }


def asking(matrices: dict[str, Matrix]) -> Matrix:
    return np.concatenate([matrices[part] for part in ("query", "key", "value")])


# -- NumPy ------------------------------------------------


class NumpyMap:
    """The rows and columns that are not all zeros; a small matrix as it is."""

    def __init__(self, matrix: Matrix) -> None:
        self.whole = matrix if matrix.size <= SMALL else None
        self.height = len(matrix)
        self.rows = np.flatnonzero(matrix.any(axis=1))
        self.columns = np.flatnonzero(matrix.any(axis=0))
        self.weights = np.ascontiguousarray(matrix[np.ix_(self.rows, self.columns)])

    def __call__(self, x: Matrix) -> Matrix:
        if self.whole is not None:
            return self.whole @ x
        result = np.zeros((self.height, x.shape[1]))
        result[self.rows] = self.weights @ x[self.columns]
        return result


class NumpyLayer:
    def __init__(self, matrices: dict[str, Matrix]) -> None:
        self.ask: Map = NumpyMap(asking(matrices))
        self.output: Map = NumpyMap(matrices["output"])
        self.gates = NumpyMap(np.concatenate([matrices["gate"], matrices["expand"]]))
        self.contract = NumpyMap(matrices["contract"])

    def add_gates(self, x: Matrix) -> None:
        both = self.gates(x)
        half = len(both) // 2
        x += self.contract(np.maximum(both[:half], 0.0) * both[half:])


class NumpyMaps:
    def __init__(self, model: Model) -> None:
        self.layers: list[LayerMaps] = [
            NumpyLayer(layer_matrices(model, number)) for number in range(len(model.plan["layers"]))
        ]
        self.unembedding = NumpyMap(np.asarray(model.weights["unembedding.weight"]))

    def columns(self, count: int) -> int:
        return count

    def arg_max(self, x: Matrix) -> npt.NDArray[np.int32]:
        said = np.empty(x.shape[1], dtype=np.int32)
        for start in range(0, x.shape[1], LOGITS):
            block = slice(start, start + LOGITS)
            said[block] = self.unembedding(x[:, block]).argmax(axis=0)
        return said


# -- C ------------------------------------------------


class CMap(ctypes.Structure):
    """`map` in hull_maps.c."""

    _fields_ = (
        ("rows", c_int64),
        ("starts", c_void_p),
        ("places", c_void_p),
        ("weights", c_void_p),
    )


@cache
def replay_library() -> ctypes.CDLL:
    """The loaded library; raises CompilerNotFoundError where there is no compiler."""
    source = (files("curta.engine") / "hull_maps.c").read_text(encoding="utf-8")
    flags = ("-O3", "-fvisibility=hidden", "-lm")
    library = load_library(build_library(source, name="replay", flags=flags))
    one, data = POINTER(CMap), c_void_p
    library.replay_map.argtypes = [one, data, c_int64, data]
    library.replay_gates.argtypes = [one, one, one, c_int64, data, data, data, c_int64]
    library.replay_arg_max.argtypes = [one, data, c_int64, data]
    for name in ("replay_map", "replay_gates", "replay_arg_max"):
        getattr(library, name).restype = None
    return library


class NativeMap:
    """A matrix without its zeros, row by row."""

    def __init__(self, matrix: Matrix) -> None:
        rows, places = np.nonzero(matrix)
        self.height = len(matrix)
        self.starts = np.searchsorted(rows, np.arange(self.height + 1)).astype(np.int64)
        self.places = places.astype(np.int32)
        self.weights = np.ascontiguousarray(matrix[rows, places])
        pointers = (array.ctypes.data for array in (self.starts, self.places, self.weights))
        self.passed = CMap(self.height, *pointers)

    def __call__(self, x: Matrix) -> Matrix:
        result = np.empty((self.height, x.shape[1]))
        replay_library().replay_map(self.passed, x.ctypes.data, x.shape[1], result.ctypes.data)
        return result


class NativeLayer:
    def __init__(self, matrices: dict[str, Matrix]) -> None:
        self.ask: Map = NativeMap(asking(matrices))
        self.output: Map = NativeMap(matrices["output"])
        self.gate, self.expand = NativeMap(matrices["gate"]), NativeMap(matrices["expand"])
        self.changed = np.flatnonzero(matrices["contract"].any(axis=1)).astype(np.int32)
        self.contract = NativeMap(matrices["contract"][self.changed].T)
        self.change = np.empty((len(self.changed), TILE))

    def add_gates(self, x: Matrix) -> None:
        replay_library().replay_gates(
            self.gate.passed,
            self.expand.passed,
            self.contract.passed,
            len(self.changed),
            self.changed.ctypes.data,
            self.change.ctypes.data,
            x.ctypes.data,
            x.shape[1],
        )


class NativeMaps:
    def __init__(self, model: Model) -> None:
        self.layers: list[LayerMaps] = [
            NativeLayer(layer_matrices(model, number))
            for number in range(len(model.plan["layers"]))
        ]
        self.unembedding = NativeMap(np.asarray(model.weights["unembedding.weight"]))

    def columns(self, count: int) -> int:
        return -(-count // TILE) * TILE

    def arg_max(self, x: Matrix) -> npt.NDArray[np.int32]:
        said = np.empty(x.shape[1])
        replay_library().replay_arg_max(
            self.unembedding.passed, x.ctypes.data, x.shape[1], said.ctypes.data
        )
        return said.astype(np.int32)
