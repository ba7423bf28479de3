"""Broken modules on their way into the weights: refused as wasmtime refuses them, and if they are
not, run as wasmtime runs them.

A refusal is one of curta's own errors, and comes soon. Both sides have a limit to how much they
run; a comparison ends where one of them has reached it.
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from types import FrameType

import pytest
import wasmtime

from curta import Machine
from curta.errors import LimitError, LinkError, ModuleError, Trap, UnsupportedFeatureError
from curta.machine.load import lower_program
from curta.machine.wasm.decode import decode
from curta.machine.wasm.encode import encode
from curta.machine.wasm.module import Module
from curta.machine.wasm.text import assemble
from tests.machine.fuzz.probes import PAGE, PAGES, first_difference, with_probes
from tests.machine.fuzz.rounds import seeds
from tests.machine.fuzz.weights_run import WeightsInstance
from tests.machine.lower.test_lower_random import without_host
from tests.machine.wasm.c_programs import compile_freestanding
from tests.machine.wasm.mutants import mutate_bytes, mutate_module, mutate_sections
from tests.machine.wasm.oracle import (
    FUEL,
    SAME_TRAP,
    Wasmtime,
    function_type,
    make_engine,
    one_nan,
    trap_reason,
    wasmtime_accepts,
)
from tests.machine.wasm.random_modules import CONSTANTS, draw_module
from tests.machine.wasm.wasm_cases import CASES

MUTANTS = 150
"""Of each kind, in a round."""
RUNS, RUNS_IF_SLOW = 5, 50
"""How many of those that are still valid are run, at most."""
MOST_SECONDS = 60
MOST_TOKENS = 1_000_000
WASMTIME_FUEL = 200_000
MOST_PAGES = 16_384
PAGES_LOOKED_AT = 4
OPEN = {FUEL, "call stack exhausted"}


@pytest.fixture(scope="module")
def corpus() -> list[bytes]:
    drawn = [without_host(draw_module(Random(seed).randrange)) for seed in range(30)]
    return [
        *(assemble(text) for text, _ in CASES.values()),
        *(encode(module) for module in drawn),
        compile_freestanding("-s"),
    ]


def of_bytes(corpus: list[bytes], number: int, random: Random) -> bytes:
    return mutate_bytes(corpus[number % len(corpus)], random.choice(corpus), random)


def of_sections(corpus: list[bytes], number: int, random: Random) -> bytes:
    binary = corpus[number % len(corpus)]
    return mutate_sections(binary, random) if len(binary) > 8 else binary


def of_modules(corpus: list[bytes], number: int, random: Random) -> bytes:
    return encode(mutate_module(decode(corpus[number % len(corpus)]), random))


Mutation = Callable[[list[bytes], int, Random], bytes]


@seeds()
@pytest.mark.parametrize("mutation", [of_bytes, of_sections, of_modules])
def test_mutants_are_refused_or_run_as_in_wasmtime(
    machine: Machine, corpus: list[bytes], mutation: Mutation, seed: int
) -> None:
    random, tally = Random(f"{mutation.__name__} {seed}"), Counter[str]()
    engine, fuelled = make_engine(), make_engine(fuel=True)
    first = random.randrange(len(corpus))
    most_runs = RUNS if seed == 0 else RUNS_IF_SLOW
    for number in range(first, first + MUTANTS):
        binary = mutation(corpus, number, random)
        try:
            with within(MOST_SECONDS):
                verdict = lowered(binary)
                tally[verdict] += 1
                if verdict not in ("unsupported", "not linked"):
                    assert wasmtime_accepts(engine, binary) == (verdict == "accepted")
                if verdict == "accepted" and tally["runs"] < most_runs:
                    run_both(machine, fuelled, decode(binary), random, tally)
        except BaseException as error:
            error.add_note(f"seed {seed}, mutant {binary.hex()}")
            raise
    print(mutation.__name__, dict(tally))
    assert tally["accepted"] > MUTANTS // 25
    assert tally["rejected"] > MUTANTS // 10
    assert tally["results"] > 0
    assert tally["calls"] > RUNS // 2


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """What hangs is interrupted, where there are alarms."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"not done in {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def lowered(binary: bytes) -> str:
    """The verdict; any error that is not curta's own passes through."""
    try:
        lower_program(binary, MOST_PAGES)
    except UnsupportedFeatureError:
        return "unsupported"
    except (LinkError, LimitError):
        return "not linked"
    except ModuleError:
        return "rejected"
    return "accepted"


def run_both(
    machine: Machine, engine: wasmtime.Engine, module: Module, random: Random, tally: Counter[str]
) -> None:
    """Every exported function once, then memory and globals."""
    module = with_probes(module)
    mine = start(machine, module)
    theirs = start_in_wasmtime(engine, encode(module))
    tally["runs"] += 1
    if isinstance(mine, str) or isinstance(theirs, str):
        if OPEN.isdisjoint({mine, theirs}):
            assert mine == theirs
            tally["trap at the start"] += 1
        return
    types = {
        entry.name: function_type(module, entry.name)
        for entry in module.exports
        if entry.kind == "func"
    }
    for name, type_ in types.items():
        if name.startswith("probe."):
            continue
        given = [random.choice(CONSTANTS[kind]) for kind in type_.parameters]
        got = one_nan(type_, mine.invoke(name, given))
        expected = one_nan(type_, theirs.invoke(type_, name, given))
        if not OPEN.isdisjoint({got, expected}):
            tally["not ended"] += 1
            return
        assert got == expected, (name, given)
        tally["calls"] += 1
        tally[got if isinstance(got, str) else "results"] += 1
    if module.memories and theirs.invoke(types[PAGES], PAGES, ()) <= (PAGES_LOOKED_AT,):
        theirs.store.set_fuel(100 * WASMTIME_FUEL)
        difference = first_difference(
            mine.invoke,
            lambda name, given: theirs.invoke(types[name], name, given),
            len(module.globals),
        )
        assert not difference or FUEL in difference
        tally["looks at memory"] += 1


def start(machine: Machine, module: Module) -> WeightsInstance | str:
    try:
        return WeightsInstance(machine, lower_program(encode(module), MOST_PAGES), MOST_TOKENS)
    except Trap as trap:
        return SAME_TRAP.get(trap.reason, trap.reason)
    except LimitError:
        return FUEL


def start_in_wasmtime(engine: wasmtime.Engine, binary: bytes) -> Wasmtime | str:
    try:
        return Wasmtime(engine, binary, fuel=WASMTIME_FUEL, most_memory=MOST_PAGES * PAGE)
    except wasmtime.Trap as trap:
        return trap_reason(trap)
