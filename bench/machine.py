"""Benchmark of the machine beside pywasm and wasmtime.

Run: python bench/machine.py [--quick] [--baked]

The same .wasm, as the user compiled it, goes to all three. Every run is a process of its own, on
one core, engines taking turns; what they print is compared. Seconds are those of the run itself:
for curta reading the prompt and generating, for the others the call of `_start`. Start-up (imports,
fetching or making code) is measured beside it, as the whole process. Instructions are those of
WebAssembly that wasmtime executes, without block, loop, else, end and nop (count_instructions.py).
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
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from report import complete_machine, print_machine, print_table, spread

if TYPE_CHECKING:
    from curta.machine.run import Run

ROOT = Path(__file__).parents[1]
INKALA = "8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4.."
ENGINES = ("curta", "pywasm", "wasmtime")
MILLION = 1_000_000


@dataclass(frozen=True)
class Program:
    """What is run. The first four are 32-bit integer programs."""

    name: str
    source: str
    args: tuple[str, ...] = ()
    stdin: str = ""


PROGRAMS = (
    Program("sudoku (Inkala)", "sudoku.c", stdin=INKALA + "\n"),
    Program("hungarian 10x10", "hungarian.c"),
    Program("sha256 of 4 KiB", "sha256.c", ("--own", "4096")),
    Program("queens 8", "queens.c", ("8",)),
    Program("nbody, 100 steps (f64)", "nbody.c", ("100",)),
    Program("mandelbrot, 24 lines (f64)", "mandelbrot.c"),
    Program("spectral norm, 20 x 20 (f64)", "spectral_norm.c"),
    Program("occlusion, 12 lines (f64)", "occlusion.c"),
    Program("collatz (i64)", "collatz64.c"),
)
STEPS = (3, 30, 300, 3_000, 30_000)
"""Of the planets: from ten thousand to a hundred million tokens."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="one round, and no longer runs")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument(
        "--level", default="native", help="of curta; 'reference' is no transformer"
    )
    options.add_argument(
        "--baked", action="store_true", help="also programs as weights; a minute each to make them"
    )
    options.add_argument("--only", default="", help="programs with this in their names")
    options.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.worker:
        engine, request = chosen.worker
        print(json.dumps(WORKERS[engine](json.loads(request))))
        return
    print_machine(["numpy", "wasmtime", "pywasm", "ziglang"])
    complete_machine()
    rounds = 1 if chosen.quick else chosen.rounds
    programs = [program for program in PROGRAMS if chosen.only in program.name]
    engines = (*ENGINES, *(("baked",) if chosen.baked else ()))
    measured = {program: measure(program, rounds, chosen.level, engines) for program in programs}
    show_curta(measured, rounds)
    show_engines(measured, rounds, engines)
    if not chosen.quick:
        show_scaling(chosen.level, rounds)


# -- measuring ---------------------------------------------


Rounds = dict[str, list[dict[str, Any]]]


def measure(program: Program, rounds: int, level: str, engines: Sequence[str]) -> Rounds:
    """All rounds of all engines; the first, uncounted round of curta fills its caches."""
    results: Rounds = {engine: [] for engine in engines}
    results["count"] = [started("count", program, level)]
    for engine in {"curta", "baked"} & set(engines):
        started(engine, program, level)
    for _ in range(rounds):
        for engine in engines:
            results[engine].append(started(engine, program, level))
    said = {run["stdout"] for runs in results.values() for run in runs}
    if len(said) != 1:
        raise SystemExit(f"{program.name}: the engines print different things: {said}")
    return results


def started(engine: str, program: Program, level: str) -> dict[str, Any]:
    """One run in a process of its own, on one core."""
    request = json.dumps(
        {
            "wasm": compiled(program),
            "args": program.args,
            "stdin": program.stdin,
            "level": level,
            "name": program.source,
        }
    )
    command = [sys.executable, __file__, "--worker", engine, request]
    begun = time.perf_counter()
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    if finished.returncode:
        raise SystemExit(f"{engine}, {program.name}:\n{finished.stderr}")
    result: dict[str, Any] = json.loads(finished.stdout.splitlines()[-1])
    return {**result, "process": time.perf_counter() - begun}


def compiled(program: Program) -> str:
    from curta.machine.toolchain import read_program
    from curta.store import write_atomically

    folder = Path(tempfile.gettempdir()) / f"curta-bench-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    path = folder / f"{program.source}.wasm"
    write_atomically(path, read_program(ROOT / "examples" / program.source))  # others may read it
    return str(path)


def one_core() -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


# -- in the processes ---------------------------------------------


def run_curta(request: dict[str, Any]) -> dict[str, Any]:
    from curta import Machine

    one_core()
    run = Machine(request["level"]).run(
        Path(request["wasm"]).read_bytes(),
        stdin=request["stdin"].encode(),
        args=request["args"],
        name=request["name"],
    )
    return told(run)


def run_baked(request: dict[str, Any]) -> dict[str, Any]:
    """The same program as weights, which are made where this version of curta did not do so yet."""
    from curta import bake, load_baked
    from curta.machine.weights import native_key

    wasm = Path(request["wasm"])
    key = native_key() or "changed"
    path = wasm.with_suffix(f".{key[:8]}.safetensors")
    if not path.exists():
        made = bake(wasm)
        made.save(path)
        made.prepare(path)
    one_core()
    run = load_baked(path).run(
        stdin=request["stdin"].encode(), args=request["args"], name=request["name"]
    )
    return told(run)


def told(run: Run) -> dict[str, Any]:
    return {
        "stdout": run.stdout.decode(),
        "seconds": run.seconds,
        "peak": peak_bytes(),
        "prompt": run.figures.prompt_tokens,
        "tokens": run.figures.generated,
        "core": run.figures.instructions,
        "memory": run.figures.memory_bytes,
    }


def run_pywasm(request: dict[str, Any]) -> dict[str, Any]:
    import io

    import pywasm  # type: ignore[import-untyped]

    one_core()
    runtime = pywasm.core.Runtime()
    wasi = pywasm.wasi.Preview1([request["name"], *request["args"]], {}, {})
    wasi.fd[0].pipe = io.BytesIO(request["stdin"].encode())
    wasi.fd[1].pipe = io.BytesIO()
    wasi.bind(runtime)
    instance = runtime.instance_from_file(request["wasm"])
    begun = time.perf_counter()
    wasi.main(runtime, instance)
    seconds = time.perf_counter() - begun
    stdout = wasi.fd[1].pipe.getvalue().decode()
    return {"stdout": stdout, "seconds": seconds, "peak": peak_bytes()}


def run_wasmtime(request: dict[str, Any], *, count: bool = False) -> dict[str, Any]:
    one_core()
    from count_instructions import run_in_wasmtime

    content = Path(request["wasm"]).read_bytes()
    result = run_in_wasmtime(content, request["stdin"].encode(), request["args"], count=count)
    return {
        "stdout": result.stdout.decode(),
        "seconds": result.seconds,
        "peak": peak_bytes(),
        "instructions": result.instructions,
    }


WORKERS = {
    "curta": run_curta,
    "baked": run_baked,
    "pywasm": run_pywasm,
    "wasmtime": run_wasmtime,
    "count": lambda request: run_wasmtime(request, count=True),
}


# -- tables ---------------------------------------------


def show_curta(measured: dict[Program, Rounds], rounds: int) -> None:
    rows = []
    for program, results in measured.items():
        instructions = results["count"][0]["instructions"]
        runs = results["curta"]
        first = runs[0]
        rates = [(run["tokens"] + run["prompt"]) / run["seconds"] / MILLION for run in runs]
        speeds = [instructions / run["seconds"] / MILLION for run in runs]
        rows.append(
            [
                program.name,
                f"{instructions:,}",
                f"{first['prompt']:,} + {first['tokens']:,}",
                f"{first['tokens'] / instructions:.2f}",
                spread(rates),
                spread(speeds),
                spread([run["seconds"] for run in runs], 3),
                f"{first['peak'] / 2**20:,.0f}",
            ]
        )
    print_table(
        f"curta: median of {rounds} rounds (smallest-largest)",
        [
            "program",
            "instructions",
            "tokens: prompt + generated",
            "tokens/instruction",
            "million tok/s",
            "million instructions/s",
            "seconds",
            "peak MiB",
        ],
        rows,
    )


def show_engines(measured: dict[Program, Rounds], rounds: int, engines: Sequence[str]) -> None:
    rows = []
    for program, results in measured.items():
        instructions = results["count"][0]["instructions"]
        middle = median([run["seconds"] for run in results["curta"]])
        for engine in engines:
            seconds = [run["seconds"] for run in results[engine]]
            rows.append(
                [
                    program.name if engine == engines[0] else "",
                    engine,
                    spread(seconds, 4),
                    f"{instructions / median(seconds) / MILLION:,.2f}",
                    f"{median(seconds) / middle:,.4g}",
                    spread([run["process"] for run in results[engine]]),
                    f"{max(run['peak'] for run in results[engine]) / 2**20:,.0f}",
                ]
            )
    print_table(
        f"Side by side: median of {rounds} rounds (smallest-largest)",
        [
            "program",
            "engine",
            "seconds",
            "million instructions/s",
            "times curta's seconds",
            "whole process, s",
            "peak MiB",
        ],
        rows,
    )


def show_scaling(level: str, rounds: int) -> None:
    """Does a run become slower, and what does a token cost in memory?"""
    rows = []
    for steps in STEPS:
        planets = Program(f"nbody, {steps:,} steps", "nbody.c", (str(steps),))
        runs = [started("curta", planets, level) for _ in range(rounds)]
        tokens = runs[0]["prompt"] + runs[0]["tokens"]
        rows.append(
            [
                planets.name,
                f"{runs[0]['prompt']:,} + {runs[0]['tokens']:,}",
                spread([tokens / run["seconds"] / MILLION for run in runs]),
                f"{runs[0]['memory'] / 2**20:,.1f}",
                f"{runs[0]['memory'] / tokens:.1f}",
                f"{max(run['peak'] for run in runs) / 2**20:,.0f}",
            ]
        )
    print_table(
        f"Runs of four decades of lengths: median of {rounds} rounds (smallest-largest)",
        [
            "program",
            "tokens: prompt + generated",
            "million tok/s",
            "state, MiB",
            "bytes/token",
            "peak MiB",
        ],
        rows,
    )


if __name__ == "__main__":
    main()
