"""Imports, exports, limits; and what people see of a program."""

from __future__ import annotations

import pytest

from curta.errors import LinkError, UnsupportedFeatureError
from curta.machine.encode import encode
from curta.machine.library import exported_functions, library_module
from curta.machine.lower import LowerOptions, lower
from curta.machine.runtime.build import LIBRARIES
from curta.machine.wasm.text import parse_text
from curta.machine.wasm.validate import validate
from tests.machine.lower.core_run import CoreInstance, Exit

REFUSED = {
    '(import "env" "print" (func (param i32)))': 'nothing provides "env" "print"',
    '(import "env" "memory" (memory 1))': '"env" "memory" is a memory',
    '(import "env" "table" (table 1 funcref))': '"env" "table" is a table',
    '(import "env" "g" (global i32))': '"env" "g" is a global',
    '(import "wasi_snapshot_preview1" "fd_fly" (func))': "no function of WASI preview 1",
    '(import "wasi_snapshot_preview1" "fd_close" (func (param i64) (result i32)))': (
        r"\"fd_close\" is \[i32\] -> \[i32\], not \[i64\]"
    ),
    '(import "wasi_unstable" "fd_seek" (func (param i32 i64 i32) (result i32)))': (
        "compile for WASI preview 1"
    ),
    '(import "curta" "fly" (func))': "no native instruction",
    '(import "curta" "mul_high" (func (param i32) (result i32)))': r"is \[i32 i32\] -> \[i32\]",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_nobody_provides_is_refused(text: str) -> None:
    with pytest.raises(LinkError, match=REFUSED[text]):
        lower(parse_text(f"(module {text})"))


def test_a_memory_larger_than_allowed_is_refused_and_growing_stops_there() -> None:
    module = parse_text(
        '(module (memory 2 9) (func (export "f") (result i32) (memory.grow (i32.const 2))))'
    )
    with pytest.raises(LinkError, match="2 pages, 1 are allowed"):
        lower(module, LowerOptions(max_memory_pages=1))
    assert CoreInstance(module, LowerOptions(max_memory_pages=3)).invoke("f") == (2**32 - 1,)
    assert CoreInstance(module, LowerOptions(max_memory_pages=4)).invoke("f") == (2,)


def test_a_frame_that_is_too_large_is_refused() -> None:
    many = " ".join(["i64"] * 17000)
    text = f'(module (func $g) (func (export "f") (local {many}) (call $g)))'
    with pytest.raises(UnsupportedFeatureError, match="give it fewer locals"):
        lower(parse_text(text))


NATIVES = """(module
  (import "curta" "mul_high" (func $mul_high (param i32 i32) (result i32)))
  (import "curta" "funnel_shl" (func $left (param i32 i32 i32) (result i32)))
  (import "curta" "funnel_shr" (func $right (param i32 i32 i32) (result i32)))
  (import "curta" "add3" (func $add3 (param i32 i32 i32) (result i32)))
  (import "curta" "sub3" (func $sub3 (param i32 i32 i32) (result i32)))
  (import "curta" "carry" (func $carry (param i32 i32) (result i32)))
  (import "curta" "trap" (func $trap (param i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (import "wasi_unstable" "sched_yield" (func $yield (result i32)))
  (type $two (func (param i32 i32) (result i32)))
  (table 2 funcref) (elem (i32.const 0) $mul_high $yield)
  (export "mul_high" (func $mul_high)) (export "left" (func $left)) (export "right" (func $right))
  (export "add3" (func $add3)) (export "sub3" (func $sub3)) (export "carry" (func $carry))
  (export "trap" (func $trap)) (export "exit" (func $exit))
  (func (export "indirect") (param i32 i32 i32) (result i32)
    (call_indirect (type $two) (local.get 0) (local.get 1) (local.get 2)))
  (func (export "constants") (result i32)
    (call $add3 (i32.const 5) (call $sub3 (i32.const 3) (i32.const 1) (i32.const 9))
      (call $left (i32.const 1) (i32.const 0x80000000) (i32.const 1)))))"""


def test_native_instructions_can_be_imported_exported_and_put_into_tables() -> None:
    instance = CoreInstance(parse_text(NATIVES))
    assert instance.invoke("mul_high", 2**31, 6) == (3,)
    assert instance.invoke("left", 1, 2**31, 4) == (16 + 8,)
    assert instance.invoke("right", 3, 16, 36) == (3 << 28 | 1,)
    assert instance.invoke("add3", 2**32 - 1, 2, 3) == (4,)
    assert instance.invoke("sub3", 1, 2, 3) == (2**32 - 4,)
    assert instance.invoke("carry", 2**32 - 1, 1) == (1,)
    assert instance.invoke("indirect", 2**31, 6, 0) == (3,)
    assert instance.invoke("indirect", 2**31, 6, 1) == "indirect call type mismatch"
    assert instance.invoke("constants") == (5 - 7 + 3,)
    assert instance.invoke("trap", 3) == "invalid conversion to integer"
    assert instance.invoke("exit", 70000) == Exit(70000)
    assert instance.invoke("mul_high", 2**31, 2) == (1,)


def test_origins_name_functions_and_places() -> None:
    program = lower(
        parse_text("""(module (func $half (export "half") (param f64) (result f64)
          (f64.min (local.get 0) (f64.const 2))))""")
    )
    assert len(program.origins) == len(program.instructions)
    calls = [
        origin
        for origin, instruction in zip(program.origins, program.instructions, strict=True)
        if instruction.operation == "call" and origin.function == "half"
    ]
    assert [(call.place, call.library) for call in calls] == [(2, False)]
    assert {origin.function for origin in program.origins if origin.library} >= {"f64.min"}
    assert encode(program)


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.name)
def test_the_library_is_valid(library) -> None:  # type: ignore[no-untyped-def]
    validate(library_module(library.name))
    assert exported_functions(library.name)
