"""`curta gallery`: list the worked programs, run one."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
from collections.abc import Iterable, Iterator, Sequence

from curta.app.save_trace import check_save_trace
from curta.engine import Engine, load
from curta.engine.model_cache import compile_cached
from curta.engine.trace_file import save_trace
from curta.errors import UserError
from curta.gallery import PROGRAMS
from curta.gallery.program import Program


def show_list() -> None:
    """One line per program, with an input to try."""
    width = max(map(len, PROGRAMS))
    for name, program in PROGRAMS.items():
        print(f"{name:<{width}}  {program.summary}")
    print("\ncurta gallery NAME [INPUT]; for example: curta gallery parity 10110")


def find_program(name: str) -> Program:
    if name not in PROGRAMS:
        raise UserError(f"no program {name!r} in the gallery; there are: {', '.join(PROGRAMS)}")
    return PROGRAMS[name]


def run(options: argparse.Namespace) -> int:
    """Compile (or fetch) the program, feed the input, show the answer and the figures."""
    check_save_trace(options)
    program = find_program(options.name)
    text = program.cases[0].input if options.input is None else options.input
    prompt = program.encode(text)
    started = time.perf_counter()
    engine = load(compile_cached(program.build(), program.max_tokens), options.level)
    ready = time.perf_counter()
    said: list[str] = []
    tokens = engine.generate(prompt, options.max_new_tokens)
    try:
        for token in with_progress(tokens):
            said.append(token)
            if options.tokens:
                print(token, end=" ", flush=True)
    finally:  # what was said before an error is as right as ever
        finished = time.perf_counter()
        if options.save_trace is not None:
            note = shlex.join(["curta", "gallery", program.name, text])
            write_trace(options.save_trace, engine, prompt, said, note)
    if options.tokens:
        print()
    if options.input is None:
        print(f"{program.name}: {text!r}")
    print(program.decode(said))
    show_figures(options, len(prompt), len(said), ready - started, finished - ready)
    return 0


def write_trace(
    path: str, engine: Engine, prompt: Sequence[str], said: Sequence[str], note: str
) -> None:
    """The prompt was given; the model said the rest."""
    given = [1] * len(prompt) + [0] * len(said)
    save_trace(path, engine.model, engine.encode([*prompt, *said]), given, note=note)


def with_progress(tokens: Iterable[str]) -> Iterator[str]:
    """Count the tokens on a terminal once a run takes longer than two seconds."""
    started = shown = time.perf_counter()
    for count, token in enumerate(tokens, 1):
        yield token
        if count % 4096 == 0 and sys.stderr.isatty():
            now = time.perf_counter()
            if now - started > 2 and now - shown > 0.2:
                shown = now
                rate = count / (now - started)
                print(f"\r{count:,} tokens, {rate:,.0f} tok/s", end="", file=sys.stderr, flush=True)
    if shown > started:
        print("\r" + " " * 60 + "\r", end="", file=sys.stderr)


def show_figures(
    options: argparse.Namespace, prompt: int, said: int, preparing: float, generating: float
) -> None:
    if options.stats == "json":
        figures = {
            "level": options.level,
            "prompt_tokens": prompt,
            "tokens": said,
            "prepare_seconds": preparing,
            "generate_seconds": generating,
        }
        print(json.dumps(figures), file=sys.stderr)
        return
    rate = (prompt + said) / max(generating, 1e-9)
    print(
        f"{prompt} + {said} tokens at level {options.level}, {generating:.3f} s "
        f"({rate:,.0f} tok/s), prepared in {preparing:.3f} s",
        file=sys.stderr,
    )
