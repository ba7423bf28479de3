"""Every numeric instruction on edge cases and random operands: the same bits as wasmtime."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from curta.machine.wasm import Instance, assemble, decode
from curta.machine.wasm.module import FunctionType
from curta.machine.wasm.opcodes import NUMERIC, OPCODES, ValueType
from tests.machine.wasm.oracle import Wasmtime, make_engine, ours

CARRIERS: dict[str, ValueType] = {"i32": "i32", "i64": "i64", "f32": "i32", "f64": "i64"}
"""Floats cross the border as integers, so that nobody touches the payload of a NaN."""

_INTEGERS = (0, 1, 2, 3, 7, 8, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 0x8000, 0xFFFF, 16777217)
_MORE_INTEGERS = (0x5555555555555555, 0x0123456789ABCDEF, 0x7FFFFF4000000001, 0x8000008000000001)
_FLOATS32 = (
    *(0, 1, 2, 0x7FFFFF, 0x800000, 0x800001, 0x3F800000, 0x3F7FFFFF, 0x3F000000, 0x3F000001),
    *(0x3EFFFFFF, 0x3FC00000, 0x40200000, 0x4B000000, 0x4B000001, 0x4AFFFFFF, 0x4B7FFFFF),
    *(0x4EFFFFFF, 0x4F000000, 0x4F000001, 0x4F7FFFFF, 0x4F800000, 0x5EFFFFFF, 0x5F000000),
    *(0x5F7FFFFF, 0x5F800000, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FA00000, 0x7FC00000),
    *(0x7FC12345, 0x7FFFFFFF, 0x40490FDB, 0x3DCCCCCD),
)
_FLOATS64 = (
    *(0, 1, 0xFFFFFFFFFFFFF, 0x10000000000000, 0x3FF0000000000000, 0x3FEFFFFFFFFFFFFF),
    *(0x3FE0000000000000, 0x3FE0000000000001, 0x3FDFFFFFFFFFFFFF, 0x3FF8000000000000),
    *(0x4004000000000000, 0x4330000000000000, 0x4330000000000001, 0x432FFFFFFFFFFFFF),
    *(0x41DFFFFFFFC00000, 0x41DFFFFFFFFFFFFF, 0x41E0000000000000, 0x41E0000000200000),
    *(0x41EFFFFFFFE00000, 0x41EFFFFFFFFFFFFF, 0x41F0000000000000, 0x43DFFFFFFFFFFFFF),
    *(0x43E0000000000000, 0x43E0000000000001, 0x43EFFFFFFFFFFFFF, 0x43F0000000000000),
    *(0x36A0000000000000, 0x36A0000000000001, 0x3690000000000000, 0x47EFFFFFE0000000),
    *(0x47EFFFFFEFFFFFFF, 0x47EFFFFFF0000000, 0x380FFFFFFFFFFFFF, 0x7FEFFFFFFFFFFFFF),
    *(0x7FF0000000000000, 0x7FF0000000000001, 0x7FF4000000000000, 0x7FF8000000000000),
    *(0x7FF8123456789ABC, 0x7FFFFFFFFFFFFFFF, 0x400921FB54442D18, 0x3FB999999999999A),
)


def edges(type_: ValueType) -> list[int]:
    """Edge cases, and their complements (integers) or negatives (floats)."""
    size = 1 << int(type_[1:])
    if type_ in ("f32", "f64"):
        values = _FLOATS32 if type_ == "f32" else _FLOATS64
        return [*values, *(value | size >> 1 for value in values)]
    signs = (size // 2 - 1, size // 2, size // 2 + 1)
    small = {value % size for value in (*_INTEGERS, *_MORE_INTEGERS)}
    return sorted(small | {size - 1 - value for value in small} | set(signs))


def corners(type_: ValueType) -> list[int]:
    """The few values whose every pair is tried."""
    if type_ == "f32":
        few = (0, 1, 0x3F800000, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00000)
    elif type_ == "f64":
        few = (0, 1, 1023 << 52, 0x7FEF << 48 | 0xFFFFFFFFFFFF, 0x7FF << 52, (0x7FF << 52) + 1)
    else:
        half = 1 << int(type_[1:]) - 1
        return [0, 1, 31, 32, 63, 64, half - 1, half, 2 * half - 2, 2 * half - 1]
    return [*few, *(value | 1 << int(type_[1:]) - 1 for value in few)]


def random_value(type_: ValueType, random: Random) -> int:
    """Of any magnitude."""
    bits = int(type_[1:])
    if type_[0] == "i":
        return random.getrandbits(random.randint(1, bits))
    exponent_bits = 8 if bits == 32 else 11
    if random.random() < 0.5:
        return random.getrandbits(bits)
    middle = (1 << exponent_bits - 1) - 1 + random.randint(-70, 70)
    rest = bits - 1 - exponent_bits
    fraction = random.getrandbits(rest) & ~((1 << random.randrange(rest)) - 1)
    return random.getrandbits(1) << bits - 1 | middle << rest | fraction


def wrapper(opcode: str) -> str:
    signature = OPCODES[opcode].signature
    assert signature is not None
    operands = []
    for index, type_ in enumerate(signature.parameters):
        get = f"(local.get {index})"
        carrier = CARRIERS[type_]
        operands.append(get if carrier == type_ else f"({type_}.reinterpret_{carrier} {get})")
    body = f"({opcode} {' '.join(operands)})"
    (result,) = signature.results
    if CARRIERS[result] != result:
        body = f"({CARRIERS[result]}.reinterpret_{result} {body})"
    parameters = " ".join(CARRIERS[type_] for type_ in signature.parameters)
    return f'(func (export "{opcode}") (param {parameters}) (result {CARRIERS[result]}) {body})'


BINARY = assemble(f"(module {' '.join(wrapper(opcode) for opcode in NUMERIC)})")


@pytest.fixture(scope="module")
def instances() -> tuple[Instance, Wasmtime]:
    return Instance(decode(BINARY)), Wasmtime(make_engine(), BINARY)


def compare(
    instances: tuple[Instance, Wasmtime], opcode: str, operands: list[tuple[int, ...]]
) -> None:
    signature = OPCODES[opcode].signature
    assert signature is not None
    type_ = FunctionType(
        tuple(CARRIERS[one] for one in signature.parameters),
        tuple(CARRIERS[one] for one in signature.results),
    )
    mine, theirs = instances
    for given in operands:
        got, expected = ours(mine, opcode, given), theirs.invoke(type_, opcode, given)
        assert got == expected, (opcode, [hex(value) for value in given])


def cases(opcode: str, random: Random, most_edges: int, count: int) -> list[tuple[int, ...]]:
    signature = OPCODES[opcode].signature
    assert signature is not None
    always = list(product(*(corners(type_) for type_ in signature.parameters)))
    combined = list(product(*(edges(type_) for type_ in signature.parameters)))
    if len(combined) > most_edges:
        combined = random.sample(combined, most_edges)
    drawn = [
        tuple(random_value(type_, random) for type_ in signature.parameters) for _ in range(count)
    ]
    return always + combined + drawn


def test_table_is_complete() -> None:
    """Every instruction that only computes has a function, and no other."""
    pure = {
        row.name
        for row in OPCODES.values()
        if row.signature and row.signature.parameters and not row.width and row.code > 0x44
    }
    others = ("memory", "table", "data")
    assert {name for name in pure if not name.startswith(others)} == set(NUMERIC)


@pytest.mark.parametrize("opcode", NUMERIC)
def test_numeric_instruction(instances: tuple[Instance, Wasmtime], opcode: str) -> None:
    compare(instances, opcode, cases(opcode, Random(opcode), 150, 80))


@pytest.mark.slow
@pytest.mark.parametrize("opcode", NUMERIC)
def test_numeric_instruction_at_length(instances: tuple[Instance, Wasmtime], opcode: str) -> None:
    compare(instances, opcode, cases(opcode, Random(f"{opcode}, at length"), 10_000, 10_000))
