"""Programs of both tables: the lowered ones do what the table says, or wasmtime."""

from __future__ import annotations

from dataclasses import replace

import pytest
import wasmtime

from curta.machine import reference
from curta.machine.instructions import LARGEST_FRAME
from curta.machine.wasm.decode import decode
from curta.machine.wasm.encode import encode
from curta.machine.wasm.module import Export, Module
from curta.machine.wasm.text import assemble, parse_text
from tests.machine.lower.core_run import CoreInstance
from tests.machine.lower.lower_cases import LOWER_CASES
from tests.machine.wasm.oracle import SAME_TRAP, Wasmtime, function_type, make_engine
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
def test_lowered_programs_do_what_wasmtime_does(name: str) -> None:
    text, calls = LOWER_CASES[name]
    module = parse_text(text)
    lowered, theirs = CoreInstance(module), Wasmtime(make_engine(), encode(showing_memory(module)))
    for export, arguments in calls:
        expected = theirs.invoke(function_type(module, export), export, arguments)
        got = lowered.invoke(export, *arguments)
        got = SAME_TRAP.get(got, got) if isinstance(got, str) else got
        assert got == expected, (export, arguments)
        if module.memories:
            assert lowered.memory() == theirs.memory(), (export, arguments)


def showing_memory(module: Module) -> Module:
    exports = [Export(f"memory {n}", "memory", n) for n in range(len(module.memories))]
    return replace(module, exports=(*module.exports, *exports))


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
    text = SEGMENTS_OUT_OF_BOUNDS[reason]
    with pytest.raises(wasmtime.Trap):
        Wasmtime(make_engine(), assemble(text))
    instance = CoreInstance(parse_text(text))
    assert instance.started.startswith("trap")
    expected = b"ok" if "memory" in reason else b"\0\0"
    assert instance.memory()[8:20] == expected.ljust(12, b"\0")


def test_overlapping_segments_are_written_in_order() -> None:
    text = r"""(module (memory 1) (data (i32.const 0) "abcdefgh") (data (i32.const 2) "\00\00")
        (data (i32.const 3) "x"))"""
    assert CoreInstance(parse_text(text)).memory()[:8] == b"ab\0xefgh"
