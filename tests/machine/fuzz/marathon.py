"""Long runs on one core, beyond what a test suite can take:

    python -m tests.machine.fuzz.marathon modules 100000
    python -m tests.machine.fuzz.marathon calls 1000000
    python -m tests.machine.fuzz.marathon programs 2000

`modules` are of four functions each: chains that go through the pairs of instructions, longer
chains, random modules of every construct, and wasm-smith's. `calls` are of C functions, in
libraries of idioms. `programs` are csmith's, which know nothing of this project, compared with a
native compiler for 32 bits (Debian's csmith, libcsmith-dev, gcc-multilib). All say now and then how
far they are, and every difference at once.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from random import Random

from curta import Machine
from curta.machine.wasm.module import Module
from tests.machine.fuzz.csmith import Programs, compare_program
from tests.machine.fuzz.idiom_runs import Idioms, LibraryRun
from tests.machine.fuzz.smith import PROGRAM, compare_smith
from tests.machine.lower.differences import Tally, compare
from tests.machine.wasm.chain_draw import chain_module, draw_arguments
from tests.machine.wasm.chain_meter import Meter
from tests.machine.wasm.chain_nodes import node_of, random_node
from tests.machine.wasm.chain_table import pairs

FUNCTIONS = 4
CALLS = 4
FLOATS = 0.3
REPORT_SECONDS = 60.0
LIBRARY_FUNCTIONS = 150
LIBRARY_CALLS = 400
QUADS_EVERY = 8
"""One library in so many has `long double`."""


def chain_modules(random: Random) -> Iterator[Module]:
    """Four chains of one pair. Of those with floats, whose functions of the library are lowered
    once for each module, there are fewer.
    """
    table = [*pairs()]
    random.shuffle(table)
    for pair in cycle(table):
        floats = any(type_[0] == "f" for type_ in pair.producer.types | pair.consumer.types)
        if floats and random.random() > FLOATS:
            continue
        nodes = [node_of(pair, random) for _ in range(FUNCTIONS)]
        yield chain_module(nodes, random)


def longer_modules(random: Random) -> Iterator[Module]:
    while True:
        floats = random.random() < 0.2
        depth = random.randrange(3, 6)
        nodes = [random_node(random, depth, floats=floats) for _ in range(FUNCTIONS)]
        yield chain_module(nodes, random)


class Progress:
    """Says how far a run is, once a minute."""

    def __init__(self) -> None:
        self.started = self.said = time.monotonic()

    def tell(self, tally: object, *, now: bool = False) -> None:
        clock = time.monotonic()
        if now or clock - self.said > REPORT_SECONDS:
            self.said = clock
            print(f"{clock - self.started:,.0f} s: {tally}", flush=True)


def run_modules(count: int, seed: int) -> int:
    """Of ten modules, five are chains of pairs, three longer ones, two wasm-smith's if it is
    there.
    """
    random, tally, meter, progress = Random(seed), Tally(), Meter(), Progress()
    sources = chain_modules(random), longer_modules(random)
    told = refused = number = 0
    while tally.modules < count:
        kind = number % 10
        if kind >= 8 and PROGRAM is not None:
            compare_smith(f"{seed} {number}", tally)
        else:
            module = next(sources[kind in (1, 3, 5)])
            meter.read(module)
            compare(module, draw_arguments, random, CALLS, tally)
        number += 1
        for difference in tally.differences[told:]:
            print(f"seed {seed}, module {number - 1}: {difference}", flush=True)
        told = len(tally.differences)
        for reason in tally.refused[refused:]:
            print(f"seed {seed}, module {number - 1} is not proved: {reason}", flush=True)
        refused = len(tally.refused)
        progress.tell(tally)
    progress.tell(tally, now=True)
    print(meter.report())
    return bool(tally.differences)


def run_calls(count: int, seed: int) -> int:
    tally, machine, progress, told = Idioms(), Machine(), Progress(), 0
    with tempfile.TemporaryDirectory() as folder:
        while tally.calls < count:
            number = tally.libraries
            given = (f"{seed} {number}", LIBRARY_FUNCTIONS, LIBRARY_CALLS)
            quads = number % QUADS_EVERY == QUADS_EVERY - 1
            LibraryRun(machine, Path(folder), *given, quads).check(tally)
            for difference in tally.differences[told:]:
                print(difference, flush=True)
            told = len(tally.differences)
            progress.tell(tally)
    progress.tell(tally, now=True)
    return bool(tally.differences)


def run_programs(count: int, seed: int) -> int:
    tally, machine, progress, number = Programs(), Machine(), Progress(), 0
    while tally.compared < count:
        with tempfile.TemporaryDirectory() as folder:
            difference = compare_program(machine, Path(folder), f"{seed} {number}", tally)
        if difference is not None:
            print(difference, flush=True)
        number += 1
        progress.tell(tally)
    progress.tell(tally, now=True)
    return bool(tally.different)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=RUNS)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    return RUNS[given.what](given.count, given.seed)


RUNS = {"modules": run_modules, "calls": run_calls, "programs": run_programs}

if __name__ == "__main__":
    sys.exit(main())
