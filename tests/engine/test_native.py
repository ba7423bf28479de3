"""The generated C: every kind of table, the edges of chunks, warnings, and no compiler at all."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curta.compiler import Graph, Model, compile
from curta.engine import LEVELS, load
from curta.engine.native.emit import model_to_c
from curta.engine.native.places import MOST_TOKENS
from curta.engine.native_level import ROOM, Native, NativeSession
from curta.errors import RegionError, UserError
from tests.support.general_step import streams_to_c

SAID = tuple("abcdefgh")

KEYS: dict[str, tuple[list[int], str]] = {
    "direct": ([0, 1, -1, 5, 6, 100, -7, 3], "Row0 *rows0;"),
    "paged": ([0, 1, -1, 2**24, 2**24 + 1, 2**24 - 1, -(2**24), 77_777], "Row0 row0; } Of"),
    "large direct": ([0, 1, -1, 2**20, 2**20 + 1, 2**20 - 1, -(2**20), 77_777], "Row0 *rows0;"),
    "hashed": ([0, 1, -1, 2**20 + 7, 2**20 + 8, -(2**20), 5, 2**19], "Entry0 *entries0;"),
    "nearest": ([0, 1, -1, 2**17, 2**17 + 2, 2**17 + 4, -(2**17), 64], "uint64_t *marks0["),
    "by position": ([0, 1, -1, 5, 6, 100, -7, 3], "track[ROW(query0)]"),
}
"""Keys of the tokens a..h, and what the C of such a table contains."""


@cache
def table_model(kind: str) -> Model:
    keys, text = KEYS[kind]
    graph = Graph(SAID)
    key = graph.feature("key", dict(zip(SAID, keys, strict=True)))
    asked = graph.feature("asked", dict(zip(SAID, keys[1:] + keys[:1], strict=True)))
    value = graph.feature("value", {token: number for number, token in enumerate(SAID)})
    missing: Any = "nearest" if kind == "nearest" else 7
    if kind == "by position":
        found = graph.lookup(
            query=graph.position + asked + 2, key=graph.position + 3, value=value, missing=missing
        )
    elif kind == "hashed":
        wide = (key, key * 3 + 1)
        found = graph.lookup(query=(asked, asked * 3 + 1), key=wide, value=value, missing=missing)
    else:
        found = graph.lookup(query=asked, key=key, value=value, missing=missing)
    graph.emit(SAID, found)
    model = compile(graph, max_tokens=2**12 if kind != "hashed" else 2**6)
    assert text in model_to_c(model), f"no {kind} table"
    return model


def predictions(model: Model, level: str, ids: Sequence[int]) -> list[int]:
    session = load(model, level).session()  # type: ignore[arg-type]
    return [session.feed(token) for token in ids]


@pytest.mark.parametrize("kind", list(KEYS))
def test_tables(kind: str) -> None:
    """Hits, misses, overwritten keys, negative and far keys, on random sequences of any length."""
    generator = random.Random(kind)
    model = table_model(kind)
    for length in [1, 2, 3, 5, 8, 13, 40, 60]:
        used = generator.sample(range(8), generator.randint(1, 8))
        ids = [generator.choice(used) for _ in range(length)]
        expected = predictions(model, "evaluate", ids)
        for level in LEVELS[1:]:
            assert predictions(model, level, ids) == expected, level


def test_ties_between_neighbours_go_to_the_later() -> None:
    """Two keys at the same distance from the query, filed in either order, near and far."""
    for scale in (1, 64, 4096):
        graph = Graph(["left", "right", "ask", "off"])
        key = graph.feature("key", {"left": -scale, "right": scale, "ask": 9 * scale, "off": 20})
        asked = graph.feature("asked", {"off": 10 * scale})
        value = graph.feature("value", {"right": 1, "ask": 2, "off": 3})
        found = graph.lookup(query=asked, key=key, value=value, missing="nearest")
        graph.emit(["left", "right", "ask", "off"], found)
        model = compile(graph, 64)
        for ids in ([0, 1, 2], [1, 0, 2], [0, 1, 0, 2, 1, 2], [2, 2, 0, 1, 3]):
            expected = predictions(model, "evaluate", ids)
            for level in LEVELS[1:]:
                assert predictions(model, level, ids) == expected, (level, scale, ids)


def named_graph(name: str) -> Graph:
    graph = Graph(["0", "1", "2", "3"])
    x = graph.feature(name, {"1": 1, "2": 2})
    found = graph.lookup(query=x, key=x, value=x + 1, missing=3).named(f"found {name}")
    graph.emit(["0", "1", "2", "3"], graph.assume(found, 0, 2).named(f"promise {name}"))
    return graph


@pytest.mark.parametrize(
    ("name", "written"), [("plain name", "plain name"), ("a */ b", "a * / b"), ("a\nb", "a b")]
)
def test_names_are_in_the_c_and_end_no_comment(name: str, written: str) -> None:
    model = compile(named_graph(name), 8)
    source = model_to_c(model)
    for wanted in (f"/* {written} */", f"found {written} */", f"promise {written} */"):
        assert wanted in source
    assert load(model, "native").run([1, 0], 2).tolist() == [1, 2]


def warnings_of(source: str, path: Path) -> str:
    compiler = shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no gcc or clang")
    quiet = ("parameter", "variable", "function")
    flags = ["-Wall", "-Wextra", *(f"-Wno-unused-{what}" for what in quiet)]
    path.write_text(source)
    command = [compiler, *flags, "-O1", "-S", "-o", str(path.with_suffix(".s")), str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


@pytest.mark.parametrize("made", [model_to_c, streams_to_c])
def test_no_warnings(made: Callable[[Model], str], tmp_path: Path) -> None:
    models = {kind: table_model(kind) for kind in KEYS} | {"promise": endless(10, stop=False)}
    for kind, model in models.items():
        assert not warnings_of(made(model), tmp_path / f"{kind.replace(' ', '_')}.c"), kind


def test_a_closed_sequence_is_refused() -> None:
    session = load(endless(10, stop=False), "native").session()
    assert isinstance(session, NativeSession)
    session.feed(0)
    session.close()
    session.close()
    for use in (
        lambda: session.feed(0),
        lambda: session.generate(0, 3),
        lambda: session.take(np.array([0])),
    ):
        with pytest.raises(UserError, match="this sequence was closed"):
            use()
    assert session.bytes == 0


def test_no_warnings_about_names(tmp_path: Path) -> None:
    assert not warnings_of(model_to_c(compile(named_graph("a /* b"), 8)), tmp_path / "names.c")


def test_the_name_of_a_running_sum_is_in_the_c() -> None:
    graph = Graph(["0", "1"])
    graph.emit(["0", "1"], graph.running_sum(graph.is_token("1")).named("ones so far"))
    assert "ones so far" in model_to_c(compile(graph, 8))


@cache
def endless(limit: int, *, stop: bool) -> Model:
    """Says go for ever; at position `limit` it says stop, or breaks a promise."""
    graph = Graph(["go", "stop"])
    if stop:
        graph.emit(["go", "stop"], graph.gate(graph.position - (limit - 1), 1))
        graph.stop_after("stop")
    else:
        graph.assume(graph.position.named("place"), 0, limit - 1)
        graph.emit_token("go")
    return compile(graph, 2**18)


@pytest.mark.parametrize("prompt", [1, 3])
@pytest.mark.parametrize("off", [-1, 0, 1])
def test_a_stop_token_at_the_edge_of_a_chunk(off: int, prompt: int) -> None:
    limit = prompt + Native.chunk - 2 + off
    engine = load(endless(limit, stop=True), "native")
    said = engine.run([0] * prompt)
    assert len(said) == Native.chunk + off
    assert said[-1] == 1
    assert not said[:-1].any()
    assert list(engine.generate_ids([0] * prompt)) == said.tolist()


@pytest.mark.parametrize("off", [-1, 0, 1])
def test_a_promise_broken_at_the_edge_of_a_chunk(off: int) -> None:
    limit = Native.chunk + off
    engine = load(endless(limit, stop=False), "native")
    said: list[int] = []
    steps = engine.generate_ids([0])
    with pytest.raises(RegionError, match=rf"^position {limit}: place is {limit}, promised in"):
        said += iter(lambda: next(steps), None)
    assert engine.run([0], limit).tolist() == [0] * limit
    with pytest.raises(RegionError, match=f"position {limit}"):
        engine.run([0], limit + 1)


@pytest.mark.parametrize("level", LEVELS)
def test_what_was_said_before_a_broken_promise_is_delivered(level: str) -> None:
    said = []
    steps = load(endless(10, stop=False), level).generate_ids([0])  # type: ignore[arg-type]
    for _ in range(10):
        said.append(next(steps))
    with pytest.raises(RegionError, match="position 10: place is 10"):
        next(steps)
    assert said == [0] * 10


@pytest.mark.parametrize(
    "count", [Native.chunk - 1, Native.chunk, Native.chunk + 1, 2 * Native.chunk]
)
def test_limits_at_the_edge_of_a_chunk(count: int) -> None:
    assert len(load(endless(2**17 + 9, stop=True), "native").run([0], count)) == count


def test_a_chunk_has_room_left_for_an_instruction() -> None:
    assert ROOM == MOST_TOKENS


def test_the_track_grows_beyond_its_first_allocation() -> None:
    graph = Graph(["0", "1"])
    bit = graph.is_token("1")
    half = graph.position_feature(2)
    graph.emit(["0", "1"], graph.lookup(query=half, key=graph.position, value=bit, missing=0))
    generator = random.Random(5)
    ids = [generator.randrange(2) for _ in range(3 * 4096 + 1)]
    said = predictions(compile(graph, 2**14), "native", ids)
    assert said == [ids[place // 2] for place in range(len(ids))]


def test_sessions_do_not_share_anything() -> None:
    engine = load(table_model("direct"), "native")
    one, other = engine.session(), engine.session()
    alone = predictions(engine.model, "native", [0, 1, 2, 3])
    assert [one.feed(t) for t in (0, 1, 2, 3)] == alone
    assert [other.feed(t) for t in (0, 1, 2, 3)] == alone


def test_the_title_names_size_and_certificate() -> None:
    source = model_to_c(table_model("direct"))
    assert re.match(r"/\* A transformer of \d+ layers and width \d+, as C\.", source)
    assert "exact for sequences of up to 4,096 tokens, in float64" in source
