"""Traces of the machine's runs: the host's words, chapters, and runs that end badly."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from curta import Machine, Trap
from curta.app.command_line import main
from curta.engine import SavedTrace, load_trace, save_trace
from curta.errors import LimitError, UserError
from curta.machine.instance import Instance
from curta.machine.vocabulary import AWAIT, READ
from tests.support.model_page import differences

# Echoes the input; `divided` traps where it has to.
PROGRAM = """
(module
  (import "curta" "write" (func $write (param i32 i32)))
  (import "curta" "read" (func $read (result i32)))
  (func (export "divided") (param i32 i32) (result i32)
    (i32.div_u (local.get 0) (local.get 1)))
  (func (export "_start") (local i32)
    (loop $next
      (local.set 0 (call $read))
      (if (i32.ge_s (local.get 0) (i32.const 0)) (then
        (call $write (i32.const 1) (local.get 0))
        (br $next))))))
"""


@pytest.fixture(scope="module")
def machine() -> Machine:
    return Machine()


@pytest.fixture(scope="module")
def weights(machine: Machine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("weights") / "machine.safetensors"
    machine.engine.model.save(path)
    return path


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("echo.wat").write_text(PROGRAM)
    return tmp_path


def saved(machine: Machine, instance: Instance) -> SavedTrace:
    """The trace, checked by curta against the machine."""
    instance.save_trace("trace.safetensors", "a test")
    trace = load_trace("trace.safetensors", machine.engine.model)
    assert trace.tokens.tolist() == instance.trace.ids.tolist()
    return trace


def test_the_host_says_the_program_and_the_words_of_the_input(machine: Machine) -> None:
    instance = machine.begin("echo.wat", stdin=b"hi")
    assert instance.run() == 0
    trace = saved(machine, instance)
    names = [machine.engine.vocabulary[token] for token in trace.tokens.tolist()]
    prompt = instance.figures.prompt_tokens
    assert trace.given[:prompt].all()
    asked = [place for place, name in enumerate(names) if name in (AWAIT, READ)]
    begins = np.flatnonzero(np.diff(trace.given.astype(int)) == 1)
    assert begins.tolist() == [place for place in asked if place < len(names) - 1]


@pytest.mark.slow
def test_every_chapter_is_a_sequence(machine: Machine, weights: Path) -> None:
    instance = machine.begin("echo.wat", stdin=b"some words", chapter_tokens=20)
    instance.run()
    trace = saved(machine, instance)
    chapters = instance.conversation.chapters
    assert trace.starts.tolist() == [chapter.start for chapter in chapters]
    assert len(chapters) > 2
    for chapter in chapters:
        opening = slice(chapter.start, chapter.start + chapter.opening)
        assert trace.given[opening].all()
        assert not trace.given[opening.stop]
    assert differences(weights, Path("trace.safetensors")) == []


@pytest.mark.slow
def test_a_run_that_reaches_its_limit(machine: Machine) -> None:
    prompt = machine.begin("echo.wat").conversation.chapters[0].opening
    instance = machine.begin("echo.wat", stdin=b"some words", max_tokens=prompt + 30)
    with pytest.raises(LimitError):
        instance.run()
    assert len(saved(machine, instance).tokens) == prompt + 30


@pytest.mark.slow
def test_a_run_that_traps_and_goes_on_and_a_wrong_token_of_it(
    machine: Machine, weights: Path
) -> None:
    """All that is claimed is right but the last token, which somebody changed."""
    instance = machine.instantiate("echo.wat")
    with pytest.raises(Trap):
        instance.invoke("divided", 1, 0)
    assert instance.invoke("divided", 1000, 7) == 142
    trace = saved(machine, instance)
    tokens, place = trace.tokens.copy(), int(np.flatnonzero(trace.given == 0)[-1])
    tokens[place] += 1
    save_trace("wrong.safetensors", machine.engine.model, tokens, trace.given)
    assert differences(weights, Path("wrong.safetensors")) == [place]


def test_what_has_no_trace() -> None:
    with pytest.raises(UserError, match="level 'reference' has no weights"):
        Machine("reference").begin("echo.wat").save_trace("trace.safetensors")
    with pytest.raises(UserError, match="were not kept"):
        Machine().begin("echo.wat", keep_trace=False).save_trace("trace.safetensors")


@pytest.mark.parametrize(
    ("arguments", "note", "claimed"),
    [
        (["--invoke", "divided", "1", "0"], "curta run --invoke divided echo.wat 1 0", True),
        pytest.param(  # cannot even begin
            *(["--stdin", "x", "--max-tokens", "10"], "curta run echo.wat", False),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_the_command_writes_a_trace_of_a_run_that_fails(
    machine: Machine, arguments: list[str], note: str, *, claimed: bool
) -> None:
    options = ("--stats", "none", "--save-trace", "run.safetensors")
    assert main(["run", "echo.wat", *options, *arguments]) == 1
    trace = load_trace("run.safetensors", machine.engine.model)
    assert trace.note == note
    assert (trace.given == 0).any() == claimed
    instance = machine.instantiate("echo.wat")
    if claimed:
        with pytest.raises(Trap):
            instance.invoke("divided", 1, 0)
        assert trace.tokens.tolist() == instance.trace.ids.tolist()
