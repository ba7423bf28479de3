"""Programs of both tables: the lowered ones do what the interpreter does."""

from __future__ import annotations

import pytest

from curta.errors import Trap
from curta.machine import reference
from curta.machine.instructions import LARGEST_FRAME
from curta.machine.wasm import Instance, RunLimits, assemble, decode, parse_text
from tests.machine.lower.core_run import CoreInstance
from tests.machine.lower.lower_cases import LOWER_CASES
from tests.machine.wasm.oracle import Outcome
from tests.machine.wasm.wasm_cases import CASES


@pytest.fixture(autouse=True)
def small_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recursion without end should not take the tests long."""
    monkeypatch.setattr(reference, "FRAME_REGISTERS", LARGEST_FRAME + 100_000)


@pytest.mark.parametrize("name", CASES)
def test_lowered_programs_give_what_the_table_says(name: str) -> None:
    text, calls = CASES[name]
    instance = CoreInstance(decode(assemble(text)))
    for export, arguments, expected in calls:
        assert instance.invoke(export, *arguments) == expected, (export, arguments)


@pytest.mark.parametrize("name", LOWER_CASES)
def test_lowered_programs_do_what_the_interpreter_does(name: str) -> None:
    text, calls = LOWER_CASES[name]
    module = parse_text(text)
    lowered = CoreInstance(module)
    plain = Instance(module, limits=RunLimits(call_depth=1000))
    for export, arguments in calls:
        expected = outcome(plain, export, arguments)
        assert lowered.invoke(export, *arguments) == expected, (export, arguments)
        if plain.memories:
            assert lowered.memory() == plain.memories[0].content, (export, arguments)


def outcome(instance: Instance, export: str, arguments: tuple[int, ...]) -> Outcome:
    try:
        return instance.invoke(export, *arguments)
    except Trap as trap:
        return trap.reason


def test_recursion_without_end_traps_and_the_instance_lives_on() -> None:
    instance = CoreInstance(
        parse_text("""(module
          (func $deep (param i32 i64) (result i32) (local i64 i64 i64 i64)
            (i32.add (i32.const 1) (call $deep (local.get 0) (local.get 1))))
          (func (export "deep") (result i32) (call $deep (i32.const 0) (i64.const 0)))
          (func (export "five") (result i32) (local i32) (i32.add (local.get 0) (i32.const 5))))""")
    )
    assert instance.invoke("deep") == "call stack exhausted"
    assert instance.invoke("five") == (5,)


SEGMENTS_OUT_OF_BOUNDS = {
    "out of bounds memory access": """(module (memory 1) (data (i32.const 8) "ok")
        (data (i32.const 65535) "no") (data (i32.const 16) "never")
        (func (export "f") (result i32) (i32.load (i32.const 8))))""",
    "out of bounds table access": """(module (memory 1) (table 2 funcref) (func $f)
        (elem (i32.const 0) $f) (elem (i32.const 1) $f $f) (data (i32.const 8) "never")
        (func (export "f")))""",
}


@pytest.mark.parametrize("reason", SEGMENTS_OUT_OF_BOUNDS)
def test_segments_that_do_not_fit_trap_when_the_instance_is_set_up(reason: str) -> None:
    module = parse_text(SEGMENTS_OUT_OF_BOUNDS[reason])
    with pytest.raises(Trap, match=reason):
        Instance(module)
    instance = CoreInstance(module)
    assert instance.started.startswith("trap")
    expected = b"ok" if "memory" in reason else b"\0\0"
    assert instance.memory()[8:20] == expected.ljust(12, b"\0")


def test_overlapping_segments_are_written_in_order() -> None:
    text = r"""(module (memory 1) (data (i32.const 0) "abcdefgh") (data (i32.const 2) "\00\00")
        (data (i32.const 3) "x"))"""
    assert CoreInstance(parse_text(text)).memory()[:8] == b"ab\0xefgh"
