"""Changed modules that are still valid run as they do in wasmtime.

Both sides have fuel, of different kinds: a comparison ends where one of them has run out of it, or
of stack.
"""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
import wasmtime

from curta.errors import LinkError, Trap
from curta.machine.wasm import FunctionType, Instance, Module, RunLimits, assemble, decode, encode
from tests.machine.wasm.c_programs import compile_freestanding
from tests.machine.wasm.mutants import mutate_module
from tests.machine.wasm.oracle import (
    FUEL,
    CheckedInstance,
    Outcome,
    Wasmtime,
    function_type,
    make_engine,
    one_nan,
    ours,
    trap_reason,
    verdict,
)
from tests.machine.wasm.random_modules import CONSTANTS
from tests.machine.wasm.wasm_cases import CASES

LIMITS = RunLimits(fuel=20_000, call_depth=200, memory_pages=100)
WASMTIME_FUEL = 200_000
OPEN = {FUEL, "call stack exhausted"}


@pytest.fixture(scope="module")
def corpus() -> list[Module]:
    binaries = [assemble(text) for text, _ in CASES.values()]
    return [decode(binary) for binary in (*binaries, compile_freestanding("-s"))]


def run_both(engine: wasmtime.Engine, binary: bytes, tally: Counter[str]) -> None:
    module = decode(binary)
    sizes = [memory.limits.minimum for memory in module.memories]
    if module.imports or any(size > LIMITS.memory_pages for size in sizes):
        return
    mine = start(module)
    theirs = start_in_wasmtime(engine, binary)
    if isinstance(mine, str) or isinstance(theirs, str):
        if OPEN.isdisjoint({mine, theirs}):
            assert mine == theirs, binary.hex()
            tally["trap at the start"] += 1
        return
    for turn, entry in enumerate(module.exports):
        if entry.kind != "func":
            continue
        type_ = function_type(module, entry.name)
        given = [
            CONSTANTS[kind][(turn + place) % len(CONSTANTS[kind])]
            for place, kind in enumerate(type_.parameters)
        ]
        got, expected = call_both(mine, theirs, type_, entry.name, given)
        if not OPEN.isdisjoint({got, expected}):
            return
        assert got == expected, (binary.hex(), entry.name, given)
        tally[got if isinstance(got, str) else "results"] += 1


def call_both(
    mine: Instance, theirs: Wasmtime, type_: FunctionType, name: str, given: list[int]
) -> tuple[Outcome, Outcome]:
    got = one_nan(type_, ours(mine, name, given))
    return got, one_nan(type_, theirs.invoke(type_, name, given))


def start(module: Module) -> Instance | str:
    try:
        return CheckedInstance(module, limits=LIMITS)
    except Trap as trap:
        return trap.reason.replace("out of bounds table access", "undefined element")
    except LinkError:
        return FUEL  # a table too large for the tests


def start_in_wasmtime(engine: wasmtime.Engine, binary: bytes) -> Wasmtime | str:
    try:
        return Wasmtime(engine, binary, fuel=WASMTIME_FUEL)
    except wasmtime.Trap as trap:
        return trap_reason(trap)


def check(corpus: list[Module], seed: int, count: int) -> None:
    engine, random, tally = make_engine(fuel=True), Random(seed), Counter[str]()
    for number in range(count):
        binary = encode(mutate_module(corpus[number % len(corpus)], random))
        if verdict(binary) == "accepted":
            tally["modules"] += 1
            run_both(engine, binary, tally)
    print(tally)
    assert tally["results"] > count // 2


def test_valid_mutants_run_alike(corpus: list[Module]) -> None:
    check(corpus, 1, 600)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 6))
def test_many_valid_mutants_run_alike(corpus: list[Module], seed: int) -> None:
    check(corpus, seed, 8000)
