"""The code for the cases of a step says and stops where the general code does."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import curta.engine.native as native
import curta.engine.native.specialise as specialise
from curta.compiler import Graph, Model, compile, equals, select
from curta.engine import Engine, load
from curta.engine.model_cache import cached_source
from curta.engine.native import Native
from curta.engine.native.emit import model_to_c
from curta.errors import CertificateError, RegionError
from curta.gallery import PROGRAMS
from tests.support.random_graphs import TOKENS, graphs
from tests.support.slow import all_but

Outcome = tuple[list[int], str | None]
SPECIALISED = "static int64_t run("


def outcome(engine: Engine, prompt: Sequence[int], count: int) -> Outcome:
    """What is said, and the error that ended the run."""
    said: list[int] = []
    try:
        for token in engine.generate_ids(prompt, count):
            said.append(token)
    except RegionError as error:
        return said, str(error)
    return said, None


@contextmanager
def every_program_has_cases() -> Iterator[None]:
    """Also those for which it is not worth it; nothing is taken from the cache of sources."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(specialise, "FEWEST_QUESTIONS", 0)
        patch.setattr(native, "cached_source", lambda model, cases, generate: generate())
        yield


def same_outcome(model: Model, prompt: Sequence[int], count: int) -> Outcome:
    """The general code's outcome, which has to be the specialised code's."""
    general = outcome(Native(model, specialise=False), prompt, count)
    assert outcome(Native(model), prompt, count) == general
    return general


@given(graphs(), st.lists(st.integers(0, len(TOKENS) - 1), min_size=1, max_size=8))
@settings(
    deadline=None,
    max_examples=30,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
def test_random_programs(graph: Graph, prompt: list[int]) -> None:
    """With a selector wherever there can be one, and cases where there is none."""
    try:
        model = compile(graph, max_tokens=64)
    except CertificateError:
        return
    note(f"{graph.operations}, {graph.families}")
    with every_program_has_cases():
        general = same_outcome(model, prompt, 40)
    assert general[0] == outcome(load(model, "evaluate"), prompt, 40)[0]


KEPT = ("subleq", "sort_frequency", "multiplication", "dfa", "sort", "addition", "counter")


@pytest.mark.parametrize("name", all_but(KEPT, PROGRAMS))
def test_the_gallery(name: str) -> None:
    program = PROGRAMS[name]
    model = compile(program.build(), program.max_tokens)
    for case in program.cases[:3]:
        prompt = load(model, "native").encode(program.encode(case.input))
        with every_program_has_cases():
            same_outcome(model, prompt, 2000)


def interpreter(operations: int = 16, *, array: bool = False) -> Graph:
    """A machine of one register: the first four tokens are a program, repeated for ever.

    With an array, which is asked for what was said, and always for what is never said.
    """
    names = [f"op{n}" for n in range(operations)]
    graph = Graph([*names, *(f"say{n}" for n in range(64))])
    is_operation = graph.is_token(*names)
    number = graph.feature("number", {name: n for n, name in enumerate(names)})
    size = graph.running_sum(is_operation)
    place = graph.position_feature(1, 4)
    now = graph.lookup(query=place, key=select(is_operation, size - 1, -1), value=number, missing=0)
    value = graph.feature("value", {f"say{n}": n for n in range(64)})
    if array:
        kept = [graph.lookup(query=q, key=value, value=value, missing=0) for q in (value, 63)]
        graph.assume(kept[0] + kept[1], 0, 100)
    result = graph.constant(0)
    for n in range(operations):
        result = result + graph.gate(equals(now, n), value + n - 3)
    graph.assume(result, -3, 60)
    graph.assume(graph.running_sum(value).named("sum of what was said"), 0, 3000)
    graph.emit([f"say{n}" for n in range(64)], select(equals(now, 5), result * 0.5, result))
    return graph


def test_a_row_that_was_never_filed_delays_no_cases() -> None:
    model = compile(interpreter(array=True), 256)
    source = model_to_c(model)
    ready = source[source.index("int ready(") :]
    assert "fetch" not in ready[: ready.index("}")]
    same_outcome(model, [4, 2, 3, 3], 200)


@pytest.mark.parametrize("prompt", [[5, 3], [1, 2, 3, 4, 5, 6, 7], [4, 2, 3, 3], [3, 9, 0, 0]])
def test_a_selector_and_a_broken_promise(prompt: list[int]) -> None:
    model = compile(interpreter(), 256)
    source = model_to_c(model)
    assert SPECIALISED in source
    assert "switch (v" in source
    same_outcome(model, prompt, 200)


@pytest.mark.parametrize("prompt", [[4, 3, 4, 3], [15, 0, 0, 3], [3, 3, 3, 3, 40]])
def test_a_promise_is_broken_where_the_general_code_says_so(prompt: list[int]) -> None:
    said, error = same_outcome(compile(interpreter(), 256), prompt, 200)
    assert error is not None
    assert f"position {len(prompt) + len(said) - 1}: " in error
    assert len(said) < 200


def test_prompts_that_continue_what_was_said() -> None:
    """Tokens that rules say and tokens that they do not, in any order."""
    model = compile(interpreter(), 512)
    general, cases = (Native(model, specialise=s).session() for s in (False, True))
    for prompt, count in [([3, 4], 50), ([20, 21], 30), ([2], 1), ([16], 2), ([3, 30, 3], 60)]:
        following = [int(session.feed_many(prompt)[-1]) for session in (general, cases)]
        assert following[0] == following[1]
        said = [
            s.generate(f, count).tolist() for s, f in zip((general, cases), following, strict=True)
        ]
        assert said[0] == said[1]


def test_generating_in_pieces() -> None:
    model = compile(interpreter(), 512)
    whole = Native(model).session()
    following = int(whole.feed_many([3, 4, 5])[-1])
    expected = whole.generate(following, 100).tolist()
    session = Native(model).session()
    token = int(session.feed_many([3, 4, 5])[-1])
    said: list[int] = []
    for count in (1, 2, 3, 5, 8, 13, 21, 30, 17):
        piece = session.generate(token, count).tolist()
        said += piece
        token = session.feed(piece[-1])
    assert said == expected


def test_a_source_is_generated_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CURTA_CACHE", str(tmp_path))
    model = compile(interpreter(), 64)
    first = cached_source(model, True, lambda: model_to_c(model))
    assert cached_source(model, True, lambda: "not generated again") == first
    assert cached_source(model, False, lambda: "other code") == "other code"
    for file in tmp_path.glob("native/*"):
        file.write_bytes(file.read_bytes()[:-1])
    assert cached_source(model, True, lambda: "generated again") == "generated again"


MAIN = """
#include <stdio.h>
int main(void) {
    State *s = curta_create();
    const int32_t prompt[] = {PROMPT};
    const int32_t size = sizeof(prompt) / sizeof(*prompt);
    int32_t said[COUNT];
    curta_feed(s, prompt, size, said);
    const int64_t length = curta_generate(s, said[size - 1], said, COUNT);
    for (int64_t i = 0; i < length; i++) printf("%d ", said[i]);
    curta_destroy(s);
    return 0;
}
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="the sanitizers of gcc")
@pytest.mark.parametrize("prompt", [[5, 3, 2, 2], [15, 0, 0, 3]])
def test_clean_under_sanitizers(prompt: list[int], tmp_path: Path) -> None:
    """Over the first growth of the track."""
    model = compile(interpreter(), 2**14)
    main = MAIN.replace("PROMPT", ", ".join(map(str, prompt))).replace("COUNT", "9000")
    source, program = tmp_path / "program.c", tmp_path / "program"
    source.write_text(model_to_c(model) + main)
    flags = ["-std=c11", "-O1", "-fwrapv", "-Wall", "-Wextra", "-Werror", "-Wno-unused"]
    sanitized = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    command = ["gcc", *flags, *sanitized, str(source), "-o", str(program), "-lm"]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr[:2000]
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
    finished = subprocess.run(
        [str(program)], env=environment, capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stderr[:2000]
    expected = outcome(Native(model, specialise=False), prompt, 9000)[0]
    assert [int(token) for token in finished.stdout.split()] == expected
