"""The native level by its general step alone, and the residual stream that it would show."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np
import pytest

from curta.compiler import Model
from curta.engine import Level, load, native_level
from curta.engine.base import Residuals
from curta.engine.native import emit, look_to_c
from curta.engine.native.routine import NotWorthItError
from curta.engine.native.symbolic import weights_to_routine
from curta.engine.native_level import Native
from curta.engine.toolchain import build_library, load_functions

UNSAID = "static int32_t step(State *s, int32_t token) { return (void)s, (void)token, -1; }\n"
SIGNATURES = {
    "create": (ctypes.c_void_p,),
    "destroy": (None, ctypes.c_void_p),
    "look": (None, ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p),
}


def by_steps(model: Model) -> Native:
    """Without code for the cases of a step, which has to do the same."""

    def not_worth_it(*_: object) -> None:
        raise NotWorthItError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(emit, "Follower", not_worth_it)
        patch.setattr(native_level, "cached_source", lambda model, generate: generate(model))
        return Native(model)


def residuals(model: Model, level: Level, ids: Sequence[int]) -> Residuals:
    """The residual stream [position, period, slot] of a run that breaks no promise."""
    return native_residuals(model, ids) if level == "native" else load(model, level).residuals(ids)


def native_residuals(model: Model, ids: Sequence[int]) -> Residuals:
    """NaN where attention finds no row that was filed."""
    path = build_library(streams_to_c(model), name="streams")
    library = load_functions(path, "curta_", SIGNATURES)
    streams = np.zeros((len(ids), 2 * len(model.plan["layers"]) + 1, model.plan["width"]))
    state = library["create"]()
    for token, stream in zip(ids, streams, strict=True):
        library["look"](state, token, stream.ctypes.data)
    library["destroy"](state)
    return streams


def streams_to_c(model: Model) -> str:
    """Looks, and what keeps a sequence for them."""
    with emit.deep_recursion():
        look = look_to_c.looks(model, weights_to_routine(model, streams=True))
    return "\n".join([look, UNSAID, emit.runtime("entry.c")])
