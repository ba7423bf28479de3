"""Random C programs, compiled as users' are: they print the same in the weights, on wasmtime, and
where there is a gcc, as native code.
"""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from pathlib import Path
from random import Random

from curta import Machine
from curta.errors import LimitError
from curta.machine.toolchain import read_program
from curta.machine.verify.on_wasmtime import Outcome, run_on_wasmtime
from tests.machine.fuzz.c_generator import CProgram
from tests.machine.fuzz.rounds import LEVELS, levels, seeds
from tests.support.slow import draws

PROGRAMS = draws(2, 1)
FLAGS = ("-fwrapv", "-ffp-contract=off", "-w")
MOST_TOKENS = 20_000_000
NATIVE_COMPILER = shutil.which("gcc")


@seeds()
def test_programs_print_the_same_everywhere(machine: Machine, seed: int, tmp_path: Path) -> None:
    tally = Counter[str]()
    for number in range(PROGRAMS):
        random = Random(f"{seed} {number}")
        path = tmp_path / f"program_{seed}_{number}.c"
        path.write_text(CProgram(random, 3 + random.randrange(8)).text)
        check(machine, path, random, random.choice(levels(seed)), tally)
    print(dict(tally))
    assert tally["programs"] >= max(1, PROGRAMS - 1)


def check(machine: Machine, path: Path, random: Random, level: str, tally: Counter[str]) -> None:
    """The source stays where it is if it is compiled or run differently."""
    module = read_program(path, [*FLAGS, level])
    expected = run_on_wasmtime(module, [path.name], {}, b"")
    assert not expected.trap, path
    if NATIVE_COMPILER is not None:
        native = run_natively(path, random.choice(LEVELS))
        assert (native.stdout, native.exit_code) == (expected.stdout, expected.exit_code), path
        tally["the same in native code"] += 1
    try:
        run = machine.run(module, name=path.name, max_tokens=MOST_TOKENS, keep_trace=False)
    except LimitError:
        tally["too long"] += 1
        return
    assert Outcome(run.stdout, run.stderr, run.exit_code) == expected, (path, level)
    tally["programs"] += 1
    tally["lines printed"] += run.stdout.count(b"\n")
    tally["core instructions"] += run.figures.instructions
    tally["tokens"] += run.figures.generated


def run_natively(path: Path, level: str) -> Outcome:
    program = path.with_suffix("")
    assert NATIVE_COMPILER is not None
    command = [NATIVE_COMPILER, *FLAGS, level, "-o", str(program), str(path), "-lm"]
    subprocess.run(command, check=True)
    done = subprocess.run([program], capture_output=True, check=False, timeout=60)
    return Outcome(done.stdout, done.stderr, done.returncode)
