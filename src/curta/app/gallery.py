"""`curta gallery`: list the worked programs, run one."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from curta.app.figures import Shown
from curta.app.save_trace import SaveTrace
from curta.options import option, word
from curta.terminal import Screen

if TYPE_CHECKING:
    from curta.gallery.program import GalleryProgram

SECONDS_BEFORE_PROGRESS = 2


@dataclass(frozen=True)
class Options(Shown, SaveTrace):
    """Without NAME: list the worked programs. With NAME: compile it into a transformer, and let
    that transformer answer INPUT.

    name:           of a worked program
    input:          what it is given (the program's example)
    level:          exact arithmetic, PyTorch softmax, hull caches, generated C, or softmax that
                    accepts what generated C drafts
    tokens:         print the tokens as they are said
    max_new_tokens: say so many tokens at most (to the stop)
    """

    name: str | None = word("NAME", None)
    input: str | None = word("INPUT", None)
    level: Literal["evaluate", "plain", "hull", "native", "speculative"] = "native"
    tokens: bool = False
    max_new_tokens: int | None = option(None)


@dataclass(frozen=True)
class Report:
    """The figures of a run.

    level:            who said it
    prompt_tokens:    that were given
    tokens:           that were said
    prepare_seconds:  until the first could be said
    generate_seconds: from there on
    """

    level: str
    prompt_tokens: int
    tokens: int
    prepare_seconds: float
    generate_seconds: float

    def __str__(self) -> str:
        rate = (self.prompt_tokens + self.tokens) / max(self.generate_seconds, 1e-9)
        return (
            f"{self.prompt_tokens} + {self.tokens} tokens at level {self.level}, "
            f"{self.generate_seconds:.3f} s ({rate:,.0f} tok/s), prepared in "
            f"{self.prepare_seconds:.3f} s"
        )


def run(options: Options) -> int:
    """Without a name, one line per program; else compile it, feed the input, show the answer."""
    from curta.gallery import PROGRAMS, find_program

    if options.name is not None:
        return answer(options, find_program(options.name))
    width = max(map(len, PROGRAMS))
    for name, program in PROGRAMS.items():
        print(f"{name:<{width}}  {program.summary}")
    print("\ncurta gallery NAME [INPUT]; for example: curta gallery parity 10110")
    return 0


def answer(options: Options, program: GalleryProgram) -> int:
    from curta.engine import load
    from curta.engine.model_cache import compile_cached
    from curta.engine.trace_file import save_trace

    options.check_save_trace(options.level)
    text = program.cases[0].input if options.input is None else options.input
    prompt = program.encode(text)
    started = time.perf_counter()
    engine = load(compile_cached(program.build(), program.max_tokens), options.level)
    ready = time.perf_counter()
    generated: list[str] = []
    try:
        for token in with_progress(engine.generate(prompt, options.max_new_tokens)):
            generated.append(token)
            if options.tokens:
                print(token, end=" ", flush=True)
    finally:  # what was said before an error is as right as ever
        finished = time.perf_counter()
        if options.save_trace is not None:
            note = shlex.join(["curta", "gallery", program.name, text])
            given = [1] * len(prompt) + [0] * len(generated)
            ids = engine.encode([*prompt, *generated])
            save_trace(options.save_trace, engine, ids, given, note=note)
    if options.tokens:
        print()
    if options.input is None:
        print(f"{program.name}: {text!r}")
    print(program.decode(generated))
    report = Report(options.level, len(prompt), len(generated), ready - started, finished - ready)
    options.tell(str(report), report)
    return 0


def with_progress(tokens: Iterable[str]) -> Iterator[str]:
    """Count the tokens on a terminal once a run takes long."""
    screen, started = Screen(), time.perf_counter()
    for count, token in enumerate(tokens, 1):
        yield token
        passed = time.perf_counter() - started if count % 4096 == 0 else 0
        if passed > SECONDS_BEFORE_PROGRESS:
            screen.draw(f"{count:,} tokens, {count / passed:,.0f} tok/s")
    screen.clear()
