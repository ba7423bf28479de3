"""The count of executed instructions: what the interpreter counts."""

from __future__ import annotations

import pytest

from bench.count_instructions import executed_by_call
from curta.machine.wasm import Instance, assemble, decode

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
        [0, 1, 10],
    ),
    "recursion": (
        """(func $fib (export "f") (param i32) (result i32)
             (if (result i32) (i32.lt_s (local.get 0) (i32.const 2))
               (then (local.get 0))
               (else (i32.add (call $fib (i32.sub (local.get 0) (i32.const 1)))
                              (call $fib (i32.sub (local.get 0) (i32.const 2)))))))""",
        [0, 1, 7],
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
        [0, 1, 2, 9],
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_counter_agrees_with_the_interpreter(name: str) -> None:
    text, numbers = PROGRAMS[name]
    content = assemble(f"(module {text})")
    for number in numbers:
        instance = Instance(decode(content))
        instance.invoke("f", number)
        assert executed_by_call(content, "f", number) == instance.executed
