"""Operands to try: every edge of the formats, and random ones of several kinds.

Operands are arrays of 64-bit words; a 32-bit operand lies in the low half.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tests.machine.runtime.runtime_operations import Operation

Words = npt.NDArray[np.uint64]

_FRACTION_BITS = {"f32": 23, "f64": 52}
_EXPONENT_BITS = {"f32": 8, "f64": 11}
_WIDTH = {"i32": 32, "i64": 64, "f32": 32, "f64": 64}


def _integer_edges(width: int) -> list[int]:
    values = {0, 1, 2, 3, 5, 7, 10, 100, 1000, 10**9, 0x5555555555555555, 0xAAAAAAAAAAAAAAAA}
    for bit in (*range(8), 15, 16, 17, *range(23, 34), 47, 48, 49, *range(52, 55), 62, 63):
        values |= {(1 << bit) - 1, 1 << bit, (1 << bit) + 1}
    # Halves and neighbours where an integer becomes a float.
    for bits in (25, 26, 31, 32, 54, 55, 60, 63, 64):
        for keep in (24, 53):
            if bits > keep:
                half = 1 << (bits - keep - 1)
                for base in ((1 << bits) - 2 * half, 1 << (bits - 1), (1 << (bits - 1)) + 2 * half):
                    values |= {base + half, base + half - 1, base + half + 1}
    values |= {-value for value in values}
    return sorted({value & ((1 << width) - 1) for value in values})


def _float_edges(kind: str) -> list[int]:
    fraction_bits, exponent_bits = _FRACTION_BITS[kind], _EXPONENT_BITS[kind]
    bias = (1 << (exponent_bits - 1)) - 1
    top = (1 << exponent_bits) - 1
    full = (1 << fraction_bits) - 1
    quiet = 1 << (fraction_bits - 1)
    fractions = {0, 1, 2, quiet, quiet - 1, quiet + 1, full, full - 1, 0x5555555555555 & full}
    exponents = {0, 1, 2, top - 2, top - 1, top}
    small = (*range(-2, 5), 7, 8, 15, 16, 22, 23, 24, *range(29, 34), 51, 52, 53, 62, 63, 64)
    exponents |= {bias + e for e in small} | {bias - 22, bias - 24, bias - 52, bias - 54}
    if kind == "f64":  # where a double becomes a float
        exponents |= {bias + e for e in (-151, -150, -149, -148, -127, -126, -125, 126, 127, 128)}
        fractions |= {1 << 28, (1 << 28) - 1, (1 << 28) + 1, 3 << 28, full - (1 << 28), 1 << 29}
    values = {high << fraction_bits | low for high in exponents for low in fractions}
    width = 1 << (fraction_bits + exponent_bits)
    return sorted(values | {value | width for value in values})


def edges(kind: str) -> Words:
    """All edge operands of a type."""
    values = _integer_edges(_WIDTH[kind]) if kind[0] == "i" else _float_edges(kind)
    return np.array(values, np.uint64)


def edge_grid(operation: Operation, limit: int, rng: np.random.Generator) -> list[Words]:
    """Every pair of edges (every edge of a unary operation), or `limit` of them at random."""
    columns = [edges(kind) for kind in operation.operands]
    if len(columns) == 1:
        return columns
    first, second = (column.ravel() for column in np.meshgrid(*columns, indexing="ij"))
    if len(first) > limit:
        chosen = rng.choice(len(first), limit, replace=False)
        first, second = first[chosen], second[chosen]
    return [first, second]


def uniform(operation: Operation, count: int, rng: np.random.Generator) -> list[Words]:
    """Uniform bits."""
    return [
        rng.integers(0, 1 << _WIDTH[kind], count, np.uint64, endpoint=False)
        if _WIDTH[kind] < 64
        else rng.integers(0, (1 << 64) - 1, count, np.uint64, endpoint=True)
        for kind in operation.operands
    ]


def _floats(kind: str, exponents: npt.NDArray[np.int64], rng: np.random.Generator) -> Words:
    fraction_bits, exponent_bits = _FRACTION_BITS[kind], _EXPONENT_BITS[kind]
    count = len(exponents)
    fractions = rng.integers(0, 1 << fraction_bits, count, np.uint64)
    signs = rng.integers(0, 2, count, np.uint64) << np.uint64(fraction_bits + exponent_bits)
    biased = exponents + ((1 << (exponent_bits - 1)) - 1)
    words: Words = signs | fractions | (biased.astype(np.uint64) << np.uint64(fraction_bits))
    return words


def near(
    operation: Operation, count: int, rng: np.random.Generator, spread: int = 10
) -> list[Words]:
    """Numbers of like size: normal floats with exponents within `spread`, and integers of
    random lengths and signs."""
    columns = []
    for kind in operation.operands:
        if kind[0] == "f":
            columns.append(_floats(kind, rng.integers(-spread, spread, count, endpoint=True), rng))
            continue
        width = np.uint64(_WIDTH[kind])
        values = uniform(Operation("", ("i64",), ""), count, rng)[0]
        values >>= rng.integers(64 - int(width), 64, count, np.uint64)
        negative = rng.integers(0, 2, count).astype(bool)
        values[negative] = ~values[negative] + np.uint64(1)
        columns.append(values & np.uint64((1 << int(width)) - 1))
    return columns


def simple(operation: Operation, count: int, rng: np.random.Generator) -> list[Words]:
    """Ties, cancellation, exact results: floats with few significant bits or close to each other,
    integers close to multiples."""
    if operation.operands == ("i64", "i64"):
        return _multiples(count, rng)
    columns = near(operation, count, rng, 28)
    for index, kind in enumerate(operation.operands):
        if kind[0] == "f":
            keep = rng.integers(0, _FRACTION_BITS[kind], count, np.uint64)
            columns[index] = (columns[index] >> keep) << keep
    if len(columns) == 2 and operation.operands[0] == operation.operands[1]:
        sign = np.uint64(1) << np.uint64(_WIDTH[operation.operands[0]] - 1)
        close = rng.integers(0, 2, count).astype(bool)
        offset = rng.integers(0, 5, count, np.uint64)
        neighbour = columns[0] + offset
        neighbour ^= sign * rng.integers(0, 2, count, np.uint64)
        mask = np.uint64((1 << _WIDTH[operation.operands[0]]) - 1)
        columns[1] = np.where(close, neighbour & mask, columns[1])
    return columns


def _multiples(count: int, rng: np.random.Generator) -> list[Words]:
    """64-bit numbers at, just below and just above a multiple of the second."""
    pair = Operation("", ("i64", "i64"), "i64")
    divisor, quotient = near(pair, count, rng)
    return [divisor * quotient + rng.integers(0, 3, count, np.uint64) - np.uint64(1), divisor]


def inverse(operation: Operation, count: int, rng: np.random.Generator) -> list[Words]:
    """Numbers whose products are just below, at or just above a power of two."""
    columns = near(operation, count, rng)
    if operation.operands == ("f64", "f64"):
        columns[1] = (1 / columns[0].view(np.float64)).view(np.uint64)
        columns[1] += rng.integers(0, 5, count, np.uint64) - np.uint64(2)
    elif operation.operands == ("f32", "f32"):
        inverses = 1 / columns[0].astype(np.uint32).view(np.float32)
        offsets = rng.integers(0, 5, count, np.uint32) - np.uint32(2)
        columns[1] = (inverses.view(np.uint32) + offsets).astype(np.uint64)
    return columns


KINDS = {"uniform": uniform, "near": near, "simple": simple, "inverse": inverse}


def random_operands(
    operation: Operation, count: int, rng: np.random.Generator
) -> Sequence[tuple[str, list[Words]]]:
    """`count` operands of each random kind."""
    return [(name, make(operation, count, rng)) for name, make in KINDS.items()]
