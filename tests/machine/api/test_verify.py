"""`curta verify`: what agrees is said to agree, and what does not is named."""

from __future__ import annotations

import io
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from curta import Machine
from curta.app import machine_verify
from curta.app.command_line import main
from curta.engine import Engine, Level, load
from curta.engine.model_cache import compile_cached
from curta.engine.replay import replay
from curta.errors import UserError
from curta.gallery import PROGRAMS
from curta.machine.ids import AWAIT_ID, EXIT_ID, FIRST_LAST, FIRST_MORE, FIRST_OUTPUT, READ_ID
from curta.machine.machine import Run
from curta.machine.verify import (
    Outcome,
    Replay,
    VerifyError,
    compare_outcomes,
    compare_tokens,
    plan,
    run_on_wasmtime,
    spoken_by_machine,
)
from curta.machine.wasm import assemble
from curta.machine.weights import load_machine

Capture = pytest.CaptureFixture[str]

TEXT = """
(module
  (import "wasi_snapshot_preview1" "fd_write"
    (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 16) "hi\\0a")
  (func (export "_start")
    (i32.store (i32.const 0) (i32.const 16))
    (i32.store (i32.const 4) (i32.const 3))
    (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))
"""
TRAPS = '(module (memory (export "memory") 1) (func (export "_start") (unreachable)))'


@pytest.fixture(scope="module")
def run() -> Run:
    return Machine().run(assemble(TEXT))


@pytest.fixture(scope="module")
def plain() -> Engine:
    pytest.importorskip("torch")
    return load_machine("plain")


def test_the_softmax_model_says_the_same_and_a_wrong_token_is_named(
    run: Run, plain: Engine
) -> None:
    ids, prompt = run.trace.ids, run.figures.prompt_tokens
    compared = compare_tokens(plain, ids, prompt, plan(len(ids), prompt))
    assert (compared.level, compared.tokens) == ("plain", len(ids))
    assert compared.spoken == len(ids) - prompt - 2  # the host named two entries

    wrong = ids.copy()
    place = len(ids) - 5
    wrong[place] = FIRST_LAST + 200 if ids[place] != FIRST_LAST + 200 else FIRST_LAST
    with pytest.raises(VerifyError, match=f"differ at position {place:,}: after .* 'plain' says"):
        compare_tokens(plain, wrong, prompt, plan(len(ids), prompt))


def test_only_what_the_machine_said_is_compared() -> None:
    more, last, output = FIRST_MORE + 1, FIRST_LAST + 1, FIRST_OUTPUT
    ids = [last, AWAIT_ID, AWAIT_ID, more, last, output, READ_ID, last, more, last, EXIT_ID, output]
    host = [0, 1, 3, 4, 7]
    spoken = spoken_by_machine(np.array(ids, dtype=np.int32), prompt=2)
    assert np.flatnonzero(~spoken).tolist() == host
    assert not spoken_by_machine(np.array([last, AWAIT_ID, more], dtype=np.int32), 1)[2]


def test_which_level_and_how_much() -> None:
    assert plan(20_000, 500) == Replay("plain", 20_000)
    assert plan(20_001, 500) == Replay("hull", 20_001)
    assert plan(10**6, 80_000) == Replay("hull", 100_000)
    assert plan(10**6, 500, "plain") == Replay("plain", 20_000)
    assert plan(10**6, 500, tokens=3_000) == Replay("hull", 3_000)
    assert plan(30_000, 500, tokens=40_000) == Replay("plain", 30_000)
    with pytest.raises(UserError, match=r"80,000 tokens.*nothing to compare.*--level hull"):
        plan(10**6, 80_000, "plain")
    with pytest.raises(UserError, match="expected at least 1"):
        plan(10, 5, tokens=0)


@pytest.mark.parametrize("name", ["addition", "subleq", "prefix_fractions"])
@pytest.mark.parametrize("level", ["plain", "hull"])
def test_blocks_say_what_a_session_says(level: Level, name: str) -> None:
    if level == "plain":
        pytest.importorskip("torch")
    program = PROGRAMS[name]
    engine = load(compile_cached(program.build(), program.max_tokens), level)
    prompt = engine.encode(program.encode(program.cases[0].input))
    ids = np.array([*prompt, *engine.run(prompt, 300)], dtype=np.int32)
    session = engine.session()
    said = np.concatenate(list(replay(engine, ids)))
    assert said.tolist() == [session.feed(token) for token in ids.tolist()]


@pytest.mark.parametrize(
    ("theirs", "words"),
    [
        (Outcome(b"ab", b"", 0), r"output differs at byte 1: here b'x\\n', on wasmtime b'b'"),
        (Outcome(b"ax\n", b"e", 0), "error output differs at byte 0: here 'its end'"),
        (Outcome(b"ax\n", b"", 3), "here the exit code is 0, on wasmtime the exit code is 3"),
        (Outcome(b"ax\n", b"", None, "why"), r"exit code is 0, on wasmtime it traps \(why\)"),
    ],
)
def test_what_wasmtime_does_differently(theirs: Outcome, words: str) -> None:
    ours = Outcome(b"ax\n", b"", 0)
    compare_outcomes(ours, ours)
    with pytest.raises(VerifyError, match=words):
        compare_outcomes(ours, theirs)


def test_wasmtime_runs_it_too(run: Run) -> None:
    pytest.importorskip("wasmtime")
    assert run_on_wasmtime(assemble(TEXT), ["x"], {}, b"") == Outcome(b"hi\n", b"", 0)
    trapped = run_on_wasmtime(assemble(TRAPS), ["x"], {}, b"")
    assert trapped.exit_code is None
    assert "unreachable" in trapped.trap


def test_exit_codes_that_wasmtime_refuses() -> None:
    pytest.importorskip("wasmtime")
    text = """(module
      (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
      (memory (export "memory") 1)
      (func (export "_start") (call $exit (i32.const 255))))"""
    theirs = run_on_wasmtime(assemble(text), ["x"], {}, b"")
    assert theirs.exit_code is None
    compare_outcomes(Outcome(b"", b"", 255), theirs)
    for ours in (Outcome(b"", b"", 125), Outcome(b"", b"", None, "unreachable")):
        with pytest.raises(VerifyError, match="on wasmtime"):
            compare_outcomes(ours, replace(theirs, stdout=b"x"))


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    path = tmp_path / "hi.wat"
    path.write_text(TEXT)
    return str(path)


@pytest.fixture
def same_weights(plain: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    native = load_machine("native")
    monkeypatch.setattr(
        "curta.machine.weights.load_machine",
        lambda level="native", *_: plain if level == "plain" else native,
    )


@pytest.mark.usefixtures("same_weights")
def test_the_command(file: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_verify, "run_on_wasmtime", lambda *_: Outcome(b"hi\n", b"", 0))
    monkeypatch.setattr(machine_verify, "wasmtime_is_there", lambda: True)
    assert main(["verify", file]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert "tokens: the same from the plain softmax model; " in first
    assert second == "output, errors and exit code as in wasmtime"

    monkeypatch.setattr(machine_verify, "replay", lambda *_: "the same")  # once is enough
    monkeypatch.setattr(machine_verify, "run_on_wasmtime", lambda *_: Outcome(b"ho\n", b"", 0))
    assert main(["verify", file]) == 1
    assert "the output differs at byte 1" in capsys.readouterr().err

    monkeypatch.setattr(machine_verify, "wasmtime_is_there", lambda: False)
    assert main(["verify", file]) == 0
    assert "were not checked: wasmtime is not installed" in capsys.readouterr().out
