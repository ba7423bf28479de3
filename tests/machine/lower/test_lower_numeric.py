"""Every numeric instruction on edge cases: the same bits as wasmtime gives.

Each instruction is run with operands that only the machine knows, and with operands that are
constants, which is folded or done by other core instructions.
"""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from curta.machine.wasm.encode import encode
from curta.machine.wasm.opcodes import NUMERIC, OPCODES
from curta.machine.wasm.text import parse_text
from tests.machine.lower.core_run import CoreInstance
from tests.machine.wasm.oracle import Wasmtime, function_type, make_engine

EDGES = {
    "i32": (0, 1, 2, 7, 31, 32, 33, 255, 4096, 2**31 - 1, 2**31, 2**32 - 1),
    "i64": (0, 1, 5, 31, 32, 33, 63, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1),
    "f32": (0, 2**31, 1, 0x800000, 0x3F800000, 0xBFC00000, 0x4F000000, 0x7F800000, 0x7FC00000),
    "f64": (
        *(0, 2**63, 1, 0x10000000000000, 0x3FF0000000000000, 0xBFF8000000000000),
        *(0x41E0000000000000, 0x4340000000000001, 0x7FF0000000000000, 0x7FF8000000000000),
    ),
}
NAMES = tuple(NUMERIC)


def operand_lists(name: str, count: int, random: Random) -> list[tuple[int, ...]]:
    """Edge cases, and random numbers of all lengths."""
    signature = OPCODES[name].signature
    assert signature is not None
    all_edges = list(product(*(EDGES[type_] for type_ in signature.parameters)))
    chosen = random.sample(all_edges, min(count, len(all_edges)))
    for _ in range(count // 2):
        chosen.append(
            tuple(
                random.getrandbits(1 + random.randrange(int(type_[1:])))
                for type_ in signature.parameters
            )
        )
    return chosen


def carrier(type_: str) -> str:
    return f"i{type_[1:]}"


def operand(type_: str, text: str) -> str:
    """Floats come as integers, so that the payloads of NaNs are kept."""
    return text if type_[0] == "i" else f"({type_}.reinterpret_{carrier(type_)} {text})"


def result(type_: str, text: str) -> str:
    return text if type_[0] == "i" else f"({carrier(type_)}.reinterpret_{type_} {text})"


def module_text(name: str, constants: list[tuple[int, ...]]) -> str:
    """The instruction on parameters, and on constants in all places but one."""
    signature = OPCODES[name].signature
    assert signature is not None
    types, (gives,) = signature.parameters, signature.results
    locals_ = [f"(local.get {place})" for place in range(len(types))]
    parameters = " ".join(carrier(type_) for type_ in types)
    head = f"(param {parameters}) (result {carrier(gives)})"

    def body(texts: list[str]) -> str:
        operands = " ".join(operand(type_, text) for type_, text in zip(types, texts, strict=True))
        return result(gives, f"({name} {operands})")

    functions = [f'(func (export "all") {head} {body(locals_)})']
    if gives == "i32":
        condition = body(locals_)
        functions.append(
            f'(func (export "if") {head} (if (result i32) {condition}'
            " (then (i32.const 1)) (else (i32.const 0))))"
        )
        functions.append(
            f'(func (export "br") {head} (block (br_if 0 (i32.eqz {condition}))'
            " (return (i32.const 1))) (i32.const 0))"
        )
        functions.append(
            f'(func (export "select") {head} (select (i32.const 1) (i32.const 0) {condition}))'
        )
    for number, values in enumerate(constants):
        for kept in range(len(types) + 1):
            texts = [
                locals_[place] if place == kept else f"({carrier(type_)}.const {value})"
                for place, (type_, value) in enumerate(zip(types, values, strict=True))
            ]
            functions.append(f'(func (export "{number}.{kept}") {head} {body(texts)})')
    return "(module\n" + "\n".join(functions) + ")"


def agrees(name: str, got: object, expected: object) -> bool:
    """Where wasmtime gives the canonical NaN, any quiet NaN will do."""
    signature = OPCODES[name].signature
    assert signature is not None
    kind = signature.results[0]
    canonical = {"f32": 0x7FC00000, "f64": 0x7FF8000000000000}.get(kind)
    if canonical and expected == (canonical,) and isinstance(got, tuple):
        return bool(got[0] & canonical == canonical)
    return got == expected


def check(name: str, count: int, seed: int) -> None:
    operands = operand_lists(name, count, Random(f"{name} {seed}"))
    constants = operands[:: max(1, len(operands) // 3)][:4]
    module = parse_text(module_text(name, constants))
    instance, theirs = CoreInstance(module), Wasmtime(make_engine(), encode(module))
    type_ = function_type(module, "all")
    exports = [
        export for export in ("all", "if", "br", "select") if export in instance.program.entries
    ]
    for values in operands:
        expected = theirs.invoke(type_, "all", values)
        for export in exports:
            wanted = expected
            if export != "all" and isinstance(expected, tuple):
                wanted = (int(expected[0] != 0),)
            got = instance.invoke(export, *values)
            assert agrees(name, got, wanted), (export, values, got, wanted)
    for number, values in enumerate(constants):
        expected = theirs.invoke(type_, "all", values)
        for kept in range(len(values) + 1):
            got = instance.invoke(f"{number}.{kept}", *values)
            assert agrees(name, got, expected), (kept, values, got, expected)


@pytest.mark.parametrize("name", NAMES)
def test_lowered_instructions_give_the_same_bits(name: str) -> None:
    check(name, 24, 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_lowered_instructions_give_the_same_bits_at_length(name: str) -> None:
    for seed in range(1, 11):
        check(name, 200, seed)
