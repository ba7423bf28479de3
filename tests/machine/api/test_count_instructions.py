"""The count of executed instructions, beside counts by hand."""

from __future__ import annotations

import pytest

from bench.count_instructions import executed_by_call
from curta.machine.wasm.text import assemble

PROGRAMS = {
    "loop": (
        """(func (export "f") (param i32) (result i32) (local i32)
             (block (loop
               (br_if 1 (i32.eqz (local.get 0)))
               (local.set 1 (i32.add (local.get 1) (local.get 0)))
               (local.set 0 (i32.sub (local.get 0) (i32.const 1)))
               (nop)
               (br 0)))
             (local.get 1))""",
        {0: 4, 1: 16, 10: 124},
    ),
    "recursion": (
        """(func $fib (export "f") (param i32) (result i32)
             (if (result i32) (i32.lt_s (local.get 0) (i32.const 2))
               (then (local.get 0))
               (else (i32.add (call $fib (i32.sub (local.get 0) (i32.const 1)))
                              (call $fib (i32.sub (local.get 0) (i32.const 2)))))))""",
        {0: 5, 1: 5, 7: 365},
    ),
    "table": (
        """(type $t (func (result i32)))
           (table funcref (elem $a $b)) (memory 1)
           (func $a (result i32) (i32.load (i32.const 0)))
           (func $b (result i32) (memory.fill (i32.const 0) (i32.const 1) (i32.const 4))
             (return (select (i32.const 1) (i32.const 2) (i32.const 0))))
           (func (export "f") (param i32) (result i32)
             (block (block (block (br_table 0 1 2 (local.get 0)))
               (return (i32.const 7)))
               (drop (call_indirect (type $t) (i32.const 1))))
             (call_indirect (type $t) (i32.const 0)))""",
        {0: 4, 1: 18, 2: 6, 9: 6},
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_instructions_are_counted(name: str) -> None:
    text, counts = PROGRAMS[name]
    content = assemble(f"(module {text})")
    assert {n: executed_by_call(content, "f", n) for n in counts} == counts
