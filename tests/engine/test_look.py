"""A look at one step of a sequence that the native engine keeps: streams, and how it goes on."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from curta.engine.model_cache import compile_cached
from curta.engine.native.look_to_c import look_to_c
from curta.engine.native_level import Library, Native
from curta.engine.toolchain import build_library, load_functions
from curta.gallery import PROGRAMS
from tests.support.general_step import native_residuals

SIGNATURES = {"look": (None, ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p)}


def native(name: str) -> tuple[Native, list[int]]:
    """A program, and the tokens of one of its cases."""
    program = PROGRAMS[name]
    engine = Native(compile_cached(program.build(), program.max_tokens))
    prompt = engine.encode(program.encode(program.cases[-1].input))
    return engine, [*prompt, *engine.generate_ids(prompt, 30)]


@pytest.mark.parametrize("name", ["addition", "dyck1", "shuffle_dyck", "counter"])
def test_a_look_shows_streams_and_changes_nothing(name: str) -> None:
    engine, ids = native(name)
    source = look_to_c(engine.model, engine.library.source)
    assert source is not None
    flags = "#define FLAGS 1\n"
    engine.library = Library(flags + engine.library.source)
    look = load_functions(build_library(flags + source, name="look"), "curta_", SIGNATURES)["look"]
    expected = native_residuals(engine.model, ids)
    session, other = engine.session(), engine.session()
    for position, token in enumerate(ids):
        said = other.feed(token)
        if position % 3:
            stream = np.zeros(expected[position].shape)
            look(session.state, token, stream.ctypes.data)
            np.testing.assert_array_equal(stream, expected[position])
        else:
            assert session.feed(token) == said


def test_what_is_kept_otherwise_is_not_looked_at() -> None:
    (engine, _), (other, _) = native("addition"), native("dyck1")
    assert look_to_c(engine.model, other.library.source) is None
