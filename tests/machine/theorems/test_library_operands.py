"""Quotients and products of integers of 64 bits beside the processor's own.

What no decomposition proves in full (docs/proofs.md) is tested: the library's WebAssembly runs
under wasmtime beside native instructions, results compared bit for bit.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.machine.runtime.runtime_harness import CAPACITY
from tests.machine.runtime.runtime_operations import OPERATIONS
from tests.machine.runtime.test_runtime_arithmetic import check
from tests.machine.theorems.library_operands import Words, draw_quotients, draw_words

TESTED = [f"i64.{name}" for name in ("mul", "div_u", "div_s", "rem_u", "rem_s")]
SLOW_BATCHES = 60
"""Of CAPACITY operands each: 7.9 million of every operation."""


def drawn(rng: np.random.Generator) -> list[Words]:
    if rng.integers(0, 2):
        columns = list(draw_quotients(CAPACITY, rng))
    else:
        columns = [draw_words(CAPACITY, rng) for _ in range(2)]
    # A trap ends a loop of the harness: that 0 traps, the edges of the other tests show.
    columns[1][columns[1] == 0] = 1
    return columns


def compare(name: str, batches: int, seed: int) -> None:
    operation = next(one for one in OPERATIONS if one.name == name)
    rng = np.random.default_rng(seed)
    for _ in range(batches):
        check(operation, drawn(rng), traps_tried=2)


@pytest.mark.slow
@pytest.mark.parametrize("name", TESTED)
def test_library_beside_the_processor(name: str) -> None:
    compare(name, SLOW_BATCHES, 20261122)


@pytest.mark.parametrize("name", TESTED)
def test_library_beside_the_processor_quick(name: str) -> None:
    compare(name, 1, 1)
