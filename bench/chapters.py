"""Benchmark of runs in chapters: how fast and how large, by length; what a page costs, by state.

Run: python bench/chapters.py [--quick]

One C program, a random walk over so many KiB of memory, for so many steps of 16 instructions. Every
run is a process of its own, on one core. A run in the fewest chapters there can be is compared with
one in chapters of the default length, taking turns: the difference is what pages cost.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from report import complete_machine, print_machine, print_table, spread

WALK = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    const size_t words = (size_t)atoi(argv[1]) * 256;
    uint32_t *held = malloc(words * 4), x = 12345, sum = 0;
    for (size_t i = 0; i < words; i++) held[i] = x = x * 1664525u + 1013904223u;
    for (long i = atol(argv[2]); i; i--) {
        x = x * 1664525u + 1013904223u;
        held[x % words] ^= x >> 3;
        sum += held[x * 7u % words];
    }
    printf("%u\\n", sum);
}
"""
STEPS = (2_500, 25_000, 250_000, 2_500_000, 63_000_000)
STATES = (1, 16, 64, 256, 512, 2048)
"""KiB."""
KINDS = {
    "dense bytes": (1, 1),
    "64-bit numbers below 256": (1, 8),
    "every 32nd byte": (1, 32),
    "32-bit numbers, every other one 0": (4, 8),
    "every 4096th byte": (1, 4096),
    "four million scattered bytes": (0, 0),
}
"""Live bytes, and of how many."""
SPARSE, SPREAD = 1 << 20, 1 << 28
FEWEST = (1 << 26) - (1 << 22)
MILLION = 1_000_000


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="short runs, one round")
    options.add_argument("--worker", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.worker:
        print(json.dumps(run(json.loads(chosen.worker))))
        return
    print_machine(["numpy", "ziglang"])
    complete_machine()
    rounds = 1 if chosen.quick else 3
    started(1, STEPS[0])  # fills the caches
    show_lengths(STEPS[: 3 if chosen.quick else None], rounds)
    show_pages(STATES[: 3 if chosen.quick else None], STEPS[2 if chosen.quick else 3], rounds)
    show_kinds(rounds)


def show_lengths(steps: tuple[int, ...], rounds: int) -> None:
    rows = []
    for count in steps:
        runs = [started(1, count) for _ in range(1 if count == STEPS[-1] else rounds)]
        one = runs[0]
        rates = [run["generated"] / run["seconds"] / MILLION for run in runs]
        ends = [[run[end] / MILLION for run in runs] for end in ("first", "last")]
        rows.append(
            [
                f"{one['instructions']:,}",
                f"{one['tokens']:,}",
                f"{one['chapters']}",
                spread(rates),
                *(f"{median(end):.1f}" for end in ends),
                f"{max(run['peak'] for run in runs) / 2**20:.0f}",
            ]
        )
    head = ["core instructions", "tokens", "chapters", "million tok/s"]
    print_table("By length", [*head, "first tokens", "last tokens", "peak MiB"], rows)


def show_pages(states: tuple[int, ...], steps: int, rounds: int) -> None:
    rows = []
    for state in states:
        pairs = [(started(state, steps), started(state, steps, FEWEST)) for _ in range(rounds)]
        one = pairs[0][0]
        pages, fewest = one["chapters"] - 1, pairs[0][1]["chapters"] - 1
        more = [paged["seconds"] / plain["seconds"] - 1 for paged, plain in pairs]
        rows.append(
            [
                f"{state}",
                f"{one['opening']:,}",
                f"{one['state'] / (state * 1024):.2f}",
                *(
                    spread([pair[0][name] * 1e3 for pair in pairs])
                    for name in ("to_say", "to_read")
                ),
                f"{pages} / {fewest}",
                f"{100 * one['prompt'] / one['tokens']:.2f}%",
                f"{100 * median(more):+.1f}%",
            ]
        )
    head = [
        "state, KiB",
        "opening, tokens",
        "per byte",
        "ms to say",
        "ms to read",
        "pages / fewest",
    ]
    print_table("By state", [*head, "tokens of openings", "seconds"], rows)


def show_kinds(rounds: int) -> None:
    """What it takes to say a state, to read it and to decode it, by what it is made of."""
    rows = []
    for name, (live, size) in KINDS.items():
        runs = [saying(live, size) for _ in range(rounds)]
        rows.append([name, *(spread([run[column] for run in runs]) for column in range(5))])
    head = ["state", "live bytes, million", "tokens per live byte"]
    print_table(
        "By kind of state",
        [*head, *(f"ns a token to {do}" for do in ("say", "decode", "read"))],
        rows,
    )


def saying(live: int, size: int) -> list[float]:
    import numpy as np

    from curta import Machine
    from curta.machine.core_program import Segment
    from curta.machine.ledger import new_ledger
    from curta.machine.opening import decode_opening, opening_ids, opening_of

    machine = Machine()
    program = machine.load(path())
    random = np.random.default_rng(1)
    if size:
        content = np.zeros((SPREAD // size if size > 1024 else SPARSE, size), dtype=np.uint8)
        content[:, :live] = random.integers(1, 256, (len(content), live))
    else:
        content = np.zeros((1, SPREAD), dtype=np.uint8)
        content[0, random.integers(0, SPREAD, 4 * SPARSE)] = 1
    ledger = new_ledger(program)
    ledger.give(Segment(0, content.tobytes()))
    times = [time.perf_counter()]
    opening = opening_ids(program, opening_of(ledger))
    times.append(time.perf_counter())
    decode_opening(program, opening)
    times.append(time.perf_counter())
    next(iter(machine.talker().talk(opening, 1)))
    times.append(time.perf_counter())
    state, bytes_ = len(opening) - len(program.records), np.count_nonzero(content)
    passed = [1e9 * (end - begun) / state for begun, end in pairwise(times)]
    return [bytes_ / MILLION, state / bytes_, *passed]


def started(state: int, steps: int, chapter_tokens: int | None = None) -> dict[str, Any]:
    request = json.dumps([str(path()), state, steps, chapter_tokens])
    command = [sys.executable, __file__, "--worker", request]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    if finished.returncode:
        raise SystemExit(finished.stderr)
    result: dict[str, Any] = json.loads(finished.stdout)
    return result


def path() -> Path:
    """The program, compiled."""
    from curta.machine.toolchain import read_program

    folder = Path(tempfile.gettempdir()) / f"curta-bench-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    source, module = folder / "walk.c", folder / "walk.wasm"
    if not source.exists() or source.read_text() != WALK:
        source.write_text(WALK)
    module.write_bytes(read_program(source))
    return module


def run(request: list[Any]) -> dict[str, Any]:
    """In a process of its own."""
    from curta import Machine
    from curta.machine.opening import opening_ids, opening_of

    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    module, state, steps, chapter_tokens = request
    progress: list[tuple[int, float]] = []
    instance = Machine().begin(
        Path(module).read_bytes(),
        args=[str(state), str(steps)],
        keep_trace=False,
        chapter_tokens=chapter_tokens,
        on_progress=lambda now: progress.append((now.tokens, now.seconds)),
    )
    instance.run()
    figures, conversation = instance.figures, instance.conversation
    begun = time.perf_counter()
    opening = opening_ids(conversation.program, opening_of(conversation.ledger))
    said = time.perf_counter()
    next(iter(conversation.talker.fresh().talk(opening, 1)))
    read = time.perf_counter()
    return {
        "instructions": figures.instructions,
        "tokens": figures.tokens,
        "generated": figures.generated,
        "prompt": figures.prompt_tokens,
        "chapters": figures.chapters,
        "opening": len(opening),
        "state": len(opening) - len(conversation.program.records),
        "seconds": figures.seconds,
        "to_say": said - begun,
        "to_read": read - said,
        "first": rate(progress[1:20]),
        "last": rate(progress[-20:-1]),
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def rate(progress: list[tuple[int, float]]) -> float:
    """Tokens a second between the first and the last."""
    if len(progress) < 2:
        return 0
    (first, began), *_, (last, ended) = progress
    return (last - first) / max(ended - began, 1e-9)


if __name__ == "__main__":
    main()
