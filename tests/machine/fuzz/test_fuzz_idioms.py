"""Idioms of C, chained: in the weights, in wasmtime and in native code they give the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from curta import Machine
from tests.machine.fuzz.idiom_runs import Idioms, LibraryRun
from tests.machine.fuzz.rounds import levels, seeds


@seeds()
@pytest.mark.parametrize(
    "quads",
    [pytest.param(False, id="doubles"), pytest.param(True, id="quads", marks=pytest.mark.slow)],
)
def test_idioms_give_the_same_everywhere(
    machine: Machine, seed: int, quads: bool, tmp_path: Path
) -> None:
    """With `long double`, which is another type in native code, there is no native code."""
    tally = Idioms()
    functions, calls = (40, 40) if seed == 0 else (150, 200)
    given = f"{seed} {quads}", functions, calls, quads, levels(seed)
    LibraryRun(machine, tmp_path, *given).check(tally)
    print(tally)
    assert not tally.differences, "\n\n".join(tally.differences)
