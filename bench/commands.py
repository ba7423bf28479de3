"""Benchmark of commands: how long they take to start, Python's own start included.

Run: python bench/commands.py [--rounds N] [--before CHECKOUT]
     python bench/commands.py --cold [--rounds N]     (a minute or two a round)

Programs are run once before, so that all they are made of is kept. With `--before CHECKOUT`
another checkout of curta starts in turns with this one. With `--cold` nothing is kept: the first
C program and the first WebAssembly file of a new user, with a compiler of the system's and without,
beside `zig cc` alone, which has to build its C library for any of them; and how long it takes until
all is compiled that a run does not wait for (on Linux). Python's bytecode is there in either case,
as it is where curta was installed.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from curta.engine.toolchain import find_zig
from report import print_machine, print_table, spread

HERE = Path(__file__).resolve().parent.parent
SUM = '(module (func (export "sum") (result i32) (i32.add (i32.const 2) (i32.const 3))))'
HELLO = '#include <stdio.h>\nint main(void) { puts("Hello"); }\n'
COMMANDS = (
    "-c pass",
    "-m curta --help",
    "-m curta run --help",
    "-m curta learn run --help",
    "-m curta cache",
    "-m curta calc eval 1/3",
    "-m curta run sum.wat --invoke sum",
    "-m curta run hello.c",
)


SET_CHILD_SUBREAPER = 36
"""Of prctl: what processes begin that end before is then a child of this one."""


class Taken(NamedTuple):
    """What a process took: of the clock, until all that it began had ended, and of processors."""

    seconds: float
    in_all: float
    processors: float


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int)
    options.add_argument("--before", type=Path, metavar="CHECKOUT", help="what to compare with")
    options.add_argument("--cold", action="store_true", help="the first run of all")
    chosen = options.parse_args()
    print_machine(["numpy", "ziglang"])
    with tempfile.TemporaryDirectory() as bytecode:
        os.environ |= {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": bytecode}
        if chosen.cold:
            show_cold(chosen.rounds or 3)
        else:
            show_warm(chosen.rounds or 20, [chosen.before, HERE] if chosen.before else [HERE])


def show_warm(rounds: int, checkouts: Sequence[Path]) -> None:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "sum.wat").write_text(SUM)
        Path(folder, "hello.c").write_text(HELLO)
        for words in COMMANDS:
            command = [sys.executable, *words.split()]
            taken: dict[Path, list[Taken]] = {checkout: [] for checkout in checkouts}
            for _ in range(rounds + 1):
                for checkout in checkouts:
                    path = os.pathsep.join([str(checkout / "src"), str(checkout)])
                    taken[checkout].append(started(folder, command, PYTHONPATH=path))
            names = ["now"] if len(checkouts) == 1 else ["before", "now"]
            rows += [
                [f"python {words}", name, *in_columns([one[::2] for one in each[1:]], 3)]
                for name, each in zip(names, taken.values(), strict=True)
            ]
    print_table("Start-up", ["command", "", "seconds", "of processors"], rows)


def show_cold(rounds: int) -> None:
    """Every run has a cache of its own; the compilers' order is that of `find_compiler`."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    zig = find_zig()
    assert zig is not None, "pip install ziglang"
    runs: dict[str, list[Taken]] = {}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "hello.c").write_text(HELLO)
        build = [zig.executable, "cc", "--target=wasm32-wasi", "hello.c", "-o", "hello.wasm"]
        c, wasm = ([sys.executable, "-m", "curta", "run", f"hello.{end}"] for end in ("c", "wasm"))
        for _ in range(rounds + 1):  # the first for bytecode
            for name, command, path in (
                ("zig cc hello.c", build, None),
                ("curta run hello.c", c, None),
                ("curta run hello.c, no compiler of the system's", c, ""),
                ("curta run hello.wasm", wasm, None),
                ("curta run hello.wasm, no compiler of the system's", wasm, ""),
            ):
                with tempfile.TemporaryDirectory() as cache:
                    places = dict.fromkeys(("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR"), cache)
                    given = {**places, "CURTA_CACHE": cache}
                    given |= {} if path is None else {"PATH": path}
                    runs.setdefault(name, []).append(started(folder, command, **given))
    rows = [[name, *in_columns(each[1:], 1)] for name, each in runs.items()]
    header = ["command", "seconds", "until all is compiled", "of processors"]
    print_table(f"The first run of all, {rounds} rounds", header, rows)


def started(folder: str, command: Sequence[str], **environment: str) -> Taken:
    """From the start of a process to its end."""
    begun, before = time.perf_counter(), processors()
    given = {**os.environ, **environment}
    subprocess.run(command, cwd=folder, env=given, capture_output=True, check=True)
    seconds = time.perf_counter() - begun
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    return Taken(seconds, time.perf_counter() - begun, processors() - before)


def processors() -> float:
    """Seconds of processors that processes took which have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def in_columns(taken: Sequence[Sequence[float]], digits: int) -> list[str]:
    return [spread(list(column), digits) for column in zip(*taken, strict=True)]


if __name__ == "__main__":
    main()
