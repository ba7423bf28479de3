"""The library's integers and floats beside wasmtime's own instructions, bit for bit.

By default a sample of each operation that fits continuous integration; `-m slow` runs every
pair of edge operands and 10^5 random operands of each kind. NaN results are compared bit for
bit too, which is a statement about x86-64: the specification leaves them a choice, and the
library makes the one that wasmtime makes there.
"""

from __future__ import annotations

import platform
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest

from curta.machine.runtime.build import ARITHMETIC
from tests.machine.runtime.runtime_harness import CAPACITY, Harness, Words
from tests.machine.runtime.runtime_operands import edge_grid, edges, random_operands, uniform
from tests.machine.runtime.runtime_operations import OPERATIONS, Operation

X86_64 = platform.machine().lower() in ("x86_64", "amd64")


@cache
def harness() -> Harness:
    return Harness(ARITHMETIC.path.read_bytes(), OPERATIONS)


def is_nan(kind: str, words: Words) -> npt.NDArray[np.bool_]:
    if kind == "f32":
        return np.isnan(words.astype(np.uint32).view(np.float32))
    if kind == "f64":
        return np.isnan(words.view(np.float64))
    return np.zeros(len(words), np.bool_)


def differences(operation: Operation, library: Words, native: Words) -> npt.NDArray[np.bool_]:
    """Where the results differ; elsewhere than on x86-64 any NaN equals any other."""
    differ: npt.NDArray[np.bool_] = library != native
    if not X86_64:
        differ &= ~(is_nan(operation.result, library) & is_nan(operation.result, native))
    return differ


def describe(operation: Operation, operands: list[Words], slot: int, *results: object) -> str:
    values = ", ".join(f"{int(column[slot]):#x}" for column in operands)
    library, native = (f"{result:#x}" for result in results)
    return f"{operation.name}({values}): library {library}, wasmtime {native}"


def check(operation: Operation, operands: list[Words], traps_tried: int) -> None:
    """Compare all results, and the trap codes of the first `traps_tried` traps."""
    outcome = harness().run(operation, operands)
    trapped = outcome.traps != 0
    assert operation.may_trap or not trapped.any(), f"{operation.name} trapped"
    differ = differences(operation, outcome.library, outcome.native) & ~trapped
    if differ.any():
        slot = int(np.argmax(differ))
        results = int(outcome.library[slot]), int(outcome.native[slot])
        pytest.fail(describe(operation, operands, slot, *results))
    for slot in np.flatnonzero(trapped)[:traps_tried]:
        codes = int(outcome.traps[slot]), harness().native_trap(operation, int(slot))
        assert codes[0] == codes[1], describe(operation, operands, slot, *codes) + " (trap codes)"


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_library_gives_what_wasmtime_gives(operation: Operation) -> None:
    rng = np.random.default_rng(20260101)
    check(operation, edge_grid(operation, 20_000, rng), traps_tried=200)
    for _, operands in random_operands(operation, 8_000, rng):
        check(operation, operands, traps_tried=20)


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_library_gives_what_wasmtime_gives_in_full(operation: Operation) -> None:
    rng = np.random.default_rng(20260102)
    columns = [edges(kind) for kind in operation.operands]
    if len(columns) == 1:
        check(operation, columns, traps_tried=2000)
    else:
        for start in range(0, len(columns[0]), rows := CAPACITY // len(columns[1])):
            part = columns[0][start : start + rows]
            grid = np.meshgrid(part, columns[1], indexing="ij")
            check(operation, [column.ravel() for column in grid], traps_tried=200)
    for _, operands in random_operands(operation, CAPACITY, rng):
        check(operation, operands, traps_tried=200)


def test_a_wrong_result_is_seen() -> None:
    operation = next(item for item in OPERATIONS if item.name == "f64.min")
    operands = uniform(operation, 100, np.random.default_rng(1))
    outcome = harness().run(operation, operands)
    assert not differences(operation, outcome.library, outcome.native).any()
    outcome.library[57] ^= np.uint64(1)
    assert np.flatnonzero(differences(operation, outcome.library, outcome.native)).tolist() == [57]
