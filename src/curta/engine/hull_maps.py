"""The maps of a model over a block of positions [slot, position], for the hull level.

Almost all weights are zero. In NumPy only those rows and columns are multiplied that have others;
in C (hull_maps.c) only the weights themselves.
"""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from collections.abc import Callable
from ctypes import POINTER, c_int64, c_void_p
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import SimpleNamespace
from typing import ClassVar, Generic, TypeVar, Union

import numpy as np
import numpy.typing as npt

from curta.compiler.model import Model
from curta.engine.hull import Backend
from curta.engine.hull.native import addresses, choose_backend
from curta.engine.toolchain import Signatures, build_library, load_functions

Matrix = npt.NDArray[np.float64]
SMALL = 1 << 14
"""Entries of a matrix that are multiplied sooner than some of them could be left out."""
LOGITS = 128
"""Positions whose logits NumPy computes at once."""
ATTENTION = ("query", "key", "value", "output")
FEED_FORWARD = ("gate", "expand", "contract")


Map = Callable[[Matrix], Matrix]
"""A matrix times [slot, position]."""


@dataclass(frozen=True, slots=True)
class LayerMaps:
    """What a layer does besides attending."""

    ask: Map
    """Queries, keys and values, one below the other."""
    output: Map
    add_gates: Callable[[Matrix], None]
    """x += contract @ (relu(gate @ x) * (expand @ x)), in place."""


OneMap = TypeVar("OneMap", bound=Map)


class Maps(ABC, Generic[OneMap]):
    """The maps of all layers."""

    tile: ClassVar[int]
    """The columns of a block are a multiple of it."""

    def __init__(self, model: Model, map_of: Callable[[Matrix], OneMap]) -> None:
        self.map_of = map_of
        self.unembedding = map_of(np.asarray(model.weights["unembedding.weight"]))
        self.layers = [
            self.layer(layer_matrices(model, number)) for number in range(len(model.plan["layers"]))
        ]

    def layer(self, matrices: dict[str, Matrix]) -> LayerMaps:
        asking = np.concatenate([matrices[part] for part in ("query", "key", "value")])
        maps = self.map_of(asking), self.map_of(matrices["output"])
        return LayerMaps(*maps, self.gates(matrices))

    @abstractmethod
    def gates(self, matrices: dict[str, Matrix]) -> Callable[[Matrix], None]:
        """A layer's `add_gates`."""

    def columns(self, count: int) -> int:
        """How many columns a block of so many positions has; those left over hold zeros."""
        return -(-count // self.tile) * self.tile

    @abstractmethod
    def arg_max(self, x: Matrix) -> npt.NDArray[np.int32]:
        """The token with the highest logit after every position, the first of equals."""


AnyMaps = Union["NumpyMaps", "NativeMaps"]


def new_maps(model: Model, backend: Backend = "auto") -> AnyMaps:
    return NativeMaps(model) if choose_backend(backend) == "c" else NumpyMaps(model)


def layer_matrices(model: Model, number: int) -> dict[str, Matrix]:
    names = [f"attention.{part}" for part in ATTENTION]
    names += [f"feed_forward.{part}" for part in FEED_FORWARD]
    return {
        name.partition(".")[2]: np.asarray(model.weights[f"layers.{number}.{name}.weight"])
        for name in names
    }


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


class NumpyMaps(Maps[NumpyMap]):
    tile = 1

    def __init__(self, model: Model) -> None:
        super().__init__(model, NumpyMap)

    def gates(self, matrices: dict[str, Matrix]) -> Callable[[Matrix], None]:
        opening = NumpyMap(np.concatenate([matrices["gate"], matrices["expand"]]))
        contract = NumpyMap(matrices["contract"])

        def add_gates(x: Matrix) -> None:
            gate, expand = np.split(opening(x), 2)
            x += contract(np.maximum(gate, 0.0) * expand)

        return add_gates

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


ONE = POINTER(CMap)
SIGNATURES: Signatures = {
    "map": (None, ONE, c_void_p, c_int64, c_void_p),
    "gates": (None, ONE, ONE, ONE, c_int64, c_void_p, c_void_p, c_void_p, c_int64),
    "arg_max": (None, ONE, c_void_p, c_int64, c_void_p),
    "filed_create": (c_void_p, c_int64, c_int64),
    "filed_free": (None, c_void_p),
    "filed_steps": (None, c_void_p, c_int64, *4 * [c_void_p]),
}
"""What hull_maps.c exports, as replay_map and so on."""


@cache
def replay_library() -> SimpleNamespace:
    """The functions in C; raises CompilerNotFoundError where there is no compiler."""
    source = (files("curta.engine") / "hull_maps.c").read_text(encoding="utf-8")
    flags = ("-O3", "-fvisibility=hidden", "-lm")
    path = build_library(source, name="replay", flags=flags)
    return SimpleNamespace(**load_functions(path, "replay_", SIGNATURES))


class NativeMap:
    """A matrix without its zeros, row by row."""

    def __init__(self, matrix: Matrix) -> None:
        rows, places = np.nonzero(matrix)
        self.height = len(matrix)
        starts = np.searchsorted(rows, np.arange(self.height + 1)).astype(np.int64)
        weights = np.ascontiguousarray(matrix[rows, places])
        self.kept = starts, places.astype(np.int32), weights
        self.passed = CMap(self.height, *addresses(*self.kept))

    def __call__(self, x: Matrix) -> Matrix:
        result = np.empty((self.height, x.shape[1]))
        replay_library().map(self.passed, x.ctypes.data, x.shape[1], result.ctypes.data)
        return result


class NativeMaps(Maps[NativeMap]):
    tile = 32  # as in hull_maps.c

    def __init__(self, model: Model) -> None:
        super().__init__(model, NativeMap)

    def gates(self, matrices: dict[str, Matrix]) -> Callable[[Matrix], None]:
        changed = np.flatnonzero(matrices["contract"].any(axis=1)).astype(np.int32)
        gate, expand = NativeMap(matrices["gate"]), NativeMap(matrices["expand"])
        contract = NativeMap(matrices["contract"][changed].T)
        change = np.empty((len(changed), self.tile))

        def add_gates(x: Matrix) -> None:
            passed = (one.passed for one in (gate, expand, contract))
            pointers = addresses(changed, change, x)
            replay_library().gates(*passed, len(changed), *pointers, x.shape[1])

        return add_gates

    def arg_max(self, x: Matrix) -> npt.NDArray[np.int32]:
        said, passed = np.empty(x.shape[1]), self.unembedding.passed
        replay_library().arg_max(passed, x.ctypes.data, x.shape[1], said.ctypes.data)
        return said.astype(np.int32)
