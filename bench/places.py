"""Benchmark of code that knows its program, beside the general code, wasm3 and wasmtime.

Run: python bench/places.py [--quick] [--only NAME]     (wasm3 where pywasm3 is installed)
     python bench/places.py --before CHECKOUT            (another checkout of curta takes turns)

Every run is a process of its own, engines taking turns; what they print is compared. Two uncounted
runs of the first engine make its code. `said` are tokens for each second that the native engine
works; `in all` for each second of the run: reading the prompt, and the ledger of registers and
memory, which a second thread keeps beside it. Instructions are WebAssembly's, as bench/machine.py
counts them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

from machine import MILLION, PROGRAMS, Program, compiled, run_wasmtime
from report import complete_machine, print_machine, print_table, spread
from wasm3_host import ExitError, Host

FIB = "(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (fib {})"
LONGER = (
    Program("queens 10", "queens.c", ("10",)),
    Program("sha256 of 256 KiB", "sha256.c", ("--own", "262144")),
    Program("lisp, (fib 19)", "lisp.c", stdin=FIB.format(19)),
    Program(
        "sudoku (17 clues)",
        "sudoku.c",
        stdin="....1....3..8.......4..........3.7....1.5........2....6......1..8..4.......7.....\n",
    ),
)
CURTA = {"places": "now", "general": "off"}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="one round")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--only", default="", help="programs with this in their names")
    options.add_argument("--before", type=Path, metavar="CHECKOUT", help="what to compare with")
    options.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.worker:
        engine, request = chosen.worker
        print(json.dumps(WORKERS[engine](json.loads(request))))
        return
    print_machine(["numpy", "wasmtime", "pywasm3"])
    complete_machine()
    rounds = 1 if chosen.quick else chosen.rounds
    integer = [p for p in PROGRAMS if "f64" not in p.name]
    programs = [p for p in (*integer, *LONGER) if chosen.only in p.name]
    rows = [row for program in programs for row in measured(program, rounds, chosen.before)]
    print_table(
        f"Median of {rounds} rounds (smallest-largest)",
        [
            "program",
            "engine",
            "tokens",
            "said, million tok/s",
            "in all, million tok/s",
            "million instructions/s",
            "times wasm3's seconds",
            *(["times before: rate of saying, speed in all"] if chosen.before else []),
        ],
        rows,
    )


def measured(program: Program, rounds: int, before: Path | None) -> list[list[str]]:
    for _ in range(2):
        started("places", program)
    instructions = started("count", program)["instructions"]
    engines = ["places", "general", "wasmtime", *(["wasm3"] if has_wasm3() else [])]
    if before is not None:
        started("before", program, before)
        engines.append("before")
    runs: dict[str, list[dict[str, Any]]] = {engine: [] for engine in engines}
    for _ in range(rounds):
        for engine in engines:
            runs[engine].append(started(engine, program, before if engine == "before" else None))
    if len({run["stdout"] for found in runs.values() for run in found}) != 1:
        raise SystemExit(f"{program.name}: the engines print different things")
    other = median([run["seconds"] for run in runs["wasm3"]]) if "wasm3" in runs else None
    return [
        [
            program.name if engine == engines[0] else "",
            engine,
            f"{found[0]['tokens']:,}" if "tokens" in found[0] else "",
            rates(found, "saying"),
            rates(found, "seconds"),
            f"{instructions / median([run['seconds'] for run in found]) / MILLION:,.1f}",
            f"{median([run['seconds'] for run in found]) / other:.2f}" if other else "",
            *([gains(found, runs["before"])] if before is not None else []),
        ]
        for engine, found in runs.items()
    ]


def rates(runs: list[dict[str, Any]], name: str) -> str:
    if "tokens" not in runs[0]:
        return ""
    return spread([run["tokens"] / run[name] / MILLION for run in runs], 1)


def gains(runs: list[dict[str, Any]], before: list[dict[str, Any]]) -> str:
    """How much faster tokens are said, and how much sooner the run is over."""
    if "tokens" not in runs[0]:
        return ""
    now, then = (
        median([run["tokens"] / run["saying"] for run in found]) for found in (runs, before)
    )
    later, sooner = (median([run["seconds"] for run in found]) for found in (before, runs))
    return f"{now / then:.1f}, {later / sooner:.1f}"


def has_wasm3() -> bool:
    try:
        import wasm3  # type: ignore[import-not-found]  # noqa: F401
    except ImportError:
        return False
    return True


def started(engine: str, program: Program, checkout: Path | None = None) -> dict[str, Any]:
    """One run in a process of its own, of this checkout or another."""
    request = json.dumps(
        {
            "wasm": compiled(program),
            "args": program.args,
            "stdin": program.stdin,
            "name": program.source,
        }
    )
    finished = subprocess.run(
        [sys.executable, __file__, "--worker", engine, request],
        capture_output=True,
        text=True,
        check=False,
        env={
            **os.environ,
            "CURTA_PLACES": CURTA.get(engine, "off"),
            **({"PYTHONPATH": str(checkout.resolve() / "src")} if checkout else {}),
        },
    )
    if finished.returncode:
        raise SystemExit(f"{engine}, {program.name}:\n{finished.stderr}")
    result: dict[str, Any] = json.loads(finished.stdout.splitlines()[-1])
    return result


# -- in the processes ---------------------------------------------


def run_curta(request: dict[str, Any]) -> dict[str, Any]:
    from curta import Machine

    try:
        from curta.engine.native_level import NativeSession
    except ImportError:  # where it was in earlier versions
        from curta.engine.native import NativeSession  # type: ignore[no-redef, attr-defined]

    saying = 0.0
    generate = NativeSession.generate

    def timed(session: NativeSession, *given: Any) -> Any:
        nonlocal saying
        begun = time.perf_counter()
        said = generate(session, *given)
        saying += time.perf_counter() - begun
        return said

    NativeSession.generate = timed  # type: ignore[method-assign, assignment]
    machine = Machine()
    for _ in range(2):  # the first one loads libraries
        saying = 0.0
        run = machine.run(
            Path(request["wasm"]).read_bytes(),
            stdin=request["stdin"].encode(),
            args=request["args"],
            name=request["name"],
            keep_trace=False,
        )
    return {
        "stdout": run.stdout.decode(),
        "seconds": run.seconds,
        "saying": saying,
        "tokens": run.figures.generated,
    }


def run_wasm3(request: dict[str, Any]) -> dict[str, Any]:
    import wasm3

    runtime = wasm3.Environment().new_runtime(1 << 20)
    module = wasm3.Environment().parse_module(Path(request["wasm"]).read_bytes())
    runtime.load(module)
    arguments = [text.encode() + b"\0" for text in (request["name"], *request["args"])]
    host = Host(runtime, arguments, request["stdin"].encode())
    host.link(module)
    start = runtime.find_function("_start")
    begun = time.perf_counter()
    with suppress(ExitError):
        start()
    return {"stdout": host.stdout.decode(), "seconds": time.perf_counter() - begun}


WORKERS = {
    "places": run_curta,
    "general": run_curta,
    "before": run_curta,
    "wasm3": run_wasm3,
    "wasmtime": run_wasmtime,
    "count": lambda request: run_wasmtime(request, count=True),
}

if __name__ == "__main__":
    main()
