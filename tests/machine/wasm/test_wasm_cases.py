"""The table of programs, at every level."""

from __future__ import annotations

import pytest

from curta.machine.wasm.decode import decode
from curta.machine.wasm.encode import encode
from curta.machine.wasm.text import assemble, parse_text
from tests.machine.wasm.oracle import (
    SAME_TRAP,
    Wasmtime,
    function_type,
    make_engine,
    one_nan,
    wasmtime_accepts,
)
from tests.machine.wasm.wasm_cases import CASES

names = pytest.mark.parametrize("name", CASES)


@names
def test_wasmtime_gives_what_the_table_says(name: str) -> None:
    text, calls = CASES[name]
    module, binary = parse_text(text), assemble(text)
    assert wasmtime_accepts(make_engine(), binary)
    instance = Wasmtime(make_engine(), binary)
    for export, arguments, expected in calls:
        type_ = function_type(module, export)
        wanted = SAME_TRAP.get(expected, expected) if isinstance(expected, str) else expected
        got = one_nan(type_, instance.invoke(type_, export, arguments))
        assert got == one_nan(type_, wanted), (export, arguments)


@names
def test_encode_reverses_decode(name: str) -> None:
    module = parse_text(CASES[name][0])
    assert decode(encode(module)) == module
