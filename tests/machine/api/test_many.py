"""Many runs of one program, on several processes, are the runs that one would have made."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from curta import Machine
from curta.errors import LimitError, ProgramError, Trap, UserError
from curta.machine.run import Run
from curta.machine.wasm.text import assemble

ECHO = assemble(
    """(module
      (import "wasi_snapshot_preview1" "fd_read"
        (func $read (param i32 i32 i32 i32) (result i32)))
      (import "wasi_snapshot_preview1" "fd_write"
        (func $write (param i32 i32 i32 i32) (result i32)))
      (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
      (memory (export "memory") 1)
      (func (export "_start")
        (i32.store (i32.const 0) (i32.const 64))
        (i32.store (i32.const 4) (i32.const 100))
        (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
        (i32.store (i32.const 4) (i32.load (i32.const 8)))
        (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))
        (if (i32.eq (i32.load8_u (i32.const 64)) (i32.const 33)) (then (unreachable)))
        (call $exit (i32.load8_u (i32.const 64)))))"""
)
MACHINE = Machine()
INPUTS = [b"", b"a", b"!trap", *(f"{number} lines".encode() for number in range(40)), b"!"]


def alone(given: bytes) -> Run | ProgramError:
    try:
        return MACHINE.run(ECHO, stdin=given, keep_trace=False)
    except Trap as trap:
        return trap


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_comes_of_each_input(jobs: int) -> None:
    outcomes = list(MACHINE.map(ECHO, INPUTS, jobs=jobs))
    assert len(outcomes) == len(INPUTS)
    for given, outcome in zip(INPUTS, outcomes, strict=True):
        expected = alone(given)
        if isinstance(expected, ProgramError):
            assert repr(outcome) == repr(expected)
            continue
        assert isinstance(outcome, Run)
        assert (outcome.stdout, outcome.exit_code) == (expected.stdout, expected.exit_code)
        assert outcome.figures.tokens == expected.figures.tokens
        assert not len(outcome.trace)


def test_inputs_are_options() -> None:
    given = [
        {"stdin": b"x"},
        {"stdin": b"y", "max_tokens": 300},
        {"stdin": b"z", "keep_trace": True},
    ]
    first, limited, traced = MACHINE.map(ECHO, given, jobs=2, name="echo")
    assert isinstance(first, Run)
    assert first.stdout == b"x"
    assert isinstance(limited, LimitError)
    assert isinstance(traced, Run)
    assert list(traced.trace) == list(MACHINE.run(ECHO, stdin=b"z", name="echo").trace)


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_input_is_what_it_was_when_it_was_given(jobs: int) -> None:
    content, words, variables = bytearray(b"0"), ["a"], {"KEY": "0"}

    def inputs() -> Iterator[dict[str, object]]:
        for digit in b"0123456789":
            content[0], words[0], variables["KEY"] = digit, chr(digit) * 9, chr(digit) * 9
            yield {"stdin": content, "args": words, "env": variables}
        yield {"stdin": memoryview(b"m"), "args": iter(["it"]), "env": os.environ}

    outcomes = list(MACHINE.map(ECHO, inputs(), jobs=jobs, keep_trace=True))  # type: ignore[arg-type]
    for digit, outcome in zip(b"0123456789", outcomes, strict=False):
        given, nine = bytes([digit]), chr(digit) * 9
        alone = MACHINE.run(ECHO, stdin=given, args=[nine], env={"KEY": nine})
        assert isinstance(outcome, Run)
        assert outcome.stdout == given
        assert list(outcome.trace) == list(alone.trace)
    assert isinstance(outcomes[-1], Run)
    assert outcomes[-1].stdout == b"m"


def test_what_is_said_for_all_holds_where_an_input_says_nothing() -> None:
    (run,) = MACHINE.map(ECHO, [{"keep_trace": True}], jobs=1, stdin=b"s", args=["a"])
    assert isinstance(run, Run)
    assert run.stdout == b"s"
    assert list(run.trace) == list(MACHINE.run(ECHO, stdin=b"s", args=["a"]).trace)


def test_inputs_are_read_as_they_are_needed() -> None:
    taken = 0

    def endless() -> Iterator[bytes]:
        nonlocal taken
        while True:
            taken += 1
            yield b"a"

    outcomes = MACHINE.map(ECHO, endless(), jobs=2)
    for _ in range(5):
        assert isinstance(next(outcomes), Run)
    assert taken < 10_000
    outcomes.close()  # type: ignore[attr-defined]


def test_one_run_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(count: int) -> None:
        raise AssertionError(f"{count} processes")

    monkeypatch.setattr("curta.machine.many.processes", refuse)
    (run,) = MACHINE.map(ECHO, [b"a"], jobs=2)
    assert isinstance(run, Run)
    assert run.stdout == b"a"
    with pytest.raises(AssertionError, match="1 processes"):
        list(MACHINE.map(ECHO, [b"a", b"b"], jobs=2))


def ended(*_: object) -> None:
    os._exit(1)


def test_a_process_that_ends_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("curta.machine.many.run_elsewhere", ended)
    with pytest.raises(ProgramError, match="a process that ran conversations ended"):
        list(MACHINE.map(ECHO, [b"a", b"b"], jobs=2))


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_come_before_what_is_wrong_with_later_inputs(jobs: int) -> None:
    def inputs() -> Iterator[bytes]:
        yield from [b"a"] * 30
        raise KeyError("the source of the inputs")

    outcomes = MACHINE.map(ECHO, inputs(), jobs=jobs)
    assert all(isinstance(next(outcomes), Run) for _ in range(30))
    with pytest.raises(KeyError, match="the source of the inputs"):
        next(outcomes)


def test_what_another_process_could_do_nothing_with(tmp_path: Path) -> None:
    (tmp_path / "input").write_bytes(b"x")
    with open(tmp_path / "input", "rb") as file:
        for wrong, words in (
            ({"stdin": file}, "take bytes"),
            ({"on_stdout": print}, "on_stdout: an input can say stdin, args"),
            ("text", "an input is bytes, or a mapping"),
            ({"seed": "x"}, "seed='x': expected a whole number"),
            ({"args": [1]}, "1, expected text"),
        ):
            with pytest.raises(UserError, match=words):
                list(MACHINE.map(ECHO, [wrong], jobs=1))  # type: ignore[list-item]
    with pytest.raises(UserError, match="jobs=0"):
        MACHINE.map(ECHO, [], jobs=0)
    with pytest.raises(UserError, match="on_stdout"):
        MACHINE.map(ECHO, [], on_stdout=print)
    with pytest.raises(UserError, match="has no weights"):
        Machine("reference").map(ECHO, [])
    assert list(MACHINE.map(ECHO, [], jobs=2)) == []
