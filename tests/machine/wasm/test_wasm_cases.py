"""The table of programs, at every level."""

from __future__ import annotations

import pytest
import wasmtime

from curta.errors import Trap
from curta.machine.wasm import (
    Instance,
    RunLimits,
    assemble,
    decode,
    encode,
    parse_text,
)
from tests.machine.wasm.oracle import check_calls, make_engine, wasmtime_accepts
from tests.machine.wasm.wasm_cases import CASES

names = pytest.mark.parametrize("name", CASES)


@names
def test_interpreter_gives_what_the_table_says(name: str) -> None:
    text, calls = CASES[name]
    instance = Instance(parse_text(text), limits=RunLimits(call_depth=100))
    for export, arguments, expected in calls:
        if isinstance(expected, str):
            with pytest.raises(Trap) as caught:
                instance.invoke(export, *arguments)
            assert caught.value.reason == expected
        else:
            assert instance.invoke(export, *arguments) == expected


@names
def test_wasmtime_agrees(name: str) -> None:
    text, calls = CASES[name]
    binary = assemble(text)
    assert wasmtime_accepts(make_engine(), binary)
    check_calls(decode(binary), binary, calls)


@names
def test_text_means_what_it_means_to_wasmtime(name: str) -> None:
    text, _ = CASES[name]
    theirs = decode(wasmtime.wat2wasm(text))
    assert parse_text(text) == theirs


@names
def test_encode_reverses_decode(name: str) -> None:
    binary = assemble(CASES[name][0])
    assert encode(decode(binary)) == binary
