"""Benchmark of kept runs: what keeping costs, how long resuming takes, how fast they are verified.

Run: python bench/kept.py [--quick] [--kills N]

The program is that of bench/chapters.py: a random walk over so many KiB. With --kills, a run of
10^9 core instructions is killed so many times on its way, and its output compared with wasmtime's.
One process that verifies has one thread here; from the command line PyTorch gives it all cores.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from chapters import MILLION, path
from report import complete_machine, print_machine, print_table, spread

STATES = (1, 64, 512)
"""KiB."""
STEPS = 2_500_000
LONG = """
#include <stdint.h>
#include <stdio.h>
int main(void) {
    static uint32_t held[4096];
    uint32_t x = 12345, sum = 0;
    for (long i = 0; i < 60000000; i++) {
        x = x * 1664525u + 1013904223u;
        held[x % 4096] ^= x >> 3;
        sum += held[x * 7u % 4096];
        if (i % 100000 == 0) printf("%ld %u\\n", i, sum);
    }
}
"""
VERIFIED = 120_000
BAKED = """
int main(int count, char **words) {
    unsigned x = 12345, held[64] = {0};
    for (int i = 0; i < (words[1][0] - '0') * 500; i++) {
        x = x * 1664525u + 1013904223u;
        held[x % 64] += held[x * 7u % 64] ^ x;
    }
    return held[5] % 100;
}
"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="short runs, one round")
    options.add_argument("--kills", type=int, default=0, metavar="N")
    options.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.worker:
        name, request = chosen.worker
        print(json.dumps(WORKERS[name](*json.loads(request))))
        return
    print_machine(["numpy", "ziglang", "torch"])
    complete_machine()
    rounds, steps = (1, STEPS // 10) if chosen.quick else (3, STEPS)
    with tempfile.TemporaryDirectory() as folder:
        show_keeping(Path(folder), steps, rounds)
        show_verification(Path(folder), VERIFIED // (10 if chosen.quick else 1), rounds)
        if chosen.kills:
            show_kills(Path(folder), chosen.kills)


def show_keeping(folder: Path, steps: int, rounds: int) -> None:
    """The same run, not kept, kept, and kept with its tokens, taking turns."""
    rows = []
    for state in STATES:
        seconds: dict[str, list[float]] = {"not kept": [], "kept": [], "tokens": []}
        for number in range(rounds + 1):  # the first round fills caches
            for way, times in seconds.items():
                file = folder / f"{way}.curta"
                file.unlink(missing_ok=True)
                kept = None if way == "not kept" else str(file)
                result = worker("run", state, steps, kept, way == "tokens")
                if number:
                    times.append(result["seconds"])
        cut_off_ending(folder / "kept.curta")
        resumed = [worker("resume", str(folder / "kept.curta")) for _ in range(rounds)]
        rows.append(
            [
                f"{state}",
                f"{result['tokens']:,}",
                f"{result['chapters']}",
                *(
                    spread([result["tokens"] / time / MILLION for time in seconds[way]])
                    for way in seconds
                ),
                *(
                    f"{(folder / f'{way}.curta').stat().st_size / MILLION:.2f}"
                    for way in ("kept", "tokens")
                ),
                spread([one["seconds"] for one in resumed]),
                spread([one["process"] for one in resumed]),
            ]
        )
    print_table(
        "Keeping",
        [
            "state, KiB",
            "tokens",
            "chapters",
            "million tok/s, not kept",
            "kept",
            "with tokens",
            "file, MB",
            "with tokens, MB",
            "seconds to go on",
            "with the process's start",
        ],
        rows,
    )


def cut_off_ending(file: Path) -> None:
    """As if the process had been killed before it wrote that the run was at its end."""
    with open(file, "r+b") as opened:
        opened.truncate(file.stat().st_size - 20)


def show_verification(folder: Path, steps: int, rounds: int) -> None:
    """Hull caches and softmax, by one process and by two, taking turns."""
    from curta import Machine, bake, load_baked

    kept, softmax = folder / "verified.curta", folder / "softmax.curta"
    Machine().run(path().read_bytes(), args=["1", str(steps)], keep=kept)
    source, weights = folder / "baked.c", folder / "baked.safetensors"
    source.write_text(BAKED)
    bake(source).save(weights)
    load_baked(weights).run(args=["9"], keep=softmax)
    rows = []
    for level, file in (("hull", kept), ("plain", softmax)):
        results: dict[int, list[dict[str, Any]]] = {1: [], 2: []}
        for _ in range(rounds):
            for jobs, runs in results.items():
                runs.append(worker("verify", str(file), level, jobs))
        one, two = ([run["tokens"] / run["seconds"] for run in results[jobs]] for jobs in (1, 2))
        rows.append(
            [
                level,
                f"{results[1][0]['tokens']:,}",
                f"{results[1][0]['parts']}",
                spread(one, 0),
                spread(two, 0),
                spread([b / a for a, b in zip(one, two, strict=True)]),
                f"{max(run['peak'] for run in results[1]) / 2**20:,.0f}",
            ]
        )
    head = [
        "level",
        "tokens read",
        "parts",
        "tok/s, one process",
        "two",
        "ratio",
        "peak MiB of one",
    ]
    print_table("Verifying", head, rows)


def show_kills(folder: Path, kills: int) -> None:
    """A run of 10^9 instructions that is killed on its way, beside wasmtime."""
    from count_instructions import run_in_wasmtime
    from curta.machine.toolchain import read_program

    source, kept, out = folder / "long.c", folder / "long.curta", folder / "out"
    source.write_text(LONG)
    expected = run_in_wasmtime(read_program(source), b"", []).stdout
    begin = ["run", str(source), "--keep", str(kept)]
    begun, left = time.perf_counter(), kills
    while True:
        words = ["resume", str(kept)] if kept.exists() else begin
        with open(out, "ab") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", "curta", *words], stdout=file, stdin=subprocess.DEVNULL
            )
        try:
            process.wait(random.uniform(3, 8) if left else None)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            left -= 1
        if process.returncode == 0:
            break
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print_table(
        "A long run that is killed",
        ["kills", "bytes of output", "seconds", "peak MiB", "output as wasmtime's"],
        [
            [
                f"{kills}",
                f"{len(expected):,}",
                f"{time.perf_counter() - begun:.0f}",
                f"{peak / 1024:.0f}",
                f"{out.read_bytes() == expected}",
            ]
        ],
    )


def worker(name: str, *request: object) -> dict[str, Any]:
    """Something, in a process of its own."""
    begun = time.perf_counter()
    command = [sys.executable, __file__, "--worker", name, json.dumps(request)]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    if finished.returncode:
        raise SystemExit(finished.stderr)
    result: dict[str, Any] = json.loads(finished.stdout.splitlines()[-1])
    return {**result, "process": time.perf_counter() - begun}


# -- in the processes ---------------------------------------------


def run(state: int, steps: int, keep: str | None, keep_tokens: bool) -> dict[str, Any]:
    from curta import Machine

    options: dict[str, Any] = {"keep_trace": False}
    if keep is not None:
        options |= {"keep": keep, "keep_tokens": keep_tokens}
    figures = Machine().run(path().read_bytes(), args=[str(state), str(steps)], **options).figures
    return {"seconds": figures.seconds, "tokens": figures.tokens, "chapters": figures.chapters}


def resume(file: str) -> dict[str, Any]:
    """From the file to the first tokens behind the last page."""
    from curta.machine.conversation import Conversation
    from curta.machine.host import Host
    from curta.machine.kept.file import KeptRun
    from curta.machine.kept.keeping import Recorder, ending_of, limits_of
    from curta.machine.kept.resume import ready_for

    class Going(Exception):  # noqa: N818
        """It goes on."""

    def stop(_: object) -> None:
        raise Going

    begun = time.perf_counter()
    with KeptRun.open(file) as kept:
        ready = ready_for(kept)
        host = Host(on_progress=stop)
        recorder = Recorder(kept, ready.program, host)
        conversation = Conversation(
            ready.talker, ready.program, recorder.host, limits_of(kept.beginning)
        )
        try:
            ending_of(kept, conversation, len(kept.marks) + 1)
        except Going:
            return {"seconds": time.perf_counter() - begun}
    raise SystemExit("the run was at its end")


def verify(file: str, level: Any, jobs: int) -> dict[str, Any]:
    from curta.machine.kept.file import KeptRun
    from curta.machine.kept.resume import ready_for
    from curta.machine.processes import WorkerSetup
    from curta.machine.verify.jobs import (
        VerificationPlan,
        complete_chapters,
        part_length,
        verify_run,
    )

    with KeptRun.open(file) as kept:
        ready = ready_for(kept, "native")
        program = ready.program.to_bytes()
        setup = WorkerSetup(
            level, program, ready.program.baked, ready.weights, (), os.getcwd(), threads=1
        )
        chapters = range(1, complete_chapters(kept) + 1)
        plan = VerificationPlan(level, part_length(level, None), chapters, jobs=jobs)
        found = verify_run(kept, ready, plan, setup)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"seconds": found.seconds, "tokens": found.tokens, "parts": found.parts, "peak": peak}


WORKERS: dict[str, Callable[..., dict[str, Any]]] = {"run": run, "resume": resume, "verify": verify}


if __name__ == "__main__":
    main()
