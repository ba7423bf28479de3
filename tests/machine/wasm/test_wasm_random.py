"""Random valid modules: interpreter and wasmtime do the same, step after step."""

from __future__ import annotations

from random import Random

import pytest
import wasmtime
from hypothesis import HealthCheck, given, note, settings

from curta.machine.wasm import (
    FunctionType,
    HostFunction,
    Instance,
    Module,
    RunLimits,
    decode,
    encode,
)
from tests.machine.wasm.oracle import (
    CheckedInstance,
    Wasmtime,
    function_type,
    make_engine,
    one_nan,
    ours,
)
from tests.machine.wasm.random_modules import CONSTANTS, HOST_TYPE, draw_module, modules
from tests.support.slow import draws

ENGINE = make_engine()


@given(modules())
@settings(
    deadline=None,
    max_examples=draws(25),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
def test_interpreter_does_what_wasmtime_does(module: Module) -> None:
    note(encode(module).hex())
    check(module)


@pytest.mark.parametrize("seed", range(120))  # all instructions, most pairs of neighbours
def test_interpreter_does_what_wasmtime_does_on_seed(seed: int) -> None:
    check(draw_module(Random(seed).randrange))


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_interpreter_does_what_wasmtime_does_at_length(block: int) -> None:
    for seed in range(1000 * block, 1000 * (block + 1)):
        check(draw_module(Random(seed).randrange))


def check(drawn: Module) -> None:
    binary = encode(drawn)
    module = decode(binary)
    assert encode(module) == binary
    heard: list[tuple[int, int]] = []  # by our host
    told: list[tuple[int, int]] = []  # by wasmtime's
    host = HostFunction(HOST_TYPE, lambda _, a, b: answer(heard, a, b))
    instance = CheckedInstance(module, {("env", "host"): host}, RunLimits(call_depth=500))
    reference = Wasmtime(ENGINE, binary, lambda store: [wasmtime_host(store, told)])
    names = [entry.name for entry in module.exports if entry.name.startswith("f")]
    for turn, name in enumerate([*names, *names]):
        type_ = function_type(module, name)
        arguments = [CONSTANTS[kind][turn % len(CONSTANTS[kind])] for kind in type_.parameters]
        assert ours(instance, "refuel", ()) == reference.invoke(FunctionType(), "refuel", ())
        got = one_nan(type_, ours(instance, name, arguments))
        expected = one_nan(type_, reference.invoke(type_, name, arguments))
        assert got == expected, (name, arguments)
        compare_state(instance, reference)
    assert heard == told


def answer(calls: list[tuple[int, int]], a: int, b: int) -> int:
    calls.append((a, b))
    return (a * 31 + b) % (1 << 32)


def wasmtime_host(store: wasmtime.Store, calls: list[tuple[int, int]]) -> wasmtime.Func:
    def host(a: int, b: int) -> int:
        result = answer(calls, a % (1 << 32), b % (1 << 64))
        return result - (result >> 31 << 32)

    i32, i64 = wasmtime.ValType.i32(), wasmtime.ValType.i64()
    return wasmtime.Func(store, wasmtime.FuncType([i32, i64], [i32]), host)


def compare_state(instance: Instance, reference: Wasmtime) -> None:
    """Memory and globals."""
    memory = reference.exports["memory"]
    assert instance.memories[0].content == memory.read(reference.store)
    for index, cell in enumerate(instance.globals):
        only = FunctionType((), (cell.type.value,))
        theirs = reference.global_value(cell.type.value, f"g{index}")
        assert one_nan(only, (cell.value,)) == one_nan(only, (theirs,)), index
