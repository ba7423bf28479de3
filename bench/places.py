"""Benchmark of code that knows its program, beside the general code, wasm3 and wasmtime.

Run: python bench/places.py [--quick] [--only NAME]     (wasm3 where pywasm3 is installed)

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
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

from machine import MILLION, PROGRAMS, Program, compiled, run_wasmtime
from report import print_machine, print_table, spread

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
    options.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.worker:
        engine, request = chosen.worker
        print(json.dumps(WORKERS[engine](json.loads(request))))
        return
    print_machine(["numpy", "wasmtime", "pywasm3"])
    rounds = 1 if chosen.quick else chosen.rounds
    integer = [p for p in PROGRAMS if "f64" not in p.name]
    programs = [p for p in (*integer, *LONGER) if chosen.only in p.name]
    rows = [row for program in programs for row in measured(program, rounds)]
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
        ],
        rows,
    )


def measured(program: Program, rounds: int) -> list[list[str]]:
    for _ in range(2):
        started("places", program)
    instructions = started("count", program)["instructions"]
    engines = ["places", "general", "wasmtime", *(["wasm3"] if has_wasm3() else [])]
    runs: dict[str, list[dict[str, Any]]] = {engine: [] for engine in engines}
    for _ in range(rounds):
        for engine in engines:
            runs[engine].append(started(engine, program))
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
        ]
        for engine, found in runs.items()
    ]


def rates(runs: list[dict[str, Any]], name: str) -> str:
    if "tokens" not in runs[0]:
        return ""
    return spread([run["tokens"] / run[name] / MILLION for run in runs], 1)


def has_wasm3() -> bool:
    try:
        import wasm3  # type: ignore[import-not-found]  # noqa: F401
    except ImportError:
        return False
    return True


def started(engine: str, program: Program) -> dict[str, Any]:
    """One run in a process of its own."""
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
        env={**os.environ, "CURTA_PLACES": CURTA.get(engine, "off")},
    )
    if finished.returncode:
        raise SystemExit(f"{engine}, {program.name}:\n{finished.stderr}")
    result: dict[str, Any] = json.loads(finished.stdout.splitlines()[-1])
    return result


# -- in the processes ---------------------------------------------


def run_curta(request: dict[str, Any]) -> dict[str, Any]:
    from curta import Machine
    from curta.engine.native import NativeSession

    saying = 0.0
    generate = NativeSession.generate

    def timed(session: NativeSession, first: int, count: int) -> Any:
        nonlocal saying
        begun = time.perf_counter()
        said = generate(session, first, count)
        saying += time.perf_counter() - begun
        return said

    NativeSession.generate = timed  # type: ignore[method-assign]
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
        "placed": run.figures.placed,
    }


def run_wasm3(request: dict[str, Any]) -> dict[str, Any]:
    import wasm3

    runtime = wasm3.Environment().new_runtime(1 << 20)
    module = wasm3.Environment().parse_module(Path(request["wasm"]).read_bytes())
    runtime.load(module)
    out = bytearray()
    arguments = [text.encode() + b"\0" for text in (request["name"], *request["args"])]
    stdin = request["stdin"].encode()
    read = 0

    def number(at: int) -> int:
        return int.from_bytes(runtime.get_memory(0)[at : at + 4], "little")

    def put(at: int, content: bytes) -> None:
        runtime.get_memory(0)[at : at + len(content)] = content

    def word(value: int) -> bytes:
        return value.to_bytes(4, "little")

    def args_sizes_get(count: int, size: int) -> int:
        put(count, word(len(arguments)))
        put(size, word(sum(map(len, arguments))))
        return 0

    def args_get(pointers: int, at: int) -> int:
        for place, text in enumerate(arguments):
            put(pointers + 4 * place, word(at))
            put(at, text)
            at += len(text)
        return 0

    def environ_sizes_get(count: int, size: int) -> int:
        put(count, word(0))
        put(size, word(0))
        return 0

    def fd_write(_: int, vectors: int, count: int, written: int) -> int:
        total = 0
        for place in range(count):
            at, size = number(vectors + 8 * place), number(vectors + 8 * place + 4)
            out.extend(runtime.get_memory(0)[at : at + size])
            total += size
        put(written, word(total))
        return 0

    def fd_read(_: int, vectors: int, count: int, found: int) -> int:
        nonlocal read
        total = 0
        for place in range(count):
            at, size = number(vectors + 8 * place), number(vectors + 8 * place + 4)
            content = stdin[read : read + size]
            put(at, content)
            read += len(content)
            total += len(content)
        put(found, word(total))
        return 0

    def fd_fdstat_get(_: int, at: int) -> int:
        put(at, bytes([2]) + bytes(23))
        return 0

    def proc_exit(code: int) -> None:
        raise ExitError(code)

    names: dict[str, tuple[str, Callable[..., Any]]] = {
        "args_sizes_get": ("i(ii)", args_sizes_get),
        "args_get": ("i(ii)", args_get),
        "environ_sizes_get": ("i(ii)", environ_sizes_get),
        "environ_get": ("i(ii)", lambda *_: 0),
        "fd_write": ("i(iiii)", fd_write),
        "fd_read": ("i(iiii)", fd_read),
        "fd_fdstat_get": ("i(ii)", fd_fdstat_get),
        "fd_close": ("i(i)", lambda *_: 0),
        "fd_seek": ("i(iIii)", lambda *_: 70),
        "proc_exit": ("v(i)", proc_exit),
    }
    for name, (signature, function) in names.items():
        try:
            module.link_function("wasi_snapshot_preview1", name, signature, function)
        except RuntimeError:  # not imported
            continue
    start = runtime.find_function("_start")
    begun = time.perf_counter()
    with suppress(ExitError):
        start()
    return {"stdout": out.decode(), "seconds": time.perf_counter() - begun}


class ExitError(Exception):
    """The program has ended."""


WORKERS = {
    "places": run_curta,
    "general": run_curta,
    "wasm3": run_wasm3,
    "wasmtime": run_wasmtime,
    "count": lambda request: run_wasmtime(request, count=True),
}

if __name__ == "__main__":
    main()
