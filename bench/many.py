"""Benchmark of many runs at once: Machine.map beside as many independent processes; instances.

Run: python bench/many.py [--quick] [--runs N] [--rounds N]

The same inputs are run by `Machine.map` over all cores, and by one process for each core, each with
its share of them and `Machine.run`. Both sides are timed whole, Python's start and the program's
loading included, and take turns. Then instances of a module that was lowered already: the time and
memory of one, until it could be asked.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from machine import MILLION, PROGRAMS, ROOT, compiled
from report import complete_machine, print_machine, print_table, spread

PROGRAM = next(program for program in PROGRAMS if program.source == "collatz64.c")
INSTANCES = 300


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="one round of a few runs")
    options.add_argument("--runs", type=int, default=4_000)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.worker:
        way, runs = chosen.worker
        print(map_all(int(runs)) if way == "map" else run_all(int(runs)))
        return
    print_machine(["numpy"])
    complete_machine()
    runs, rounds = (200, 1) if chosen.quick else (chosen.runs, chosen.rounds)
    show_runs(runs, rounds)
    show_instances(rounds)


def show_runs(runs: int, rounds: int) -> None:
    cores = os.cpu_count() or 1
    shares = [runs // cores + (core < runs % cores) for core in range(cores)]
    ways = {"Machine.map": [("map", runs)], "processes": [("run", share) for share in shares]}
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    tokens = set[int]()
    started([("run", 1)])  # what is kept is there from now on
    for _ in range(rounds):
        for way, workers in ways.items():
            taken, said = started(workers)
            seconds[way].append(taken)
            tokens.add(said)
    if len(tokens) != 1:
        raise SystemExit(f"the two say different tokens: {tokens}")
    (said,) = tokens
    other = median(seconds["processes"])
    print_table(
        f"{runs:,} runs of {PROGRAM.name}, {said:,} tokens, on {cores} cores, {rounds} rounds",
        ["", "seconds", "million tok/s", "rate beside that of processes"],
        [
            [
                way,
                spread(found),
                spread([said / one / MILLION for one in found], 1),
                f"{other / median(found):.1%}",
            ]
            for way, found in seconds.items()
        ],
    )


def started(workers: list[tuple[str, int]]) -> tuple[float, int]:
    """Seconds until all of these processes have ended, and the tokens that they said."""
    begun = time.perf_counter()
    processes = [
        subprocess.Popen(
            [sys.executable, __file__, "--worker", way, str(runs)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for way, runs in workers
    ]
    said = sum(int(process.communicate()[0]) for process in processes)
    return time.perf_counter() - begun, said


def show_instances(rounds: int) -> None:
    from curta import Machine
    from curta.machine.toolchain import read_program

    machine, rows = Machine(), []
    for path in (ROOT / "examples" / "gcd.wat", Path(compiled(PROGRAM))):
        module = read_program(path)
        program = machine.load(module)
        ways: dict[str, Callable[[], object]] = {
            "start": lambda program=program: machine.start(program),  # type: ignore[misc]
            "instantiate": lambda module=module: machine.instantiate(module),  # type: ignore[misc]
        }
        for name, begin in ways.items():
            kept, ms, kilobytes = [begin()], [], []
            for _ in range(rounds):
                before, begun = resident(), time.perf_counter()
                kept += [begin() for _ in range(INSTANCES)]
                ms.append((time.perf_counter() - begun) * 1e3 / INSTANCES)
                kilobytes.append((resident() - before) / 1e3 / INSTANCES)
            tokens = f"{len(program.prompt()):,}"
            rows.append([path.stem, tokens, name, spread(ms, 3), spread(kilobytes, 1)])
    print_table(
        f"Instances of a lowered module, {INSTANCES} in each of {rounds} rounds",
        ["module", "tokens of its prompt", "Machine.", "ms each", "KB each"],
        rows,
    )


def resident() -> int:
    """Memory of this process; pages that instances share count once."""
    found = re.search(r"^Pss: +(\d+) kB", Path("/proc/self/smaps_rollup").read_text(), re.MULTILINE)
    assert found is not None, "memory is measured on Linux"
    return int(found[1]) * 1024


# -- in the processes ---------------------------------------------


def map_all(runs: int) -> int:
    from curta import Machine
    from curta.machine.run import Run

    module = Path(compiled(PROGRAM)).read_bytes()
    outcomes = Machine().map(module, [b""] * runs, name=PROGRAM.source)
    return sum(one.figures.generated for one in outcomes if isinstance(one, Run))


def run_all(runs: int) -> int:
    from curta import Machine

    machine = Machine()
    module = Path(compiled(PROGRAM)).read_bytes()
    all_runs = (machine.run(module, name=PROGRAM.source, keep_trace=False) for _ in range(runs))
    return sum(one.figures.generated for one in all_runs)


if __name__ == "__main__":
    main()
