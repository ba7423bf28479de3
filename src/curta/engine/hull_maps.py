"""The maps of a model over a block of positions [slot, position], for the hull level.

Almost all weights are zero, and C (hull_maps.c) leaves those out. NumPy multiplies whole matrices:
slow, and the definition of what the C computes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from ctypes import POINTER, c_int64, c_void_p
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from curta.compiler.model import Model
from curta.engine.hull import Backend
from curta.engine.hull.native import choose_backend
from curta.engine.toolchain import Signatures, build_library, load_functions

Matrix = npt.NDArray[np.float64]
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


def layer_matrices(model: Model, number: int) -> dict[str, Matrix]:
    names = [f"attention.{part}" for part in ATTENTION]
    names += [f"feed_forward.{part}" for part in FEED_FORWARD]
    return {
        name.partition(".")[2]: model.weights[f"layers.{number}.{name}.weight"].astype(np.float64)
        for name in names
    }


class NumpyMaps:
    """The maps of all layers."""

    tile: ClassVar[int] = 1
    """The columns of a block are a multiple of it."""

    def __init__(self, model: Model) -> None:
        self.unembedding = model.weights["unembedding.weight"].astype(np.float64)
        self.layers = [
            self.layer(layer_matrices(model, number)) for number in range(len(model.plan["layers"]))
        ]

    def layer(self, matrices: dict[str, Matrix]) -> LayerMaps:
        asking = np.concatenate([matrices[part] for part in ("query", "key", "value")])
        maps = self.map_of(asking), self.map_of(matrices["output"])
        return LayerMaps(*maps, self.gates(matrices))

    def columns(self, count: int) -> int:
        """How many columns a block of so many positions has; those left over hold zeros."""
        return -(-count // self.tile) * self.tile

    def map_of(self, matrix: Matrix) -> Map:
        return matrix.__matmul__

    def gates(self, matrices: dict[str, Matrix]) -> Callable[[Matrix], None]:
        """A layer's `add_gates`."""
        gate, expand, contract = (matrices[part] for part in FEED_FORWARD)

        def add_gates(x: Matrix) -> None:
            x += contract @ (np.maximum(gate @ x, 0.0) * (expand @ x))

        return add_gates

    def arg_max(self, x: Matrix) -> npt.NDArray[np.int32]:
        """The token with the highest logit after every position, the first of equals."""
        said: npt.NDArray[np.int32] = (self.unembedding @ x).argmax(axis=0).astype(np.int32)
        return said


def new_maps(model: Model, backend: Backend = "auto") -> NumpyMaps:
    return NativeMaps(model) if choose_backend(backend) == "c" else NumpyMaps(model)


# -- C ------------------------------------------------


def addresses(*arrays: np.ndarray[Any, Any]) -> Iterator[int]:
    """For C. They hold as long as the caller has the arrays."""
    return (array.ctypes.data for array in arrays)


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


class NativeMaps(NumpyMaps):
    """The same in C."""

    tile = 32  # as in hull_maps.c

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.logits = NativeMap(self.unembedding)

    def map_of(self, matrix: Matrix) -> Map:
        return NativeMap(matrix)

    def gates(self, matrices: dict[str, Matrix]) -> Callable[[Matrix], None]:
        changed = np.flatnonzero(matrices["contract"].any(axis=1)).astype(np.int32)
        contract = matrices["contract"][changed].T
        maps = [NativeMap(one) for one in (matrices["gate"], matrices["expand"], contract)]

        def add_gates(x: Matrix) -> None:
            change, passed = np.empty((len(changed), self.tile)), (one.passed for one in maps)
            pointers = addresses(changed, change, x)
            replay_library().gates(*passed, len(changed), *pointers, x.shape[1])

        return add_gates

    def arg_max(self, x: Matrix) -> npt.NDArray[np.int32]:
        said, passed = np.empty(x.shape[1]), self.logits.passed
        replay_library().arg_max(passed, x.ctypes.data, x.shape[1], said.ctypes.data)
        return said.astype(np.int32)
