"""Benchmark of commands: how long they take to start, Python's own start included.

Run: python bench/commands.py [--rounds N]

Programs are run once before, so that all they are made of is kept.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from report import print_machine, print_table, spread

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


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=20)
    rounds = options.parse_args().rounds
    print_machine(["numpy"])
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "sum.wat").write_text(SUM)
        Path(folder, "hello.c").write_text(HELLO)
        rows = []
        for words in COMMANDS:
            seconds = [started(folder, words) for _ in range(rounds + 1)]
            rows.append([f"python {words}", spread(seconds[1:], 3)])
    print_table("Start-up", ["command", "seconds"], rows)


def started(folder: str, words: str) -> float:
    """Seconds from the start of a process to its end."""
    begun = time.perf_counter()
    subprocess.run([sys.executable, *words.split()], cwd=folder, capture_output=True, check=True)
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
