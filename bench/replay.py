"""Benchmark of the hull level's replay, as in `curta verify`. Run: python bench/replay.py [--quick]

Every reading of a run's tokens is a process of its own, whose peak of resident memory beyond what
it had before is divided by the tokens (Linux only). What loading the model freed is used first,
some 20 MB: runs of fewer than a million tokens show too little. Time is the processor's. With
`--before CHECKOUT` another checkout of curta reads the same tokens in turns with this one, and has
to say the same.
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
from pathlib import Path
from typing import NamedTuple

import numpy as np

from curta.engine.hull_level import HullLevel
from curta.engine.hull_replay import replay_hull
from curta.machine.machine import Machine
from curta.machine.weights import load_machine
from report import print_machine, print_table, spread

HERE = Path(__file__).resolve().parent.parent
RUNS = {"queens": ["9"], "nbody": ["100"]}
WARM = 3_000
"""Tokens that are read before anything is measured."""


class Reading(NamedTuple):
    bytes_per_token: float
    tokens_per_second: float
    said: str


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="two rounds, for a first look")
    options.add_argument("--before", type=Path, metavar="CHECKOUT", help="what to compare with")
    options.add_argument("--backend", choices=["c", "python"], default="c")
    options.add_argument("--tokens", type=int, help="of every run, at most")
    options.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.read is not None:
        print(json.dumps(read(np.load(chosen.read), chosen.backend)))
        return
    print_machine(["numpy"])
    checkouts = {"before": chosen.before, "now": HERE} if chosen.before else {"now": HERE}
    with tempfile.TemporaryDirectory() as folder:
        cells = [
            row
            for name in RUNS
            for row in compare(
                name,
                Path(folder),
                checkouts,
                2 if chosen.quick else 5,
                chosen.backend,
                chosen.tokens,
            )
        ]
    print_table(
        "The hull level reads a run of the machine: medians (smallest-largest)",
        ["program", "tokens", "checkout", "bytes/token", "thousand tokens/s"],
        cells,
    )


def compare(
    name: str,
    folder: Path,
    checkouts: dict[str, Path],
    rounds: int,
    backend: str,
    most: int | None,
) -> list[list[str]]:
    run = Machine().run(HERE / "examples" / f"{name}.c", args=RUNS[name])
    ids = run.trace.ids[:most]
    file = folder / f"{name}.npy"
    np.save(file, ids)
    readings: dict[str, list[Reading]] = {checkout: [] for checkout in checkouts}
    for _ in range(rounds):
        for checkout, path in checkouts.items():
            readings[checkout].append(in_a_process(file, path, backend))
    assert len({reading.said for some in readings.values() for reading in some}) == 1
    return [
        [
            name,
            f"{len(ids):,}",
            checkout,
            spread([reading.bytes_per_token for reading in some], 1),
            spread([reading.tokens_per_second / 1e3 for reading in some], 1),
        ]
        for checkout, some in readings.items()
    ]


def in_a_process(file: Path, checkout: Path, backend: str) -> Reading:
    command = [sys.executable, __file__, "--read", str(file), "--backend", backend]
    environment = {**os.environ, "PYTHONPATH": str(checkout.resolve() / "src")}
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return Reading(*json.loads(done.stdout))


def read(ids: np.ndarray, backend: str) -> Reading:
    engine = load_machine("hull")
    assert isinstance(engine, HullLevel)
    asked = np.ones(len(ids), dtype=np.bool_)
    for _ in replay_hull(engine, ids[:WARM], asked[:WARM], backend):
        pass
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before, started, said = resident("VmRSS"), time.process_time(), hashlib.sha256()
    for block in replay_hull(engine, ids, asked, backend):
        said.update(block.tobytes())
    seconds = time.process_time() - started
    grown = resident("VmHWM") - before
    return Reading(grown / len(ids), len(ids) / seconds, said.hexdigest())


def resident(name: str) -> int:
    """Bytes of this process in memory: VmRSS now, VmHWM at most so far."""
    found = re.search(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) * 1024


if __name__ == "__main__":
    main()
