"""A trap says who called whom, with lines of C."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from curta import Machine
from curta.app.command_line import main
from curta.errors import Trap
from curta.machine.ledger import PlainLedger, new_ledger

C = """\
#include <stdio.h>
#include <stdlib.h>

typedef int (*Operation)(int, int);
static volatile int kind;

__attribute__((noinline)) static int divide(int a, int b) {
    return a / b;
}

static int half(int a, int b) { return divide(a, b) / 2; }

__attribute__((noinline)) static int read_at(int a, int b) {
    int *far = (int *)(a + 0x7ffffff0);
    return far[b];
}

__attribute__((noinline)) static int deep(int a, int b) {
    return a > 0 ? deep(a + 1, b) + kind : b;
}

__attribute__((noinline)) static int give_up(int a, int b) {
    if (a >= 0) abort();
    return b;
}

static Operation operations[] = {half, read_at, deep, give_up};

__attribute__((noinline)) static int apply(int a, int b) {
    return operations[kind](a, b) + 1;
}

int main(void) {
    kind = getchar() - '0';
    printf("%d\\n", apply(1, 0));
    return 0;
}
"""
CALLED = ["apply at few.c:30", "main at few.c:35"]
TRAPS = {
    "0": ("integer divide by zero", ["divide at few.c:8", "half at few.c:11", *CALLED]),
    "1": ("out of bounds memory access", ["read_at at few.c:15", *CALLED]),
    "2": ("call stack exhausted", ["deep at few.c:19, 64 times", "..."]),
    "3": ("unreachable", ["abort", "give_up at few.c:23", *CALLED]),
}


@pytest.fixture
def few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    pytest.importorskip("elftools")
    monkeypatch.chdir(tmp_path)
    path = Path("few.c")
    path.write_text(C)
    return path


def traced(error: str) -> list[str]:
    """The calls, without their numbers."""
    found = re.findall(r"^  (?:#\d+ )?(.*)$", error, flags=re.MULTILINE)
    return [str(line) for line in found]


@pytest.mark.parametrize("kind", TRAPS)
def test_calls_have_lines(few: Path, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    reason, calls = TRAPS[kind]
    assert main(["run", str(few), "--stdin", kind]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"trap: {reason}")
    assert traced(error) == calls


def test_without_debug_information_there_are_names(
    few: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("curta.explore.dwarf.find_spec", lambda name: None)
    assert main(["run", str(few), "--stdin", "1"]) == 1
    assert traced(capsys.readouterr().err) == ["read_at", "apply", "main"]


def test_webassembly_has_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "few.wat"
    path.write_text(
        """(module
        (func $inner (param i32) (result i32) (i32.div_u (i32.const 1) (local.get 0)))
        (func $outer (export "outer") (param i32) (result i32)
            (i32.add (call $inner (local.get 0)) (call $inner (i32.const 0)))))"""
    )
    assert main(["run", str(path), "--invoke", "outer", "1"]) == 1
    called = traced(capsys.readouterr().err)
    assert called[-1] == "outer"
    assert main(["run", str(path), "--invoke", "outer", "1", "--stats", "none"]) == 1
    assert traced(capsys.readouterr().err) == []


def test_both_ledgers_know_where_it_ended(few: Path) -> None:
    """And every call is a call, whose frame is the caller's."""
    for kind in TRAPS:
        instance = Machine().begin(few, stdin=kind.encode())
        with pytest.raises(Trap) as trap:
            instance.run()
        program = instance.conversation.program
        ledgers = [PlainLedger(program), new_ledger(program)]
        for ledger in ledgers:
            for segment in program.segments:
                ledger.give(segment)
            ledger.take(instance.trace.ids[instance.figures.prompt_tokens :][:200_000])
        plain, fast = ledgers
        assert plain.ended_frame == fast.ended_frame
        assert plain.ended_at == fast.ended_at
        assert trap.value.calls[0] == instance.conversation.ledger.ended_at
        for number in trap.value.calls[1:]:
            assert program.instruction(number).operation.startswith("call")
