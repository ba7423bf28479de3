"""Benchmark of compiler and engines. Run: python bench/engine.py [--quick]

Everything is measured in one process on one core, except start-up, which is whole processes.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from statistics import median

import numpy as np

from curta.compiler import Model, compile
from curta.engine import LEVELS, load
from curta.engine.native_level import Native
from curta.gallery import PROGRAMS
from curta.gallery.program import GalleryProgram
from report import print_machine, print_table, spread

CHUNK = 1 << 16


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="shorter runs, for a first look")
    quick = options.parse_args().quick
    print_machine(["numpy", "torch", "highspy", "safetensors"])
    lengths = [100_000, 1_000_000] if quick else [100_000, 1_000_000, 10_000_000]
    rounds = 3 if quick else 5
    models = {name: (PROGRAMS[name], compiled(PROGRAMS[name])) for name in ("subleq", "counter")}
    native_rows = [row for p, m in models.values() for row in native_speed(p, m, lengths, rounds)]
    print_table(
        f"Native engine, one core: median of {rounds} rounds (smallest-largest)",
        ["program", "layer weights", "tokens", "million tok/s", "of 100k rate", "bytes/token"],
        native_rows,
    )
    print_table(
        "The levels on the same sequence (tok/s)",
        ["program", "tokens", *LEVELS],
        [level_speeds(p, m, 300 if quick else 1000) for p, m in models.values()],
    )
    print_table(
        "Compile time, no C compiler involved (s)",
        ["program", "nodes", "layers", "width", "layer weights", f"median of {rounds}"],
        compile_times(rounds),
    )
    print_table(
        "curta gallery NAME: whole process, wall clock (s)",
        ["program", "first run, caches empty", f"later runs, median of {rounds}"],
        [start_up(name, rounds) for name in ("parity", "multiplication", "subleq")],
    )


def compiled(program: GalleryProgram) -> Model:
    return compile(program.build(), program.max_tokens)


def long_prompt(program: GalleryProgram) -> list[str]:
    """An input that keeps the program busy for more than ten million tokens."""
    module = sys.modules[program.build.__module__]
    return program.encode(module.LONG_RUN)


def generate(engine: Native, prompt: np.ndarray, count: int) -> tuple[float, float]:
    """(seconds, bytes of state per token) of generating `count` tokens."""
    session = engine.session()
    following = session.take(prompt)
    said, started = 0, time.perf_counter()
    while said < count:
        chunk = session.generate(following, min(CHUNK, count - said))
        said += len(chunk)
        if int(chunk[-1]) in engine.stops and said < count:
            raise SystemExit(f"the run ended after {said} tokens; choose a longer one")
        session.check()
        if said < count:
            following = session.feed(int(chunk[-1]))
    return time.perf_counter() - started, session.bytes / (said + len(prompt))


def native_speed(
    program: GalleryProgram, model: Model, lengths: list[int], rounds: int
) -> list[list[str]]:
    engine = Native(model)
    prompt = np.array(engine.encode(long_prompt(program)), dtype=np.int32)
    generate(engine, prompt, lengths[0])  # warm caches
    seconds: dict[int, list[float]] = {length: [] for length in lengths}
    memory: dict[int, float] = {}
    for _ in range(rounds):  # rounds outside, so that other load on the machine hits all lengths
        for length in lengths:
            taken, memory[length] = generate(engine, prompt, length)
            seconds[length].append(length / taken / 1e6)
    base = median(seconds[lengths[0]])
    return [
        [
            program.name,
            f"{model.nonzero_weights:,}",
            f"{length:,}",
            spread(rates),
            f"{median(rates) / base:.0%}",
            f"{memory[length]:.1f}",
        ]
        for length, rates in seconds.items()
    ]


def level_speeds(program: GalleryProgram, model: Model, count: int) -> list[str]:
    rates = []
    tokens: list[list[int]] = []
    for level in LEVELS:
        engine = load(model, level)
        prompt = engine.encode(long_prompt(program))
        started = time.perf_counter()
        tokens.append(engine.run(prompt, count).tolist())
        rates.append(f"{(len(prompt) + count) / (time.perf_counter() - started):,.0f}")
    if any(said != tokens[0] for said in tokens):
        raise SystemExit(f"{program.name}: the levels disagree")
    return [program.name, f"{count:,}", *rates]


def compile_times(rounds: int) -> list[list[str]]:
    """The five programs that take longest."""
    rows = []
    for program in PROGRAMS.values():
        seconds = []
        for _ in range(rounds):
            graph = program.build()
            started = time.perf_counter()
            model = compile(graph, program.max_tokens)
            seconds.append(time.perf_counter() - started)
        plan = model.plan
        rows.append(
            (
                median(seconds),
                [
                    program.name,
                    f"{len(model.graph.operations)}",
                    f"{len(plan['layers'])}",
                    f"{plan['width']}",
                    f"{model.nonzero_weights:,}",
                    spread(seconds),
                ],
            )
        )
    return [row for _, row in sorted(rows, reverse=True)[:5]]


def start_up(name: str, rounds: int) -> list[str]:
    """Seconds of `curta gallery NAME` with an empty cache, and with a full one."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "CURTA_CACHE": cache}
        command = [sys.executable, "-m", "curta", "gallery", name]

        def once() -> float:
            started = time.perf_counter()
            subprocess.run(command, env=environment, check=True, capture_output=True)
            return time.perf_counter() - started

        return [name, f"{once():.2f}", spread([once() for _ in range(rounds)])]


if __name__ == "__main__":
    main()
