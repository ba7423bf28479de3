"""Programs that csmith draws print the same checksum in the weights and in wasmtime.

csmith and its headers are Debian's packages csmith and libcsmith-dev.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from rounds import FIRST_SEED, ROUNDS

from curta import Machine
from curta.errors import LimitError
from curta.machine.toolchain import read_program
from curta.machine.verify import Outcome, run_on_wasmtime

CSMITH = shutil.which("csmith")
HEADERS = Path("/usr/include/csmith")
OPTIONS = ("--concise", "--max-funcs", "5", "--max-block-depth", "3", "--no-argc")
MOST_TOKENS = 30_000_000
PROGRAMS = 3
LEVELS = ("-O0", "-O1", "-O2", "-Os")


@pytest.mark.slow
@pytest.mark.skipif(CSMITH is None, reason="csmith is not installed")
@pytest.mark.skipif(not HEADERS.exists(), reason="csmith's headers are not installed")
@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + ROUNDS))
def test_programs_of_csmith_print_the_same(machine: Machine, seed: int, tmp_path: Path) -> None:
    compared = 0
    for number in range(PROGRAMS):
        source = tmp_path / f"{seed}_{number}.c"
        drawn = str(seed * PROGRAMS + number)
        command = [str(CSMITH), *OPTIONS, "--seed", drawn, "--output", str(source)]
        subprocess.run(command, check=True, capture_output=True, cwd=tmp_path)
        compared += check(machine, source, LEVELS[number % len(LEVELS)])
    print(f"{compared} of {PROGRAMS} programs compared")


def check(machine: Machine, source: Path, level: str) -> bool:
    """Whether the program was short enough to be compared; csmith's may go on for ever."""
    module = read_program(source, [f"-I{HEADERS}", "-w", "-fwrapv", level])
    try:
        run = machine.run(module, name=source.name, max_tokens=MOST_TOKENS, keep_trace=False)
    except LimitError:
        return False
    expected = run_on_wasmtime(module, [source.name], {}, b"")
    assert Outcome(run.stdout, run.stderr, run.exit_code) == expected, (source, level)
    return True
