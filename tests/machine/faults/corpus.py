"""The corpus: small programs that go through all rules and passes, with what wasmtime says of them.

Those that cost the least come first. A program whose lowering the validator does not accept as it
is cannot judge faults, and is left out (judging.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path
from random import Random

from curta.errors import CurtaError
from curta.machine.toolchain import read_program
from curta.machine.verify.on_wasmtime import run_on_wasmtime
from curta.machine.wasm.decode import decode
from curta.machine.wasm.encode import encode
from curta.machine.wasm.module import Module
from curta.machine.wasm.text import assemble
from tests.machine.lower.differences import IntegerCalls, differ_in_nans
from tests.machine.lower.lower_cases import LOWER_CASES
from tests.machine.lower.test_lower_operands import LONGS, OF_LONGS, OF_WORDS, WORDS
from tests.machine.lower.test_lower_random import without_host
from tests.machine.wasm.c_programs import CALLS as C_CALLS
from tests.machine.wasm.c_programs import compile_freestanding
from tests.machine.wasm.chain_draw import chain_module, draw_arguments
from tests.machine.wasm.chain_nodes import nodes_of, random_node
from tests.machine.wasm.chain_table import pairs
from tests.machine.wasm.oracle import SAME_TRAP, Wasmtime, function_type, make_engine, one_nan
from tests.machine.wasm.random_modules import CONSTANTS, draw_module
from tests.machine.wasm.wasm_cases import CASES

Call = tuple[str, tuple[int, ...]]
Outcome = object
"""Results, or the reason of a trap; for a whole program what it writes, and its exit code."""
TESTS = Path(__file__).parents[1]
C_PROGRAMS = ("lower/programs/sha256.c", "lower/programs/wide.c")
CHAINS, LONGEST_CHAIN = 24, 5
PAIRS, RANDOM_MODULES, CALLS = 12, 16, 24
OPERAND_CALLS = 40
FUEL = "refuel"


@dataclass(frozen=True)
class Program:
    """A module and calls, in order, on one instance; a whole program has none."""

    name: str
    binary: bytes
    module: Module
    calls: tuple[Call, ...]
    expected: tuple[Outcome, ...]


def make_corpus() -> list[Program]:
    """All programs, in a fixed order."""
    return [*make_cases(), *_operands(), *_random_modules(), *_chains(), *_c_programs()]


def _program(name: str, binary: bytes, calls: list[Call]) -> Program:
    module = decode(binary)
    return Program(name, binary, module, tuple(calls), _ask_wasmtime(module, binary, calls))


def _ask_wasmtime(module: Module, binary: bytes, calls: list[Call]) -> tuple[Outcome, ...]:
    instance = Wasmtime(make_engine(), binary)
    found: list[Outcome] = []
    for name, arguments in calls:
        type_ = function_type(module, name)
        found.append(one_nan(type_, instance.invoke(type_, name, arguments)))
    return tuple(found)


def agrees(program: Program, outcomes: tuple[Outcome, ...]) -> bool:
    """Whether outcomes are those of wasmtime, but for the bits of a NaN."""
    if len(outcomes) != len(program.expected):
        return False
    for got, expected in zip(outcomes, program.expected, strict=True):
        told = SAME_TRAP.get(got, got) if isinstance(got, str) else got
        if told != expected and not _differ_in_nans(told, expected):
            return False
    return True


def _differ_in_nans(got: Outcome, expected: Outcome) -> bool:
    both = isinstance(got, tuple) and isinstance(expected, tuple)
    return both and len(got) == len(expected) and differ_in_nans(got, expected)  # type: ignore


def make_cases() -> Iterator[Program]:
    """Those of both tables that wasmtime can set up, and that do not recurse without end."""
    for name, (text, calls) in LOWER_CASES.items():
        yield from _case(f"case {name}", text, list(calls))
    for name, (text, checked) in CASES.items():
        given = [(call.export, call.arguments) for call in checked]
        if all(call.expected != "call stack exhausted" for call in checked):
            yield from _case(f"table {name}", text, given)


def _case(name: str, text: str, calls: list[Call]) -> Iterator[Program]:
    try:
        if calls:
            yield _program(name, assemble(text), calls)
    except (CurtaError, RuntimeError, ValueError):
        return  # there is nothing to compare with: it traps when it is set up, or has imports


def _operands() -> Iterator[Program]:
    """Those of the tests of operands, in one module for each type of parameters."""
    for kind, count, values, texts in (
        ("i32", 3, WORDS, OF_WORDS),
        ("i64", 4, LONGS, OF_LONGS),
    ):
        parameters = " ".join([kind] * count)
        fields = "".join(
            f'(func (export "f{n}") (param {parameters}) (result i64) {text})'
            for n, text in enumerate(texts.values())
        )
        every = list(product(values, repeat=count))
        step = len(every) // OPERAND_CALLS
        calls = [
            (f"f{n}", arguments)
            for n in range(len(texts))
            for arguments in islice(every, n, None, step)
        ]
        yield _program(f"operands {kind}", assemble(f"(module {fields})"), calls)


def _random_modules() -> Iterator[Program]:
    for seed in range(RANDOM_MODULES):
        binary = encode(without_host(draw_module(Random(seed).randrange)))
        module = decode(binary)
        names = [entry.name for entry in module.exports if entry.name.startswith("f")]
        calls: list[Call] = []
        for turn, name in enumerate(names * 8):
            kinds = function_type(module, name).parameters
            arguments = tuple(CONSTANTS[kind][turn % len(CONSTANTS[kind])] for kind in kinds)
            calls += [(FUEL, ()), (name, arguments)]
        yield _program(f"random {seed}", binary, calls)


def _chains() -> Iterator[Program]:
    random = Random("faults")
    for number in range(CHAINS):
        depth, floats = 3 + number % (LONGEST_CHAIN - 2), number % 6 == 3
        nodes = [random_node(random, depth, floats=floats) for _ in range(5)]
        yield _chain_program(f"chain {number}", chain_module(nodes, random), random)
    for number, pair in enumerate(random.sample(pairs(), PAIRS)):
        nodes = list(nodes_of(pair, random, 1))[:6]
        yield _chain_program(f"pair {number}", chain_module(nodes, random), random)


def _chain_program(name: str, module: Module, random: Random) -> Program:
    """Functions take and give integers: bits of NaNs do not pass through Python's numbers."""
    binary = encode(module)
    instance = IntegerCalls(binary)
    calls: list[Call] = []
    found: list[Outcome] = []
    for entry in module.exports:
        for number in range(CALLS if entry.kind == "func" else 0):
            type_ = function_type(module, entry.name)
            arguments = tuple(draw_arguments(type_.parameters, random, number))
            calls.append((entry.name, arguments))
            found.append(instance.invoke(entry.name, type_, arguments))
    return Program(name, binary, decode(binary), tuple(calls), tuple(found))


def _c_programs() -> Iterator[Program]:
    freestanding = compile_freestanding()
    yield _program("freestanding C", freestanding, list(C_CALLS))
    for name in C_PROGRAMS:
        binary = read_program(TESTS / name)
        said = run_on_wasmtime(binary, [name], {}, b"")
        expected = (said.stdout, said.stderr, said.exit_code)
        yield Program(name, binary, decode(binary), (), (expected,))
