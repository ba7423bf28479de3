"""Code for whole instructions says and stops where the general code does."""

from __future__ import annotations

import lzma
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st

from curta.compiler import Graph, Model, Node, at_least, compile
from curta.compiler.model import load_model
from curta.engine import Engine, hot, load, native_level
from curta.engine.model_cache import cached_source
from curta.engine.native import routine
from curta.engine.native.emit import model_to_c
from curta.engine.native_level import Native
from curta.errors import CertificateError, RegionError
from tests.support.executors import (
    ASIDE,
    OPERATION_NAMES,
    SAID,
    Words,
    adder,
    executor,
    executors,
    later,
    programs,
)
from tests.support.general_step import by_steps
from tests.support.random_graphs import TOKENS, graphs
from tests.support.slow import draws

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
def all_are_programs() -> Iterator[None]:
    """Also what has few questions to ask; nothing is taken from the cache of sources."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(routine, "FEWEST_QUESTIONS", 0)
        patch.setattr(native_level, "cached_source", lambda model, generate: generate(model))
        yield


def same_outcome(model: Model, prompt: Sequence[int], count: int) -> Outcome:
    """The general code's outcome, which has to be the specialised code's."""
    general = outcome(by_steps(model), prompt, count)
    assert outcome(Native(model), prompt, count) == general
    return general


Conversation = tuple[list[list[int]], str | None]


def conversation(engine: Native, prompt: Sequence[int], heard: Sequence[int]) -> Conversation:
    """What is said by and by, while something is heard now and then, and the error that ends it."""
    session, said = engine.session(), list[list[int]]()
    try:
        following = session.take(np.array(prompt, dtype=np.int32))
        for number in range(6):
            said.append(session.generate(following, 200).tolist())
            following = session.feed(said[-1][-1])
            if heard and number % 2:
                following = session.take(np.array(heard, dtype=np.int32))
    except RegionError as error:
        return said, str(error)
    return said, None


@contextmanager
def places_at_once() -> Iterator[None]:
    """Code for places is made as soon as may be."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CURTA_PLACES", "now")
        patch.setattr(hot, "SAMPLED_NOW", 150)
        patch.setattr(hot, "WINDOW_NOW", 150)
        yield


@given(graphs(), st.lists(st.integers(0, len(TOKENS) - 1), min_size=1, max_size=8))
@settings(
    deadline=None,
    max_examples=draws(20),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
def test_random_programs(graph: Graph, prompt: list[int]) -> None:
    """Some of them look a selector up, and move on."""
    try:
        model = compile(graph, max_tokens=64)
    except CertificateError:
        return
    note(f"{graph.operations}, {graph.families}")
    with all_are_programs():
        general = same_outcome(model, prompt, 40)
    assert general[0] == outcome(load(model, "evaluate"), prompt, 40)[0]


PROMPTS = (programs, st.sampled_from([[], [20], [21, 22], [81], [20, 85]]), later)


@given(executors(), *PROMPTS)
@settings(
    deadline=None,
    max_examples=draws(8),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
def test_random_operations(
    graph: Graph, program: list[int], then: list[int], heard: list[int]
) -> None:
    """In code for all programs, and for the one that is executed."""
    assume(executed_alike(graph, [*program, *then], heard))


@given(executors(odd=True), *PROMPTS)
@settings(
    deadline=None,
    max_examples=draws(8),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
def test_random_odd_machines(
    graph: Graph, program: list[int], then: list[int], heard: list[int]
) -> None:
    """For most of them there is no such code, and there must not be."""
    executed_alike(graph, [*program, *then], heard)


def executed_alike(graph: Graph, prompt: list[int], heard: list[int]) -> bool:
    """Whether there is code for instructions; if so, it says what the definition does."""
    try:
        model = compile(graph, max_tokens=2048)
    except CertificateError:
        return False
    note(f"{graph.operations}")
    with all_are_programs():
        if SPECIALISED not in model_to_c(model):
            return False
        general = conversation(by_steps(model), prompt, heard)
        assert conversation(Native(model), prompt, heard) == general
        if len(general[0]) > 1:
            with places_at_once():
                assert conversation(Native(model), prompt, heard) == general
    said, error = outcome(load(model, "evaluate"), prompt, 30)
    begun = outcome(by_steps(model), prompt, 30)
    assert (said, error is None) == (begun[0], begun[1] is None)
    return True


@pytest.mark.parametrize("back", [1, 2, 4, 7])
@pytest.mark.parametrize("word", ["value", "place"])
def test_what_the_token_alone_does_not_tell_is_found_where_it_was(word: str, back: int) -> None:
    """By its position, in the row of a token that was said by code for places."""

    def results(graph: Graph, words: Words) -> list[Node]:
        there = graph.position - back
        value = getattr(words, word)
        found = graph.lookup(query=there, key=graph.position, value=value, missing="nearest")
        return [words.value, found, 3 - 4 * words.value]

    model = compile(executor(results, -1000, 1000), 256)
    with all_are_programs():
        said, _ = same_outcome(model, [0, 2, 0, 1, 0], 60)
    assert said[:30] == outcome(load(model, "evaluate"), [0, 2, 0, 1, 0], 30)[0]


def test_of_two_keys_as_near_the_later_one_is_found() -> None:
    """Also if both were filed by instructions that code for places said one after the other."""

    def results(graph: Graph, words: Words) -> list[Node]:
        key = words.value
        found = graph.lookup(query=graph.constant(5), key=key, value=key, missing="nearest")
        return [graph.constant(4), graph.constant(6), found]

    model = compile(executor(results, 0, 60), 256)
    with all_are_programs():
        said, _ = same_outcome(model, [0, 1, 2, 0, 1, 5], 60)
        assert same_outcome(model, [1, 0, 2, 1, 0, 5], 60)[0] != said
    assert said[:30] == outcome(load(model, "evaluate"), [0, 1, 2, 0, 1, 5], 30)[0]


def test_a_row_that_was_never_filed_delays_nothing() -> None:
    """Only the word that was said last has to be there."""
    model = compile(adder(array=True), 256)
    tests = [
        model_to_c(one).partition("int ready(")[2].partition("}")[0]
        for one in (model, compile(adder(), 256))
    ]
    assert [one.count("fetch") for one in tests] == [1, 1]
    same_outcome(model, [4, 2, 3, 3], 200)


@pytest.mark.parametrize("prompt", [[5, 3], [1, 2, 3, 4, 5, 6, 7], [4, 2, 3, 3], [3, 9, 0, 0]])
def test_a_selector_and_a_broken_promise(prompt: list[int]) -> None:
    model = compile(adder(), 256)
    source = model_to_c(model)
    assert SPECIALISED in source
    assert source.count("/// template") == 16
    same_outcome(model, prompt, 200)


@pytest.mark.parametrize("prompt", [[4, 3, 4, 3], [15, 0, 0, 3], [3, 3, 3, 3, 40]])
def test_a_promise_is_broken_where_the_general_code_says_so(prompt: list[int]) -> None:
    said, error = same_outcome(compile(adder(), 256), prompt, 200)
    assert error is not None
    assert f"position {len(prompt) + len(said) - 1}: " in error
    assert len(said) < 200


def test_prompts_that_continue_what_was_said() -> None:
    """Tokens that rules say and tokens that they do not, in any order."""
    model = compile(adder(), 512)
    general, cases = (make(model).session() for make in (by_steps, Native))
    for prompt, count in [([3, 4], 50), ([5, 2], 30), ([2], 1), ([14], 2), ([3, 9, 3], 60)]:
        following = [session.take(np.array(prompt)) for session in (general, cases)]
        assert following[0] == following[1]
        said = [
            s.generate(f, count).tolist() for s, f in zip((general, cases), following, strict=True)
        ]
        assert said[0] == said[1]


def test_generating_in_pieces() -> None:
    model = compile(adder(), 512)
    whole = Native(model).session()
    following = whole.take(np.array([3, 4, 5]))
    expected = whole.generate(following, 100).tolist()
    session = Native(model).session()
    token = session.take(np.array([3, 4, 5]))
    said: list[int] = []
    for count in (1, 2, 3, 5, 8, 13, 21, 30, 17):
        piece = session.generate(token, count).tolist()
        said += piece
        token = session.feed(piece[-1])
    assert said == expected


def test_a_source_is_generated_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CURTA_CACHE", str(tmp_path))
    model = compile(adder(), 64)
    first = cached_source(model, model_to_c)
    assert cached_source(model, lambda _: "not generated again") == first
    for file in tmp_path.glob("native/*"):
        file.write_bytes(file.read_bytes()[:-1])
    assert cached_source(model, lambda _: "generated again") == "generated again"


MAIN = """
#include <stdio.h>
int main(void) {
    State *s = curta_create();
    const int32_t prompt[] = {PROMPT};
    const int32_t size = sizeof(prompt) / sizeof(*prompt);
    int32_t said[COUNT];
    curta_take(s, prompt, size, said, 1);
    const int64_t length = curta_generate(s, said[size - 1], said, COUNT, COUNT, 0);
    for (int64_t i = 0; i < length; i++) printf("%d ", said[i]);
    curta_destroy(s);
    return 0;
}
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="the sanitizers of gcc")
@pytest.mark.parametrize("prompt", [[5, 3, 2, 2], [15, 0, 0, 3]])
@pytest.mark.slow
def test_clean_under_sanitizers(prompt: list[int], tmp_path: Path) -> None:
    """Over the first growth of the track."""
    model = compile(adder(), 2**14)
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
    expected = outcome(by_steps(model), prompt, 9000)[0]
    assert [int(token) for token in finished.stdout.split()] == expected


def test_a_promise_that_nothing_keeps_is_broken_by_the_first_token_of_a_prompt() -> None:
    """No token before it has checked what is zero."""

    def results(graph: Graph, words: Words) -> list[Node]:
        count = graph.running_sum(graph.is_token(*SAID)).named("count")
        graph.assume(count, 1, 3000)
        return [words.value + number for number in range(4)]

    model = compile(executor(results, -3, 60), 256)
    with all_are_programs():
        for prompt in ([0, 1, 2, 0, 1, 5], [0, 1, 2, 0, 1, 20]):
            said, error = same_outcome(model, prompt, 50)
            assert not said
            assert str(error).startswith("position 0: count is 0")


@pytest.mark.parametrize("constant", [True, False])
def test_rows_that_are_begun_before_an_instruction_is_known_are_filled_by_it(
    constant: bool,
) -> None:
    def results(graph: Graph, words: Words) -> list[Node]:
        key = graph.is_token(*OPERATION_NAMES) if constant else words.value
        query = graph.constant(0) if constant else words.value
        found = graph.lookup(query=query, key=key, value=words.operation, missing=0)
        return [words.value + 1, found, found + words.value, words.value - found]

    model = compile(executor(results, -1000, 1000), 256)
    with all_are_programs():
        said, _ = same_outcome(model, [0, 2, 3, 1, 0], 200)
    assert said[:30] == outcome(load(model, "evaluate"), [0, 2, 3, 1, 0], 30)[0]


def test_what_is_nearest_is_asked_again_behind_every_token_of_an_instruction() -> None:
    """Under whatever number that is filed."""

    def found(graph: Graph, words: Words) -> Node:
        key = 8 * graph.is_token(*ASIDE)
        return graph.lookup(query=graph.constant(5), key=key, value=words.aside, missing="nearest")

    def results(graph: Graph, words: Words) -> list[Node]:
        return [found(graph, words) + number for number in range(4)]

    def asides(graph: Graph, words: Words) -> list[Node]:
        return [found(graph, words) + words.value + number for number in range(4)]

    model = compile(executor(results, -1000, 1000, asides), 256)
    with all_are_programs():
        said, _ = same_outcome(model, [0, 2, 3, 1, 0], 200)
    assert said[:30] == outcome(load(model, "evaluate"), [0, 2, 3, 1, 0], 30)[0]


@pytest.mark.parametrize("kept", ["key", "nearest", "total"])
def test_what_an_instruction_changes_is_what_it_is_at_its_next_token(kept: str) -> None:
    """In rows, or a total, that depend on which instruction it is."""

    def found(graph: Graph, words: Words) -> Node:
        if kept == "total":
            return 3 * at_least(graph.running_sum(words.operation * 2 - 3), 5)
        count = graph.running_sum(graph.is_token(*SAID, *ASIDE))
        return graph.lookup(
            query=graph.constant(1),
            key=words.operation,
            value=count - 32 * at_least(count, 32) - 32 * at_least(count, 64),
            missing="nearest" if kept == "nearest" else 0,
        )

    def results(graph: Graph, words: Words) -> list[Node]:
        return [found(graph, words) + number for number in range(4)]

    model = compile(executor(results, -1000, 1000, results), 1024)
    with all_are_programs():
        for program in ([0, 1, 2, 1, 0], [2, 2, 3, 1, 0], [3, 0, 2, 1, 0]):
            general = conversation(by_steps(model), program, [])
            assert conversation(Native(model), program, []) == general
            said, _ = outcome(load(model, "evaluate"), program, 40)
            assert general[0][0][:40] == said


def test_a_sequence_that_was_stopped_says_nothing_more() -> None:
    model = compile(adder(), 256)
    with all_are_programs():
        session = Native(model).session()
    following = session.take(np.array([15] * 5, dtype=np.int32))
    session.generate(following, 200)
    for _ in range(2):
        with pytest.raises(RegionError, match="promised"):
            session.generate(following, 200)


@pytest.mark.parametrize(
    ("name", "prompt", "stops"),
    [
        # What a token finds depends on what the first one of the prompt filed.
        ("one_filing_for_all", [6, 3, 0, 5, 0, 21, 22], False),
        # A promise about what was said aside, which nothing else asks for in an instruction.
        ("one_that_asks_for_what_nobody_reads", [0, 4, 145, 0, 3], True),
    ],
)
def test_graphs_that_were_drawn_once(
    name: str, prompt: list[int], stops: bool, tmp_path: Path
) -> None:
    packed = Path(__file__).with_name(f"{name}.safetensors.xz").read_bytes()
    (tmp_path / "model.safetensors").write_bytes(lzma.decompress(packed))
    model = load_model(tmp_path / "model.safetensors")
    with all_are_programs():
        said, error = same_outcome(model, prompt, 50)
    assert (said, error is not None) == (outcome(load(model, "evaluate"), prompt, 50)[0], stops)
