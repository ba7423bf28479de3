"""Validation: what is refused, in which words; and the notes on functions for a compiler."""

from __future__ import annotations

import pytest

from curta.errors import InvalidModuleError
from curta.machine.wasm.decode import decode
from curta.machine.wasm.text import assemble, parse_text
from curta.machine.wasm.validate import validate
from curta.machine.wasm.validate_code import Branch
from tests.machine.wasm.oracle import make_engine, wasmtime_accepts

INVALID = {
    "nothing there": ("(func (result i32))", "type mismatch: i32 expected, nothing"),
    "other type": ("(func (result i32) (i64.const 1))", "type mismatch: i32 expected, i64"),
    "surplus": ("(func (i32.const 1))", "type mismatch: 1 more values"),
    "second operand": (
        "(func (drop (i32.add (i32.const 1) (f32.const 1))))",
        "type mismatch: i32 expected, f32",
    ),
    "below the block": (
        "(func (result i32) (i32.const 1) (block (drop)))",
        "type mismatch: a value expected, nothing",
    ),
    "if without else": (
        "(func (drop (if (result i32) (i32.const 1) (then (i32.const 1)))))",
        "type mismatch: an if without else",
    ),
    "condition": ("(func (if (f64.const 0) (then)))", "type mismatch: i32 expected, f64"),
    "label types": ("(func (result i32) (br 0 (i64.const 1)))", "type mismatch"),
    "br_table arities": (
        """(func (block (result i32) (block
             (br_table 0 1 (i32.const 1) (i32.const 0))) (i32.const 1)) drop)""",
        "type mismatch: labels with different numbers",
    ),
    "dead code has types": (
        "(func (unreachable) (i64.const 1) (i32.add) (drop))",
        "type mismatch: i32 expected, i64",
    ),
    "dead code surplus": ("(func (unreachable) (i32.const 1))", "type mismatch: 1 more"),
    "select of two types": (
        "(func (drop (select (i32.const 1) (i64.const 1) (i32.const 1))))",
        "type mismatch: i64 expected, i32",
    ),
    "return": ("(func (result i32) (return))", "type mismatch"),
    "call": ("(func $f (param i32)) (func (call $f))", "type mismatch"),
    "block parameters": (
        "(func (i32.const 1) (block (param i64) (drop)))",
        "type mismatch: i64 expected, i32",
    ),
    "loop label": (
        "(func (loop (param i32) (br 0)) (i32.const 1))",
        "type mismatch",
    ),
    "label": ("(func (br 1))", "unknown label: depth 1, 1 constructs"),
    "local": (
        "(func (param i32) (local i32) (drop (local.get 2)))",
        "unknown local: index 2, the function has 2",
    ),
    "global": (
        "(func (drop (global.get 0)))",
        "unknown global: index 0, the module has 0",
    ),
    "immutable": (
        "(global i32 (i32.const 1)) (func (global.set 0 (i32.const 2)))",
        "global is immutable: global 0",
    ),
    "function": ("(func (call 1))", "unknown function: index 1"),
    "function type": ("(func (type 3))", "unknown type: index 3"),
    "block's type": ("(func (block (type 3)))", "unknown type: index 3"),
    "import's type": ('(import "a" "b" (func (type 3)))', "unknown type: index 3"),
    "no table": ("(func (call_indirect (i32.const 0)))", "unknown table: index 0"),
    "no memory": ("(func (drop (memory.size)))", "unknown memory: index 0"),
    "no memory to load": ("(func (drop (i32.load (i32.const 0))))", "unknown memory"),
    "alignment": (
        "(memory 1) (func (drop (i32.load16_u align=4 (i32.const 0))))",
        "alignment must not be larger than natural: 2**2 for 2 bytes",
    ),
    "data segment": (
        "(memory 1) (func (data.drop 0))",
        "unknown data segment: index 0",
    ),
    "memory.init": (
        '(memory 1) (data "a") (func (memory.init 1 (i32.const 0) (i32.const 0) (i32.const 0)))',
        "unknown data segment: index 1",
    ),
    "elem segment": ("(table 1 funcref) (func (elem.drop 0))", "unknown elem segment: index 0"),
    "table.init": (
        "(table 1 funcref) (func (table.init 0 (i32.const 0) (i32.const 0) (i32.const 0)))",
        "unknown elem segment",
    ),
    "table.copy": (
        "(func (table.copy (i32.const 0) (i32.const 0) (i32.const 0)))",
        "unknown table",
    ),
    "no memory for data": ('(data (i32.const 0) "a")', "unknown memory"),
    "no table for elements": ("(elem (i32.const 0))", "unknown table"),
    "element": ("(table 1 funcref) (elem (i32.const 0) 0)", "unknown function: index 0"),
    "start": ("(start 0)", "unknown function: index 0"),
    "start with parameter": ("(func (param i32)) (start 0)", "start function: 0 is of type"),
    "start with result": ("(func (result i32) unreachable) (start 0)", "start function"),
    "export": ('(export "f" (func 0))', "unknown function"),
    "export of a global": ('(export "g" (global 0))', "unknown global"),
    "export of a memory": ('(export "m" (memory 0))', "unknown memory"),
    "export of a table": ('(export "t" (table 0))', "unknown table"),
    "exports": (
        '(func (export "a") (export "a"))',
        'duplicate export name: "a"',
    ),
    "two memories": ("(memory 1) (memory 1)", "multiple memories: 2"),
    "imported and own": ('(import "a" "b" (memory 1)) (memory 1)', "multiple memories"),
    "memory size": ("(memory 65537)", "memory size must be at most 65536 pages (4GiB)"),
    "memory maximum": ("(memory 0 65537)", "memory size must be at most 65536 pages (4GiB)"),
    "memory limits": ("(memory 2 1)", "size minimum must not be greater than maximum"),
    "table limits": ("(table 2 1 funcref)", "size minimum must not be greater than maximum"),
    "constant": ("(global i32 (i32.ctz (i32.const 1)))", "constant expression required: i32.ctz"),
    "constant's type": ("(global i32 (i64.const 1))", "type mismatch: [i64] in global 0"),
    "two constants": ("(global i32 (i32.const 1) (i32.const 1))", "type mismatch: [i32 i32]"),
    "no constant": ("(global i32)", "type mismatch: [] in global 0"),
    "mutable in constant": (
        '(import "a" "b" (global (mut i32))) (global i32 (global.get 0))',
        "constant expression required: global 0 in global 1 is mutable",
    ),
    "own global in constant": (
        "(global i32 (i32.const 1)) (global i32 (global.get 0))",
        "unknown global: index 0 in global 1",
    ),
    "offset": ('(memory 1) (data (f32.const 0) "a")', "type mismatch: [f32] in data segment 0"),
}


@pytest.mark.parametrize("name", INVALID)
def test_invalid(name: str) -> None:
    text, wording = INVALID[name]
    binary = assemble(text)
    with pytest.raises(InvalidModuleError) as caught:
        validate(decode(binary))
    assert str(caught.value).startswith(wording)
    assert not wasmtime_accepts(make_engine(), binary)


def test_messages_say_where() -> None:
    module = parse_text('(import "a" "b" (func)) (func $sum (export "s") nop (i32.add))')
    with pytest.raises(InvalidModuleError) as caught:
        validate(module)
    assert str(caught.value) == (
        "type mismatch: i32 expected, nothing on the stack; at i32.add, instruction 1 of function "
        "1 ($sum) (at byte 40)"
    )


VALID = {
    "polymorphic stack": "(func (result i32) unreachable i32.add)",
    "dead branch": "(func (result i32) (block (result i32) (br 0 (i32.const 1)) (br 0)))",
    "dead select": "(func (result i32) unreachable select)",
    "dead nested block": "(func (result i32) unreachable (block (param i32) (drop)) i32.eqz)",
    "br_table with two types in dead code": """(func (result i32)
        (block (result f32) unreachable (br_table 0 1 0)) drop (i32.const 1))""",
    "imported global in constants": """(import "a" "b" (global i32)) (memory 1) (table 1 funcref)
        (global i32 (global.get 0)) (data (global.get 0) "") (elem (global.get 0))""",
    "largest memory": "(memory 65536 65536)",
    "largest table": "(table 0 0xffffffff funcref)",
    "exports of one thing": '(func (export "a") (export "b"))',
    "if changes nothing": "(func (param i32) (result i32) local.get 0 local.get 0 "
    "(if (param i32) (result i32) (then)))",
}


@pytest.mark.parametrize("name", VALID)
def test_valid(name: str) -> None:
    binary = assemble(VALID[name])
    validate(decode(binary))
    assert wasmtime_accepts(make_engine(), binary)


def test_branches_out_of_blocks() -> None:
    (branches,) = validate(
        parse_text(
            """(func (param i32 i64) (result i64) (local f32)
                 i64.const 5           ;; 0
                 block (result i64)    ;; 1
                   i32.const 9         ;; 2
                   local.get 1         ;; 3
                   local.get 0         ;; 4
                   br_if 0             ;; 5
                   br 1                ;; 6
                   drop                ;; 7
                 end                   ;; 8
                 i64.add)              ;; 9, end is 10"""
        )
    )
    assert branches == {5: (Branch(9, 1, 1),), 6: (Branch(11, 1, 0),)}


def test_branches_to_a_loop_of_a_table_and_out_of_the_function() -> None:
    (branches,) = validate(
        parse_text(
            """(func (param i32)
                 f32.const 1           ;; 0
                 i32.const 1           ;; 1
                 loop (param i32)      ;; 2
                   local.get 0         ;; 3
                   br_if 0             ;; 4
                   block               ;; 5
                     local.get 0       ;; 6
                     br_table 0 2 0    ;; 7
                   end                 ;; 8
                   return              ;; 9
                 end                   ;; 10
                 drop)                 ;; 11, end is 12"""
        )
    )
    inner, out = Branch(9, 0, 2), Branch(13, 0, 0)
    assert branches == {4: (Branch(3, 1, 1),), 7: (inner, out, inner), 9: (out,)}
