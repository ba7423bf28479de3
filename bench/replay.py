"""Benchmark of replay, as in `curta verify`: hull caches, and softmax. Run: python bench/replay.py

Every reading of a run's tokens is a process of its own, whose peak of resident memory beyond what
it had before is divided by the tokens (Linux only). What loading the model freed is used first,
some 20 MB: runs of fewer than a million tokens show too little. Time is the processor's where one
core is taken: by hull caches, and by softmax with `--cores 1`, for computers that do other work
beside; of more cores it is the clock's. With `--before CHECKOUT` another checkout of curta reads
the same tokens in turns with this one, and has to say the same.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from curta.engine.base import Engine
from curta.engine.hull import Backend
from curta.engine.hull_level import HullLevel
from curta.machine.machine import Machine
from curta.machine.weights import load_machine
from report import complete_machine, print_machine, print_table, spread

HERE = Path(__file__).resolve().parent.parent
RUNS = {"queens": ["9"], "nbody": ["100"]}
SOFTMAX_TOKENS = (1_000, 10_000)
COUNTING = """
(module (func (export "_start") (local $count i32)
  (loop $again
    (local.set $count (i32.add (local.get $count) (i32.const 1)))
    (br_if $again (i32.lt_u (local.get $count) (i32.const 5000))))))
"""
WARM = 3_000
"""Tokens that are read before anything is measured."""


class Reading(NamedTuple):
    bytes_per_token: float
    tokens_per_second: float
    said: str


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="two rounds, for a first look")
    options.add_argument("--level", choices=["hull", "plain"], help="one of the two only")
    options.add_argument("--before", type=Path, metavar="CHECKOUT", help="what to compare with")
    options.add_argument("--backend", choices=["c", "python"], default="c", help="of hull caches")
    options.add_argument("--cores", type=int, default=2, help="for softmax")
    options.add_argument("--tokens", type=int, help="of every run of hull caches, at most")
    options.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.read is not None:
        print(json.dumps(read(np.load(chosen.read), chosen)))
        return
    print_machine(["numpy", "torch"])
    complete_machine()
    if chosen.level != "plain":
        print_level("hull", hull_runs(chosen.tokens), chosen)
    if chosen.level != "hull":
        print_level("plain", softmax_runs(), chosen)


def hull_runs(most: int | None) -> Iterator[tuple[str, np.ndarray]]:
    for name, args in RUNS.items():
        yield name, Machine().run(HERE / "examples" / f"{name}.c", args=args).trace.ids[:most]


def softmax_runs() -> Iterator[tuple[str, np.ndarray]]:
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "counting.wat"
        program.write_text(COUNTING)
        ids = Machine().run(program).trace.ids
    for length in SOFTMAX_TOKENS:
        assert len(ids) >= length
        yield "counting", ids[:length]


def print_level(
    level: str, runs: Iterator[tuple[str, np.ndarray]], chosen: argparse.Namespace
) -> None:
    checkouts = {"before": chosen.before, "now": HERE} if chosen.before else {"now": HERE}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "ids.npy"
        cells: list[list[str]] = []
        for name, ids in runs:
            np.save(file, ids)
            command = ["--read", str(file), "--level", level, "--backend", chosen.backend]
            command += ["--cores", str(chosen.cores)]
            readings = compare(command, checkouts, 2 if chosen.quick else 5)
            cells += [[name, f"{len(ids):,}", *row] for row in readings]
    print_table(
        f"The {level} level reads a run of the machine: medians (smallest-largest)",
        ["program", "tokens", "checkout", "bytes/token", "thousand tokens/s"],
        cells,
    )


def compare(command: list[str], checkouts: dict[str, Path], rounds: int) -> list[list[str]]:
    readings: dict[str, list[Reading]] = {checkout: [] for checkout in checkouts}
    for _ in range(rounds):
        for checkout, path in checkouts.items():
            readings[checkout].append(in_a_process(command, path))
    assert len({reading.said for some in readings.values() for reading in some}) == 1
    return [
        [
            checkout,
            spread([reading.bytes_per_token for reading in some], 1),
            spread([reading.tokens_per_second / 1e3 for reading in some], 1),
        ]
        for checkout, some in readings.items()
    ]


def in_a_process(command: list[str], checkout: Path) -> Reading:
    environment = {"OMP_WAIT_POLICY": "passive", **os.environ}  # as `curta verify` has it
    environment["PYTHONPATH"] = str(checkout.resolve() / "src")
    done = subprocess.run(
        [sys.executable, __file__, *command],
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return Reading(*json.loads(done.stdout))


def read(ids: np.ndarray, chosen: argparse.Namespace) -> Reading:
    engine, clock = load_machine(chosen.level), time.process_time
    if chosen.level == "plain":
        from curta.engine.plain import use_threads

        use_threads(chosen.cores)
        clock = time.process_time if chosen.cores == 1 else time.perf_counter
    for _ in blocks(engine, ids[:WARM], chosen.backend):
        pass
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before, started, said = resident("VmRSS"), clock(), hashlib.sha256()
    for block in blocks(engine, ids, chosen.backend):
        said.update(block.tobytes())
    seconds = clock() - started
    grown = resident("VmHWM") - before
    return Reading(grown / len(ids), len(ids) / seconds, said.hexdigest())


def blocks(engine: Engine, ids: np.ndarray, backend: Backend) -> Iterator[np.ndarray]:
    """What is said after every position."""
    if isinstance(engine, HullLevel):
        yield from HullLevel(engine.model, backend).replay(ids, np.ones(len(ids), dtype=np.bool_))
    else:
        yield from engine.replay(ids)


def resident(name: str) -> int:
    """Bytes of this process in memory: VmRSS now, VmHWM at most so far."""
    found = re.search(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) * 1024


if __name__ == "__main__":
    main()
