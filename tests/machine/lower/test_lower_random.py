"""Random valid modules: lowered, they do what wasmtime does, step after step."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
import wasmtime

from curta.machine.layout import FIRST_FREE
from curta.machine.lower import LowerOptions
from curta.machine.wasm.decode import decode
from curta.machine.wasm.encode import encode
from curta.machine.wasm.module import Function, FunctionType, Instruction, Module
from tests.machine.lower.core_run import CoreInstance
from tests.machine.wasm.oracle import SAME_TRAP, Wasmtime, function_type, one_nan
from tests.machine.wasm.random_modules import CONSTANTS, draw_module
from tests.support.slow import some

ENGINE = wasmtime.Engine()
"""The library passes on the payloads of NaNs as x86-64 does, and so does wasmtime there."""
_HOST = (
    *(Instruction("local.get", (0,)), Instruction("i32.const", (31,)), Instruction("i32.mul")),
    *(Instruction("local.get", (1,)), Instruction("i32.wrap_i64"), Instruction("i32.add")),
    Instruction("end"),
)
BLOCKS = 3


@pytest.mark.parametrize("block", some(1, range(BLOCKS)))
def test_lowered_modules_do_what_wasmtime_does(block: int) -> None:
    for seed in range(40 * block, 40 * (block + 1)):
        check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(1, 11))
def test_lowered_modules_do_what_wasmtime_does_at_length(block: int) -> None:
    for seed in range(1000 * block, 1000 * block + 300):
        check(seed)


def without_host(module: Module) -> Module:
    """The imported function becomes one of the module's own."""
    return replace(module, imports=(), functions=(Function(0, (), _HOST), *module.functions))


def check(seed: int) -> None:
    binary = encode(without_host(draw_module(Random(seed).randrange)))
    module = decode(binary)
    lowered, reference = CoreInstance(module, LowerOptions()), Wasmtime(ENGINE, binary)
    names = [entry.name for entry in module.exports if entry.name.startswith("f")]
    for turn, name in enumerate([*names, *names]):
        type_ = function_type(module, name)
        arguments = [CONSTANTS[kind][turn % len(CONSTANTS[kind])] for kind in type_.parameters]
        lowered.invoke("refuel")
        reference.invoke(FunctionType(), "refuel", ())
        got = lowered.invoke(name, *arguments)
        if isinstance(got, str):
            got = SAME_TRAP.get(got, got)
        assert not hasattr(got, "code")
        expected = reference.invoke(type_, name, arguments)
        assert one_nan(type_, got) == one_nan(type_, expected), (seed, name, arguments)
        compare_state(seed, lowered, module, reference)


def compare_state(seed: int, lowered: CoreInstance, module: Module, reference: Wasmtime) -> None:
    """Memory, and globals, whose registers follow one another."""
    memory = reference.exports["memory"]
    assert lowered.memory() == memory.read(reference.store), seed
    register = FIRST_FREE
    for index, entry in enumerate(module.globals):
        kind = entry.type.value
        value = 0
        for place in range(int(kind[1:]) // 32):
            value |= lowered.machine.registers.get(register, 0) << 32 * place
            register += 1
        only = FunctionType((), (kind,))
        theirs = reference.global_value(kind, f"g{index}")
        assert one_nan(only, (value,)) == one_nan(only, (theirs,)), (seed, index)
