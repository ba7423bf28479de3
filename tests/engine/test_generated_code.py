"""Generated C: every kind of table, the edges of chunks, clean under sanitizers, safe to build."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from itertools import product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from curta.compiler import Graph, Model, Node, compile, equals
from curta.engine import load
from curta.engine.native.emit import model_to_c
from curta.engine.native_level import Native
from curta.errors import CertificateError, CompilerNotFoundError, CurtaError, RegionError
from tests.support.agreement import agreed, carrying, kept, said_by
from tests.support.random_graphs import TOKENS, graphs
from tests.support.slow import draws, some

MISS = 8
NAMES = [f"t{number}" for number in range(9)]
PROMPT = [0, 1, 2, 3, 4, 5, 6, 7, 1, 3, 3, 2, 0, 1, 7, 6, 5, 4, 2, 2, 6]


def carried(graph: Graph, *values: float) -> Node:
    return graph.feature(str(values), dict(zip(NAMES, values, strict=False)))


def moving(graph: Graph) -> Node:
    """What queries are off by: sometimes nothing."""
    return graph.running_sum(carried(graph, 0, 1, -1, 1, 0, 0, -1, 0))


def by_position(graph: Graph, value: Node) -> Node:
    away = carried(graph, 0, 1, 2, 3, -1, 9, 1, 30)
    return graph.lookup(query=graph.position - away, key=graph.position, value=value, missing=MISS)


def near_position(graph: Graph, value: Node) -> Node:
    away = carried(graph, 0, 1, 2, 3, -9, 9, 1, 30)
    key = graph.position - 5
    return graph.lookup(query=key - away, key=key, value=value, missing="nearest")


def direct(graph: Graph, value: Node) -> Node:
    key = carried(graph, 0, -3, 7, 9, -20_000, 1, 3, 2)
    return graph.lookup(query=key + moving(graph), key=key, value=value, missing=MISS)


def paged(graph: Graph, value: Node) -> Node:
    key = carried(graph, 0, -3, 2**20, 2**21, -(2**20), 5, 1, -1)
    return graph.lookup(query=key + moving(graph), key=key, value=value, missing=MISS)


def hashed(graph: Graph, value: Node) -> Node:
    key = (
        carried(graph, 0, 2**19, -(2**19), 3, 7, 2, 1, 0),
        carried(graph, 5, 2**19, -(2**19), 3, 0, 1, 2, 2),
    )
    query = (key[0], key[1] + moving(graph))
    return graph.lookup(query=query, key=key, value=value, missing=MISS)


def nearest(graph: Graph, value: Node) -> Node:
    key = carried(graph, 0, -4, 2**12, 2**13, -(2**12), 6, 2, -2)
    return graph.lookup(query=key + 2 * moving(graph), key=key, value=value, missing="nearest")


def nearest_tie(graph: Graph, value: Node) -> Node:
    key = carried(graph, -4, 0, 4, 64, -64, 128, 192, -128)
    query = carried(graph, -2, 2, -2, 96, -96, 0, 160, -1000)
    return graph.lookup(query=query, key=key, value=value, missing="nearest")


def fractional(graph: Graph, value: Node) -> Node:
    key = carried(graph, 0, 0.5, -0.25, 3, 4, 1, 2.75, 2)
    query = key + moving(graph) * 0.25
    return graph.lookup(query=query, key=key, value=value, missing=MISS)


TABLES: dict[str, tuple[Callable[[Graph, Node], Node], str]] = {
    "by position": (by_position, "at_position(s, "),
    "near position": (near_position, "near_position(s, "),
    "direct": (direct, "Row0 *rows0;"),
    "paged": (paged, "*page0;"),
    "hashed": (hashed, "Entry0 *entries0;"),
    "nearest": (nearest, "*marks0["),
    "nearest, ties": (nearest_tie, "*marks0["),
    "fractional keys": (fractional, "Row0 *rows0;"),
}


def of_tables(*kinds: str) -> Graph:
    """Says the first table's answer; the others only raise or lower it by nothing."""
    graph = Graph(NAMES)
    first, *others = (TABLES[kind][0](graph, carried(graph, *range(8))) for kind in kinds)
    spoken = first + sum((other - kept(other) for other in others), graph.constant(0))
    graph.emit(NAMES, spoken)
    return graph


def test_a_hashed_table_grows() -> None:
    """Thousands of keys, the first of them asked for at the end."""
    graph = Graph(["a", "b", "wide"])
    count = graph.running_sum(graph.is_token("a"))
    wide = graph.feature("wide", {"wide": 2**18})
    query, key = (32 * count - 32 * 3999, wide), (32 * count, wide)
    graph.emit(["a", "b"], graph.lookup(query=query, key=key, value=count, missing=0))
    engine = load(compile(graph, 2**12), "native")
    assert "Entry0 *entries0;" in model_to_c(engine.model)
    assert engine.run([0], 4001).tolist() == [0] * 3999 + [1] * 2


@pytest.mark.parametrize("count", [1, 1000, 5000, 70_000])
def test_memory_follows_the_length(count: int) -> None:
    graph = Graph(["a", "b"])
    held = graph.lookup(
        query=graph.position - 3, key=graph.position, value=graph.is_token("a"), missing=0
    )
    graph.emit(["a", "b"], held)
    session = load(compile(graph, 2**17), "native").session()
    before = session.bytes  # type: ignore[attr-defined]
    for _ in range(count):
        session.feed(0)
    assert session.bytes - before <= 2 * max(count, 4096)  # type: ignore[attr-defined]


# -- chunks ---------------------------------------------------------------------------------------


def ends_at(position: int, how: str) -> Graph:
    """Says `a` up to a position, where it stops or breaks a promise."""
    graph = Graph(["a", "stop"])
    if how == "stop":
        graph.stop_after("stop")
        graph.emit(["a", "stop"], equals(graph.position, position))
    else:
        graph.emit_token("a")
        graph.assume(graph.position, 0, position)
    return graph


def outcome(level: str, model: Model, prompt: list[int], count: int | None) -> object:
    said: list[int] = []
    try:
        for token in load(model, level).generate_ids(prompt, count):  # type: ignore[arg-type]
            said.append(token)
    except RegionError as error:
        return said, str(error).partition(":")[0].replace(level, "")
    return said


@pytest.mark.parametrize("how", ["stop", "promise"])
@pytest.mark.parametrize("chunk", [1, 3])
def test_chunks_end_like_single_tokens(
    how: str, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Native, "chunk", chunk)
    for position in range(8):
        model = compile(ends_at(position, how), 9)
        for length in (1, 2, 5):
            for count in (None, 0, 1, 3, 4, 8 - length):
                found = [
                    outcome(level, model, [0] * length, count) for level in ("evaluate", "native")
                ]
                assert found[0] == found[1], (position, length, count)


@pytest.mark.parametrize("distance", [-1, 0, 1])
@pytest.mark.parametrize("how", ["stop", "promise"])
def test_the_edge_of_a_real_chunk(how: str, distance: int) -> None:
    position = Native.chunk + distance
    engine = load(compile(ends_at(position, how), 2**18), "native")
    said: list[str] = []
    stopped = pytest.raises(RegionError, match=f"position {position + 1}:")
    with stopped if how == "promise" else nullcontext():
        said.extend(engine.generate(["a", "a"]))
    assert len(said) == position
    assert set(said[:-1]) == {"a"}
    assert said[-1] == ("stop" if how == "stop" else "a")


def test_a_session_that_was_stopped_stays_stopped() -> None:
    session = load(compile(ends_at(2, "promise"), 64), "native").session()
    for _ in range(3):
        session.feed(0)
    for _ in range(3):
        with pytest.raises(RegionError, match="position 3: "):
            session.feed(0)


@pytest.mark.parametrize("token", [99, 2, -1])
@pytest.mark.parametrize("level", ["evaluate", "plain", "native"])
def test_tokens_fed_to_a_session_are_checked(level: str, token: int) -> None:
    graph, x = carrying([0, 1])
    graph.emit(["t0", "t1"], graph.running_sum(x))
    session = load(compile(graph, 64), level).session()  # type: ignore[arg-type]
    with pytest.raises(CurtaError):
        session.feed(token)


# -- numbers at the edges of int64 --------------------------------------------------------------


def promised(low: float, high: float) -> Graph:
    graph, x = carrying([-1, 1, 2, 511, 1000])
    graph.emit(["t0", "t1", "t2", "t3", "t4"], graph.assume(x, low, high))
    return graph


BOUNDS = [
    (0, 511),
    (0.5, 511.5),
    (-0.25, 1e6),
    (0, 2.0**70),
    (0.1, 511),
    (2.0**-60, 511),
]


@pytest.mark.parametrize(("low", "high"), BOUNDS)
def test_promises_of_any_size(low: float, high: float) -> None:
    model = compile(promised(low, high), 64)
    for prompt in ([1, 2, 3], [1, 4, 2], [3, 0]):
        agreed(model, prompt)


def test_scores_in_steps_of_very_different_size() -> None:
    graph, x = carrying([1, 0, -1])
    graph.score("t0", x * 2**50)
    graph.score("t1", (x + 2) * 2.0**-30)
    graph.score("t2", x * 0)
    agreed(compile(graph, 64), [0, 1, 2])


def test_a_key_promised_from_one_half() -> None:
    graph, x = carrying([0, 1, 2, 3])
    key = graph.assume(x, 0.5, 3)
    found = graph.lookup(query=key, key=key, value=graph.position, missing=0)
    graph.emit(["t0", "t1", "t2", "t3"], found)
    assert agreed(compile(graph, 64), [1, 2, 3]) == [0, 1, 2]


# -- the text, and building it ------------------------------------------------------------------


def test_without_any_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CURTA_CC", raising=False)
    monkeypatch.setenv("CURTA_CACHE", str(tmp_path))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    model = compile(of_tables("direct"), 64)
    with pytest.raises(CompilerNotFoundError, match="CURTA_CC"):
        load(model, "native")
    assert said_by("plain", model, PROMPT) == said_by("evaluate", model, PROMPT)


def test_two_processes_at_once(tmp_path: Path) -> None:
    path = tmp_path / "tables.safetensors"
    compile(of_tables("paged"), 64).save(path)
    program = f"from curta.engine import load; print(*load({str(path)!r}).run([0, 1, 2], 20))"
    environment = {**os.environ, "CURTA_CACHE": str(tmp_path / "cache")}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    said = [process.communicate(timeout=60)[0] for process in processes]
    assert said[0] == said[1]
    assert len(said[0].split()) == 20


MAIN = """
#include <stdio.h>
int main(int count, char **tokens) {
    State *s = curta_create();
    for (int i = 1; i < count; i++) {
        const int32_t token = atoi(tokens[i]);
        int32_t said = -1;
        const int64_t taken = curta_take(s, &token, 1, &said, 1);
        printf("%d ", taken ? said : -1);
        if (!taken) break;
    }
    curta_destroy(s);
    return 0;
}
"""
CHECKED = ["-std=c11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-unused"]
SANITIZED = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="the sanitizers of gcc")


def run_sanitized(model: Model, prompt: list[int], folder: Path) -> list[int]:
    source, program = folder / "program.c", folder / "program"
    source.write_text(model_to_c(model) + MAIN, encoding="utf-8")
    command = ["gcc", *CHECKED, *SANITIZED, str(source), "-o", str(program), "-lm"]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr[:2000]
    finished = subprocess.run(
        [str(program), *map(str, prompt)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"},
    )
    assert finished.returncode == 0, finished.stderr[:2000]
    return [int(token) for token in finished.stdout.split()]


@needs_gcc
@pytest.mark.parametrize("kinds", [("by position", "direct", "paged"), ("hashed", "nearest")])
def test_clean_under_sanitizers(kinds: tuple[str, ...], tmp_path: Path) -> None:
    model = compile(of_tables(*kinds), 64)
    assert run_sanitized(model, PROMPT, tmp_path) == said_by("evaluate", model, PROMPT)


@needs_gcc
def test_keys_stay_in_their_table(tmp_path: Path) -> None:
    graph = Graph(["a", "b", "c", "d"])
    x = graph.assume(graph.running_sum(graph.is_token("c")), 0, 20)
    y = graph.assume(graph.running_sum(carried_by(graph)), -20, 20)
    key = 1020 * equals(3 * x + y, 1)
    graph.emit(["a", "b"], graph.lookup(query=key, key=key, value=x, missing=0))
    model = compile(graph, 64)
    prompt = [0, 1, 1, 2, 0, 3, 3, 2, 1]
    assert run_sanitized(model, prompt, tmp_path) == said_by("evaluate", model, prompt)


def carried_by(graph: Graph) -> Node:
    return graph.feature("y", {"a": 1, "c": 1, "d": -2})


@needs_gcc
@pytest.mark.slow
@given(graphs(), st.lists(st.integers(0, len(TOKENS) - 1), min_size=1, max_size=30))
@settings(
    deadline=None,
    max_examples=draws(40),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
def test_random_programs_are_clean_under_sanitizers(graph: Graph, prompt: list[int]) -> None:
    import tempfile

    try:
        model = compile(graph, 64)
    except CertificateError:
        return
    with tempfile.TemporaryDirectory() as folder:
        assert run_sanitized(model, prompt, Path(folder)) == said_by("evaluate", model, prompt)


def test_coarse_keys_of_queries_that_always_miss() -> None:
    graph, x = carrying([0, 8, 16, 24])
    key = graph.running_sum(x)
    found = graph.lookup(query=key - 1, key=key, value=graph.position, missing=2)
    graph.emit(["t0", "t1", "t2", "t3"], kept(found))
    assert agreed(compile(graph, 64), [0, 1, 1, 3]) == [2, 2, 2, 2]


@pytest.mark.parametrize(
    ("keys", "beyond"), some(7, product([63, 64, 65, 4095, 4096, 4097], [-1, 0, 1000]))
)
def test_the_nearest_key_from_above_in_tables_of_every_size(keys: int, beyond: int) -> None:
    """A power of 64 fills the tree of bitmaps to its last bit."""
    graph, x = carrying([0, keys - 1, 1, keys // 2])
    found = graph.lookup(query=keys + beyond, key=x, value=x, missing="nearest")
    said = equals(found, 0) + 2 * equals(found, 1) + 3 * equals(found, keys // 2)
    graph.emit(["t1", "t0", "t2", "t3"], said)
    assert agreed(compile(graph, 64), [0, 2, 3, 1, 0]) == [0, 2, 3, 1, 1]
