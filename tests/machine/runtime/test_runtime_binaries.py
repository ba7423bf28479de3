"""What the built files are made of: i32 instructions only, no memory but the user's."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from curta.machine.runtime import build
from tests.machine.runtime.runtime_binary import (
    ACCESSES,
    DATA,
    ELEMENT,
    START,
    Binary,
    BinaryError,
    read_binary,
)
from tests.machine.runtime.runtime_operations import OPERATIONS
from tests.machine.runtime.runtime_wasi_signatures import SIGNATURES

LIBRARIES = {library.name: library for library in build.LIBRARIES}
NATIVE = {
    "arithmetic": {"mul_high", "trap", "funnel_shl", "funnel_shr", "add3", "sub3", "carry"},
    "bulk": {"trap", "peek8", "peek32", "poke32"},
    "wasi": {
        *("write", "read", "argument", "environ", "exit", "load_state", "store_state"),
        *("add3", "sub3", "carry"),
    },
}
# The functions of WASI that are given addresses in the user's memory.
WITH_POINTERS = {
    "args_get",
    "args_sizes_get",
    "clock_res_get",
    "clock_time_get",
    "environ_get",
    "environ_sizes_get",
    "fd_fdstat_get",
    "fd_filestat_get",
    "fd_read",
    "fd_write",
    "poll_oneoff",
    "random_get",
}


def built(name: str) -> Binary:
    """The parsed file; parsing refuses every instruction and type that is not i32."""
    return read_binary(LIBRARIES[name].path.read_bytes())


@pytest.mark.parametrize("name", LIBRARIES)
def test_only_native_instructions_are_imported(name: str) -> None:
    imports = built(name).imports
    assert {item for module, item, kind, _ in imports if kind == 0} == NATIVE[name]
    assert {module for module, _, kind, _ in imports if kind == 0} == {"curta"}
    assert [item[:2] for item in imports if item[2] != 0] == [("env", "memory")]


@pytest.mark.parametrize("name", LIBRARIES)
def test_nothing_is_kept_outside_of_locals(name: str) -> None:
    binary = built(name)
    kinds = {kind for kind, _ in binary.sections}
    assert not kinds & {DATA, ELEMENT, START}, "no tables, no data, no start function"
    used = {item.name for body in binary.bodies for item in body.instructions}
    assert not used & {"global.get", "global.set"}, "the stack pointer is used: a local spilled"


def test_arithmetic_never_touches_memory() -> None:
    for body in built("arithmetic").bodies:
        used = {item.name for item in body.instructions}
        assert not used & set(ACCESSES.values())


def test_wasi_touches_memory_only_where_it_is_given_addresses() -> None:
    binary = built("wasi")
    names = binary.function_names()
    touching = {
        names[body.index]
        for body in binary.bodies
        if {item.name for item in body.instructions} & set(ACCESSES.values())
    }
    assert touching == WITH_POINTERS


def word_count(kinds: Iterable[str]) -> int:
    """How many i32 values stand for values of these types (I: i64, in WASI's signatures)."""
    return sum(2 if kind in ("i64", "f64", "I") else 1 for kind in kinds)


def test_exports_are_the_instructions_and_the_functions_of_wasi() -> None:
    expected = {
        "arithmetic": {
            item.name: (word_count(item.operands), word_count([item.result])) for item in OPERATIONS
        }
        | dict.fromkeys(("i64.div_s#", "i64.div_u#", "i64.rem_s#", "i64.rem_u#"), (5, 2)),
        "wasi": {
            name: (word_count(signature), int(name != "proc_exit"))
            for name, signature in SIGNATURES.items()
        },
        "bulk": {
            "memory.fill": (3, 0),
            "memory.copy": (3, 0),
            "memory.init": (5, 0),
            "table.init": (6, 0),
            "table.copy": (4, 0),
        },
    }
    for name, functions in expected.items():
        binary = built(name)
        first = len(binary.imported_functions)
        signatures = {}
        for export, (kind, index) in binary.exports.items():
            assert kind == 0, f"{export} is no function"
            parameters, results = binary.types[binary.functions[index - first]]
            signatures[export] = (len(parameters), len(results))
        assert signatures == functions


@pytest.mark.parametrize("name", LIBRARIES)
def test_the_committed_files_are_what_the_sources_give(name: str) -> None:
    library = LIBRARIES[name]
    committed = library.path.read_bytes()
    if build.compiler_version() != build.BUILT_WITH:
        pytest.skip(f"the files were built with ziglang {build.BUILT_WITH}")
    assert build.compile_library(library) == committed
    assert build.compile_library(library) == committed, "not reproducible"


def test_a_foreign_instruction_is_refused() -> None:
    body = bytes([0, 0x42, 0, 0x1A, 0x0B])  # i64.const 0, drop
    code = bytes([10, len(body) + 2, 1, len(body)]) + body
    with pytest.raises(BinaryError, match="opcode 0x42"):
        read_binary(b"\0asm\1\0\0\0" + code)
