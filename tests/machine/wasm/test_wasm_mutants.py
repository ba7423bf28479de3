"""Decoder and validator accept and reject what wasmtime accepts and rejects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random

import pytest
import wasmtime

from curta.machine.wasm.decode import decode
from curta.machine.wasm.encode import encode
from curta.machine.wasm.module import Module
from curta.machine.wasm.text import assemble
from tests.machine.wasm.c_programs import compile_freestanding, compile_hosted
from tests.machine.wasm.mutants import mutate_bytes, mutate_module
from tests.machine.wasm.oracle import make_engine, verdict, wasmtime_accepts
from tests.machine.wasm.wasm_cases import CASES
from tests.support.slow import draws

SHARDS = 6


@pytest.fixture(scope="module")
def corpus() -> list[bytes]:
    binaries = [assemble(text) for text, _ in CASES.values()]
    return [*binaries, compile_freestanding("-s"), compile_freestanding("-O1", "-s")]


@pytest.fixture(scope="module")
def engine() -> wasmtime.Engine:
    return make_engine()


def compare(engine: wasmtime.Engine, binary: bytes, tally: Counter[str]) -> None:
    """Count the verdict; what we call unsupported, wasmtime may accept or not."""
    ours, theirs = verdict(binary), wasmtime_accepts(engine, binary)
    tally[ours] += 1
    if ours != "unsupported":
        assert ours == ("accepted" if theirs else "rejected"), binary.hex()


def check_bytes(engine: wasmtime.Engine, corpus: list[bytes], seed: int, count: int) -> None:
    random, tally = Random(seed), Counter[str]()
    for number in range(count):
        binary = corpus[number % len(corpus)]
        compare(engine, mutate_bytes(binary, random.choice(corpus), random), tally)
    print(tally)
    assert tally["accepted"] > count // 20
    assert tally["rejected"] > count // 5


def check_modules(engine: wasmtime.Engine, corpus: list[bytes], seed: int, count: int) -> None:
    random, tally = Random(seed), Counter[str]()
    modules: list[Module] = [decode(binary) for binary in corpus]
    for number in range(count):
        compare(engine, encode(mutate_module(modules[number % len(modules)], random)), tally)
    print(tally)
    assert tally["accepted"] > count // 20
    assert tally["rejected"] > count // 5


checks = pytest.mark.parametrize("check", [check_bytes, check_modules])
Check = Callable[[wasmtime.Engine, list[bytes], int, int], None]


@checks
def test_verdicts_agree(engine: wasmtime.Engine, corpus: list[bytes], check: Check) -> None:
    check(engine, corpus, 1, draws(5_000))


@checks
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 2 + SHARDS))
def test_verdicts_agree_on_many(
    engine: wasmtime.Engine, corpus: list[bytes], check: Check, seed: int
) -> None:
    check(engine, corpus, seed, 100_000)


@checks
@pytest.mark.slow
def test_verdicts_agree_on_a_program_with_its_library(
    engine: wasmtime.Engine, check: Check
) -> None:
    check(engine, [compile_hosted("-s")], 1, 1500)


def test_every_truncation_is_refused(engine: wasmtime.Engine, corpus: list[bytes]) -> None:
    """Only a cut between sections can leave a module."""
    for binary in corpus[:-2]:
        for length in range(len(binary)):
            compare(engine, binary[:length], Counter())
