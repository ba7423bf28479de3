"""Programs that csmith draws print the same everywhere (csmith.py)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from curta import Machine
from tests.machine.fuzz.csmith import CSMITH, HEADERS, Programs, compare_program
from tests.machine.fuzz.rounds import FIRST_SEED, ROUNDS

PROGRAMS = 3


def compiles_for_32_bits() -> bool:
    command = ["gcc", "-m32", "-x", "c", "-include", "stdio.h", "-fsyntax-only", "-"]
    try:
        return not subprocess.run(command, input=b"", capture_output=True, check=False).returncode
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.skipif(CSMITH is None, reason="csmith is not installed")
@pytest.mark.skipif(not HEADERS.exists(), reason="csmith's headers are not installed")
@pytest.mark.skipif(not compiles_for_32_bits(), reason="gcc does not compile for 32 bits")
@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + ROUNDS))
def test_programs_of_csmith_print_the_same(machine: Machine, seed: int, tmp_path: Path) -> None:
    tally = Programs()
    for number in range(PROGRAMS):
        assert compare_program(machine, tmp_path, f"{seed} {number}", tally) is None
    print(tally)
