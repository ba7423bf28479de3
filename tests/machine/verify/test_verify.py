"""`curta verify`: what agrees is said to agree, and what does not is named."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from curta import Machine
from curta.app import verify
from curta.app.command_line import main
from curta.engine import Engine, Level, load
from curta.engine.base import NOT_ASKED, Answers
from curta.engine.model_cache import compile_cached
from curta.errors import UserError, VerifyError
from curta.gallery import PROGRAMS
from curta.machine.extensions.byte_swap import BYTE_SWAP
from curta.machine.ids import (
    AWAIT_ID,
    EXIT_ID,
    FIRST_LAST,
    FIRST_MORE,
    FIRST_OUTPUT,
    READ_ID,
    Ids,
)
from curta.machine.loaded import LoadedProgram
from curta.machine.machine import Run
from curta.machine.request import ReplayLevel
from curta.machine.talkers import SessionTalker
from curta.machine.verify import jobs as verify_jobs
from curta.machine.verify import on_wasmtime
from curta.machine.verify.chapters import ChapterPart, check_part, spoken_by_machine
from curta.machine.verify.jobs import Checked
from curta.machine.verify.on_wasmtime import (
    Outcome,
    compare_outcomes,
    run_on_wasmtime,
    unknown_to_wasmtime,
)
from curta.machine.vocabulary import TOKENS
from curta.machine.wasm.text import assemble
from curta.machine.weights import load_machine
from tests.support.slow import draws

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


@pytest.fixture(scope="module")
def engines(plain: Engine) -> dict[Level, Engine]:
    return {"plain": plain, "hull": load_machine("hull")}


@pytest.fixture(scope="module")
def program() -> LoadedProgram:
    return Machine("reference").load(assemble(TEXT))


def part(ids: Ids, prompt: int) -> ChapterPart:
    return ChapterPart(1, prompt, ids[:prompt], ids[prompt:])


@pytest.mark.parametrize("level", ["plain", "hull"])
def test_both_levels_say_what_the_run_said(
    run: Run, program: LoadedProgram, engines: dict[Level, Engine], level: ReplayLevel
) -> None:
    ids, prompt = run.trace.ids, run.figures.prompt_tokens
    shares: list[float] = []
    spoken = check_part(engines[level], program, part(ids, prompt), shares.append)
    assert spoken == len(ids) - prompt - 2  # the host named two entries
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


@pytest.mark.parametrize("level", ["plain", "hull"])
def test_any_wrong_token_is_named(
    run: Run, program: LoadedProgram, engines: dict[Level, Engine], level: ReplayLevel
) -> None:
    ids, prompt = run.trace.ids, run.figures.prompt_tokens
    spoken = np.flatnonzero(spoken_by_machine(ids, prompt))
    for place in spoken[:: 1 + len(spoken) // draws(5, 3)].tolist():
        wrong = ids.copy()
        wrong[place] = FIRST_LAST + 200 if ids[place] != FIRST_LAST + 200 else FIRST_LAST
        words = (
            rf"differ at position {place:,}, in instruction [\d,]+ \(.*\) of .*: the .* says "
            rf"{re.escape(TOKENS[ids[place]])}, the run has {TOKENS[wrong[place]]}, after \.\.\. "
        )
        with pytest.raises(VerifyError, match=words):
            check_part(engines[level], program, part(wrong, prompt))


def test_the_named_instruction_is_the_one_that_spoke(
    run: Run, program: LoadedProgram, engines: dict[Level, Engine]
) -> None:
    ids, prompt = run.trace.ids.copy(), run.figures.prompt_tokens
    place = int(np.flatnonzero(ids == FIRST_OUTPUT + ord("i"))[0])
    ids[place] = FIRST_OUTPUT + ord("o")
    with pytest.raises(VerifyError, match=r"\(.*out.*\) of .*says out105, the run has out111"):
        check_part(engines["hull"], program, part(ids, prompt))


def test_only_what_the_machine_said_is_compared() -> None:
    more, last, output = FIRST_MORE + 1, FIRST_LAST + 1, FIRST_OUTPUT
    ids = [last, AWAIT_ID, AWAIT_ID, more, last, output, READ_ID, last, more, last, EXIT_ID, output]
    host = [0, 1, 3, 4, 7]
    spoken = spoken_by_machine(np.array(ids, dtype=np.int32), prompt=2)
    assert np.flatnonzero(~spoken).tolist() == host
    assert not spoken_by_machine(np.array([last, AWAIT_ID, more], dtype=np.int32), 1)[2]


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
    said = np.concatenate(list(engine.replay(ids)))
    expected = [session.feed(token) for token in ids.tolist()]
    assert said.tolist() == expected

    asked = np.arange(len(ids)) % 3 == 1
    said = np.concatenate(list(engine.replay(ids, asked)))
    assert said.tolist() == np.where(asked, expected, NOT_ASKED).tolist()


@pytest.mark.parametrize(
    ("theirs", "words"),
    [
        (Outcome(b"ab", b"", 0), r"output differs at byte 1: here b'x\\n', on wasmtime b'b'"),
        (Outcome(b"ax\n", b"e", 0), "error output differs at byte 0: here 'its end'"),
        (Outcome(b"ax\n", b"", 3), "here the exit code is 0, on wasmtime the exit code is 3"),
        (Outcome(b"ax\n", b"", None, "why"), r"exit code is 0, on wasmtime it traps \(why\)"),
        (Outcome(b"ax\n", b"", 0, "", ("7", "8")), "result here is nothing, on wasmtime 7 8"),
    ],
)
def test_what_wasmtime_does_differently(theirs: Outcome, words: str) -> None:
    ours = Outcome(b"ax\n", b"", 0)
    compare_outcomes(ours, ours)
    with pytest.raises(VerifyError, match=words):
        compare_outcomes(ours, theirs)


def test_wasmtime_runs_it_too(run: Run) -> None:
    assert run_on_wasmtime(assemble(TEXT), ["x"], {}, b"") == Outcome(b"hi\n", b"", 0)
    trapped = run_on_wasmtime(assemble(TRAPS), ["x"], {}, b"")
    assert trapped.exit_code is None
    assert "unreachable" in trapped.trap


def test_exit_codes_that_wasmtime_refuses() -> None:
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
def same_weights(engines: dict[Level, Engine], monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = {"native": load_machine("native"), **engines}
    monkeypatch.setattr(
        "curta.machine.weights.load_machine", lambda level="native", *_: loaded[level]
    )


@pytest.mark.usefixtures("same_weights")
def test_the_command(file: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_wasmtime, "run_on_wasmtime", lambda *_: Outcome(b"hi\n", b"", 0))
    assert main(["verify", file]) == 0
    first, second, third, last = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"run: [\d,]+ tokens \([\d,]+ of them the program\); .*", first)
    assert re.match(r"tokens: all \d+ that the machine said are those of the plain soft", second)
    assert third == "wasmtime: the same output (3 bytes), errors (0 bytes) and exit code 0"
    assert last == "verified"

    def nothing(work: object, one: ChapterPart, *_: object) -> Checked:  # no second time
        return Checked(one.first, len(one.said), len(one), 3)

    monkeypatch.setattr(verify_jobs, "check", nothing)
    monkeypatch.setattr(on_wasmtime, "run_on_wasmtime", lambda *_: Outcome(b"ho\n", b"", 0))
    assert main(["verify", file]) == 1
    said = capsys.readouterr()
    assert "the output differs at byte 1" in said.err
    assert "verified" not in said.out

    monkeypatch.setattr(on_wasmtime, "run_on_wasmtime", lambda *_: Outcome(b"hi\n", b"", 0))
    prompt = int(first.split("(")[1].split()[0].replace(",", ""))
    assert main(["verify", file, "--tokens", f"{prompt + 20}"]) == 0
    said_words = capsys.readouterr().out
    assert f"said among the first {prompt + 20:,} are" in said_words
    assert "verified, except the tokens behind those that were replayed\n" in said_words
    assert main(["verify", file, "--tokens", f"{prompt}"]) == 2
    assert f"nothing to compare: --tokens {prompt + 1000} or more" in capsys.readouterr().err


@pytest.mark.usefixtures("same_weights")
def test_why_softmax_is_not_taken(
    file: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_wasmtime, "run_on_wasmtime", lambda *_: Outcome(b"hi\n", b"", 0))
    monkeypatch.setattr(verify_jobs, "SOFTMAX_TOKENS", 10)
    why = re.compile(r"those of the hull level, .*; softmax, beyond [\d,]+ tokens: --level plain\n")
    assert main(["verify", file]) == 0
    assert why.search(capsys.readouterr().out)
    assert main(["verify", file, "--level", "hull"]) == 0
    assert not why.search(capsys.readouterr().out)


@pytest.mark.usefixtures("same_weights")
def test_the_command_on_a_tampered_conversation(
    file: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tampered(
        self: SessionTalker, given: Ids, most: int, answers: Answers | None = None
    ) -> Iterator[Ids]:
        for ids in untouched(self, given, most, answers):
            wrong = ids.copy()
            wrong[wrong == FIRST_OUTPUT + ord("h")] += 1
            yield wrong

    untouched = SessionTalker.talk
    monkeypatch.setattr(SessionTalker, "talk", tampered)
    monkeypatch.setattr(on_wasmtime, "compare_kept", lambda *_: (False, "not compared"))
    for level in ("plain", "hull"):
        assert main(["verify", file, "--level", level]) == 1
        said = capsys.readouterr()
        assert "the tokens differ at position " in said.err
        assert "verified" not in said.out


@pytest.mark.usefixtures("same_weights")
def test_an_invoked_function(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    path = tmp_path / "two.wat"
    path.write_text(
        """(module (func (export "both") (param i32 i32) (result i32 i32)
          (i32.sub (local.get 0) (local.get 1)) (i32.div_s (local.get 0) (local.get 1))))"""
    )
    verify = ["verify", str(path), "--level", "hull", "--invoke", "both", "--"]
    assert main([*verify, "4294967289", "2"]) == 0
    assert "errors (0 bytes) and results -9 -3\nverified\n" in capsys.readouterr().out
    assert main([*verify, "1", "0"]) == 0
    assert "and a trap too (" in capsys.readouterr().out
    assert main([*verify, "1"]) == 2
    assert "takes 2 arguments" in capsys.readouterr().err


@pytest.mark.usefixtures("same_weights")
@pytest.mark.parametrize("end", ["(unreachable)", ""])
def test_what_wasmtime_does_not_know_is_not_compared(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    path = tmp_path / "native.wat"
    path.write_text(
        f"""(module (import "curta" "write" (func $write (param i32 i32)))
          (func (export "_start") (call $write (i32.const 1) (i32.const 65)) {end}))"""
    )
    assert main(["verify", str(path), "--level", "hull"]) == 0
    assert capsys.readouterr().out.endswith(
        "wasmtime: not compared, it has no curta.write\nverified, except what wasmtime would do\n"
    )


def test_extensions_are_known_to_wasmtime() -> None:
    module = assemble("""(module (import "curta" "byte_swap" (func (param i32) (result i32)))
      (import "wasi_unstable" "proc_exit" (func (param i32)))
      (import "wasi_snapshot_preview1" "proc_exit" (func (param i32))))""")
    assert unknown_to_wasmtime(module, [BYTE_SWAP]) == ["wasi_unstable.proc_exit"]
    assert unknown_to_wasmtime(module)[0] == "curta.byte_swap"


def test_a_run_that_softmax_cannot_read_at_once(
    run: Run, program: LoadedProgram, engines: dict[Level, Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    ids, prompt = run.trace.ids, run.figures.prompt_tokens
    monkeypatch.setattr(engines["plain"].__class__, "max_tokens", prompt + 20)
    with pytest.raises(UserError, match=r"read in parts of .* \(--chapter-tokens\), bake"):
        check_part(engines["plain"], program, part(ids, prompt))


C_PROGRAM = """
#include <math.h>
#include <stdio.h>
int main(int count, char **words) {
    double sum = 0;
    for (int number; scanf("%d", &number) == 1;) sum += sqrt(number);
    printf("%s %d %.6f\\n", words[1], count, sum);
    return 7;
}
"""


@pytest.mark.slow
def test_a_program_with_the_c_library(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    path = tmp_path / "sums.c"
    path.write_text(C_PROGRAM)
    assert main(["verify", str(path), "a b", "--stdin", "2 3 1000000"]) == 0
    said = capsys.readouterr().out
    assert " are those of the hull level" in said
    assert "the same output (18 bytes), errors (0 bytes) and exit code 7\nverified\n" in said


def test_without_pytorch_there_are_hull_caches(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(verify, "find_spec", lambda name: None)
    assert verify.level_there_is(None) == "hull"
    assert "pip install 'curta[torch]'" in capsys.readouterr().err
    assert verify.level_there_is("hull") == "hull"
    with pytest.raises(UserError, match="needs PyTorch"):
        verify.level_there_is("plain")


class Live(io.RawIOBase):
    """A pipe that stays open: one line comes, and then whoever reads on waits for ever."""

    def __init__(self) -> None:
        self.left = b"one line\n"

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:
        assert self.left, "what was not asked for is waited for"
        count = min(len(buffer), len(self.left))
        buffer[:count], self.left = self.left[:count], self.left[count:]
        return count


LINES = """
#include <stdio.h>
int main(void) {
    char line[100];
    fgets(line, sizeof line, stdin);
    printf("%sin upper case\\nhalf a li", line);
    fputs("error", stderr);
    __builtin_trap();
}
"""


@pytest.mark.usefixtures("same_weights")
@pytest.mark.slow
def test_what_was_printed_before_a_trap_is_whole_lines_on_both(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And input that does not end is given to both as far as the program asked for it."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Live()))
    path = tmp_path / "lines.c"
    path.write_text(LINES)
    assert main(["verify", str(path)]) == 0
    said = capsys.readouterr().out
    assert "wasmtime: the same output (23 bytes), errors (5 bytes), and a trap too (" in said
