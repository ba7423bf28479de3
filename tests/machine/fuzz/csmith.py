"""Programs that csmith draws: the same checksum in the weights, in wasmtime and in native code.

csmith and its headers are Debian's packages csmith and libcsmith-dev. Native code is for 32 bits
(gcc-multilib), as WebAssembly is: `long` is part of the programs.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from random import Random

from curta import Machine
from curta.errors import LimitError, ModuleError
from curta.machine.toolchain import read_program
from curta.machine.verify.on_wasmtime import Outcome, run_on_wasmtime
from tests.machine.fuzz.rounds import LEVELS

CSMITH = shutil.which("csmith")
HEADERS = Path("/usr/include/csmith")
FLAGS = (f"-I{HEADERS}", "-w", "-fwrapv")
MOST_TOKENS = 30_000_000
NATIVE_SECONDS = 2.0
"""csmith's programs may go on for ever."""


@dataclass
class Programs:
    """What was compared."""

    compared: int = 0
    proved: int = 0
    too_long: int = 0
    different: int = 0
    tokens: int = 0

    def __str__(self) -> str:
        return (
            f"{self.compared:,} programs of csmith, {self.tokens:,} tokens, {self.proved:,} "
            f"proved, {self.too_long:,} too long to compare, {self.different:,} differ"
        )


def compare_program(machine: Machine, folder: Path, seed: str, tally: Programs) -> str | None:
    """What differs, if anything does."""
    random = Random(seed)
    source = folder / "drawn.c"
    draw(source, random)
    level, native_level = random.choice(LEVELS), random.choice(LEVELS)
    expected = run_natively(source, native_level)
    if expected is None:
        tally.too_long += 1
        return None
    module = read_program(source, [*FLAGS, level])
    there = run_on_wasmtime(module, [source.name], {}, b"")
    try:
        run = machine.run(module, name=source.name, max_tokens=MOST_TOKENS, keep_trace=False)
        tally.proved += 1
    except LimitError:
        tally.too_long += 1
        return None
    except ModuleError as error:
        tally.different += 1
        return f"{seed} {level}: {error}"
    tally.compared += 1
    tally.tokens += run.tokens
    here = Outcome(run.stdout, run.stderr, run.exit_code)
    if here == there == expected:
        return None
    tally.different += 1
    return f"{seed}: here {level} {here}, wasmtime {there}, native code {native_level} {expected}"


def draw(source: Path, random: Random) -> None:
    """A small program: what is compiled most is the C library otherwise."""
    size = random.randrange(1, 5)
    options = ("--concise", "--no-argc", "--max-funcs", str(size), "--max-block-depth", "2")
    drawn = ("--max-block-size", "3", "--seed", str(random.getrandbits(31)))
    command = [str(CSMITH), *options, *drawn, "--output", str(source)]
    subprocess.run(command, check=True, capture_output=True, cwd=source.parent)


def run_natively(source: Path, level: str) -> Outcome | None:
    """What the program does compiled for this computer; None if it takes too long."""
    program = source.with_suffix("")
    command = ["gcc", "-m32", *FLAGS, level, "-o", str(program), str(source)]
    subprocess.run(command, check=True)
    try:
        done = subprocess.run([program], capture_output=True, check=False, timeout=NATIVE_SECONDS)
    except subprocess.TimeoutExpired:
        return None
    return Outcome(done.stdout, done.stderr, done.returncode)
