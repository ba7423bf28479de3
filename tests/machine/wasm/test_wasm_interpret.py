"""The interpreter: imports, sharing, limits, messages, C programs. `wasm_cases` has the rest."""

from __future__ import annotations

import pytest

from curta.errors import FuelError, LinkError, Trap, UserError
from curta.machine.wasm import (
    FunctionType,
    GlobalCell,
    HostFunction,
    Instance,
    Memory,
    RunLimits,
    Table,
    decode,
    parse_text,
)
from curta.machine.wasm.module import GlobalType, Limits
from tests.machine.wasm.c_programs import CALLS, compile_freestanding, compile_hosted
from tests.machine.wasm.oracle import CheckedInstance, check_calls
from tests.machine.wasm.tiny_wasi import run_hosted, run_in_wasmtime
from tests.machine.wasm.wasm_cases import Call

ADD = FunctionType(("i32", "i32"), ("i32",))


def test_host_functions_get_the_caller_and_give_results() -> None:
    module = parse_text(
        """(import "env" "peek" (func $peek (param i32) (result i32 i64)))
           (memory (export "memory") (data "curta"))
           (func (export "run") (param i32) (result i32 i64) (call $peek (local.get 0)))"""
    )

    def peek(caller: Instance, address: int) -> tuple[int, int]:
        return caller.memories[0].content[address], 1 << 63

    host = HostFunction(FunctionType(("i32",), ("i32", "i64")), peek)
    assert Instance(module, {("env", "peek"): host}).invoke("run", 4) == (ord("a"), 1 << 63)


def test_host_functions_may_call_back_and_trap() -> None:
    module = parse_text(
        """(import "env" "again" (func $again (param i32)))
           (func (export "down") (param i32)
             (if (local.get 0) (then (call $again (i32.sub (local.get 0) (i32.const 1))))
               (else unreachable)))"""
    )

    def again(caller: Instance, count: int) -> None:
        caller.invoke("down", count)

    host = HostFunction(FunctionType(("i32",)), again)
    instance = Instance(module, {("env", "again"): host})
    with pytest.raises(Trap, match=r"^unreachable "):
        instance.invoke("down", 3)
    with pytest.raises(Trap, match=r"^call stack exhausted"):
        instance.invoke("down", 100_000)
    assert instance.depth == 0


def test_host_functions_have_to_keep_their_type() -> None:
    module = parse_text(
        '(import "e" "f" (func $f (result i32))) (func (export "g") (result i32) (call $f))'
    )
    for returned in (None, -1, 1 << 32, (1, 2), 0.5, (0.5,), ""):
        host = HostFunction(FunctionType((), ("i32",)), lambda _, value=returned: value)  # type: ignore[misc]
        with pytest.raises(UserError, match=r"a host function of type|must be the bit pattern"):
            Instance(module, {("e", "f"): host}).invoke("g")


def test_modules_share_what_they_export() -> None:
    library = Instance(
        parse_text(
            """(memory (export "memory") 1) (table (export "table") 2 funcref)
               (global $g (export "counter") (mut i32) (i32.const 5))
               (func $next (export "next") (result i32)
                 (global.set $g (i32.add (global.get $g) (i32.const 1))) (global.get $g))
               (elem (i32.const 1) $next)"""
        )
    )
    user = Instance(
        parse_text(
            """(import "library" "memory" (memory 1)) (import "library" "table" (table 1 funcref))
               (import "library" "counter" (global $g (mut i32)))
               (import "library" "next" (func $next (result i32)))
               (func (export "use") (result i32)
                 (i32.store (i32.const 8) (i32.const 77))
                 (drop (call $next))
                 (global.set $g (i32.add (global.get $g) (i32.const 10)))
                 (call_indirect (result i32) (i32.const 1)))"""
        ),
        {
            ("library", name): library.export(name)
            for name in ("memory", "table", "counter", "next")
        },
    )
    assert user.invoke("use") == (17,)
    assert library.invoke("next") == (18,)
    assert library.memories[0].read(8, 1) == b"M"


WRONG_IMPORTS = {
    "nothing": ("(func)", None, "unknown import"),
    "kind": ("(func)", Memory(Limits(1)), "incompatible import type"),
    "function type": (
        "(func)",
        HostFunction(ADD, lambda *_: 0),
        r"incompatible import type: \"a\" \"b\" is not func \[\] -> \[\]",
    ),
    "memory too small": ("(memory 2)", Memory(Limits(1)), "incompatible import type"),
    "memory without maximum": ("(memory 1 2)", Memory(Limits(1)), "incompatible import type"),
    "memory's maximum": ("(memory 1 2)", Memory(Limits(1, 3)), "incompatible import type"),
    "table too small": ("(table 2 funcref)", Table(Limits(1)), "incompatible import type"),
    "mutability": (
        "(global i32)",
        GlobalCell(GlobalType("i32", mutable=True), 1),
        "incompatible import type",
    ),
}


@pytest.mark.parametrize("name", WRONG_IMPORTS)
def test_wrong_imports(name: str) -> None:
    described, given, wording = WRONG_IMPORTS[name]
    module = parse_text(f'(import "a" "b" {described})')
    with pytest.raises(LinkError, match=f"^{wording}"):
        Instance(module, {} if given is None else {("a", "b"): given})


def test_grown_memory_fits_a_larger_import() -> None:
    memory = Memory(Limits(1, 4))
    assert memory.grow(1) == 1
    Instance(parse_text('(import "a" "b" (memory 2 4))'), {("a", "b"): memory})


def test_segments_are_copied_until_one_does_not_fit() -> None:
    memory = Memory(Limits(1))
    module = parse_text(
        '(import "a" "m" (memory 1)) (data (i32.const 0) "yes") (data (i32.const 65535) "no")'
    )
    with pytest.raises(Trap, match=r"^out of bounds memory access"):
        Instance(module, {("a", "m"): memory})
    assert memory.read(0, 3) == b"yes"


def test_elements_come_before_data() -> None:
    module = parse_text('(memory 0) (table 0 funcref) (data (i32.const 1) "") (elem (i32.const 1))')
    with pytest.raises(Trap, match=r"^out of bounds table access"):
        Instance(module)


def test_globals_of_imports_place_segments() -> None:
    module = parse_text(
        """(import "a" "base" (global i32)) (memory 1) (global (export "g") i32 (global.get 0))
           (data (global.get 0) "x")
           (func (export "f") (result i32) (i32.load8_u (global.get 1)))"""
    )
    instance = Instance(module, {("a", "base"): GlobalCell(GlobalType("i32"), 300)})
    assert instance.invoke("f") == (ord("x"),)


COUNTED = """(func (export "f") (param $n i32) (result i32)
    (block $out
      (loop $l
        nop
        (br_if $out (i32.eqz (local.get $n)))
        (local.set $n (i32.sub (local.get $n) (i32.const 1)))
        (if (i32.const 1) (then) (else))
        (br $l)))
    (local.get $n))"""


def test_instructions_are_counted_without_marks() -> None:
    instance = Instance(parse_text(COUNTED))
    instance.invoke("f", 0)
    assert instance.executed == 4
    instance.invoke("f", 10)
    assert instance.executed == 4 + 4 + 10 * 10


def test_fuel_runs_out_between_two_instructions() -> None:
    module = parse_text(COUNTED)
    Instance(module, limits=RunLimits(fuel=104)).invoke("f", 10)
    instance = Instance(module, limits=RunLimits(fuel=103))
    with pytest.raises(FuelError, match=r"^out of fuel after 103 instructions, at local\.get, "):
        instance.invoke("f", 10)
    assert instance.executed == 103


def test_traps_say_where_and_leave_a_usable_instance() -> None:
    text = """(global $g (export "g") (mut i32) (i32.const 1))
              (func $halve (export "f") (param i32) (result i32)
                (global.set $g (i32.const 2)) (i32.div_u (i32.const 8) (local.get 0)))"""
    instance = Instance(parse_text(text))
    with pytest.raises(Trap) as caught:
        instance.invoke("f", 0)
    assert caught.value.reason == "integer divide by zero"
    assert caught.value.where == "at i32.div_u, byte 52 of the module, in function 0 ($halve)"
    assert instance.globals[0].value == 2
    assert instance.invoke("f", 2) == (4,)


def test_use_of_exports() -> None:
    instance = Instance(parse_text('(memory (export "m") 1) (func (export "f") (param f32))'))
    with pytest.raises(LinkError, match=r'^no export "x"; the module exports "m", "f"'):
        instance.invoke("x")
    with pytest.raises(LinkError, match=r'^the export "m" is not a function'):
        instance.invoke("m")
    with pytest.raises(UserError, match=r"^f takes 1 arguments, got 0"):
        instance.invoke("f")
    for wrong in (-1, 1 << 32, 0.5):
        with pytest.raises(UserError, match=r"bit pattern of an f32, unsigned"):
            instance.invoke("f", wrong)  # type: ignore[arg-type]


def test_memory_is_limited() -> None:
    module = parse_text('(memory 1) (func (export "g") (result i32) (memory.grow (i32.const 2)))')
    assert Instance(module, limits=RunLimits(memory_pages=2)).invoke("g") == (2**32 - 1,)
    assert Instance(module, limits=RunLimits(memory_pages=3)).invoke("g") == (1,)
    with pytest.raises(LinkError, match=r"a memory of 1 pages, 0 are allowed"):
        Instance(module, limits=RunLimits(memory_pages=0))
    with pytest.raises(LinkError, match=r"a table of 4294967295 elements, 10000000 are allowed"):
        Instance(parse_text("(table 0xffffffff funcref)"))


@pytest.mark.parametrize("level", ["-O1", "-O2", "-Os"])
def test_c_programs_do_what_they_do_in_wasmtime(level: str) -> None:
    binary = compile_freestanding(level)
    calls = [Call(name, arguments, ()) for name, arguments in CALLS]
    check_calls(decode(binary), binary, calls)


@pytest.mark.slow
def test_a_c_program_with_its_library() -> None:
    """printf, malloc, qsort; the numbers of executed instructions are printed."""
    binary = compile_hosted("-s")
    instance, output, status = run_hosted(decode(binary), CheckedInstance)
    print(len(binary), "bytes,", instance.executed, "instructions")
    assert output.startswith(b"a 1.414214 1\ncurta ")
    assert (output, status) == run_in_wasmtime(binary)
    assert status == 3
