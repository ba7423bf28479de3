"""`curta explore`: a run as a page."""

from __future__ import annotations

import os
import tempfile
import webbrowser
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from curta.errors import UserError
from curta.machine.request import Request
from curta.options import option

if TYPE_CHECKING:
    from curta.explore.program import Asked

GRAPH_SUFFIX = ".py"
OF_PROGRAMS = (
    *("invoke", "env", "max_tokens", "chapter_tokens", "stdin", "stdin_file", "cflags"),
    *("max_memory", "extension", "unproved"),
)
"""Options that are not for graphs and trained models."""


@dataclass(frozen=True)
class Options(Request):
    """Write a page in which a run can be looked at, token by token: one file, without a server. The
    program is one that `curta run` takes; or the name of a gallery program, with its input; or a
    Python file with a function build() that returns a graph, with tokens; or the folder of a run of
    `curta learn`, with a question (--seed picks one of its models).

    output: the page (without it, one is written and opened in the browser)
    """

    output: str | None = option(None, short="-o", metavar="OUT.html")


def run(options: Options) -> int:
    """Write the page, and show it."""
    page = page_of(options)
    if options.output is not None:
        write(Path(options.output), page)
        print(options.output)
        return 0
    folder = Path(tempfile.mkdtemp(prefix="curta-explore-"))
    name = os.path.basename(options.program[0]) or "page"
    path = folder / f"{name}.html"
    write(path, page)
    print(path)
    webbrowser.open(path.as_uri())
    return 0


def write(path: Path, page: str) -> None:
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise UserError(f"-o {path}: {(error.strerror or str(error)).lower()}") from error


def page_of(options: Options) -> str:
    """The page of a program, or of a graph."""
    first = options.program[0]
    from curta.gallery import PROGRAMS

    if first in PROGRAMS or first.endswith(GRAPH_SUFFIX):
        refuse_options(options, "a graph", "seed")
        from curta.explore.graphs import explored_graph
        from curta.explore.pages import graph_page

        return graph_page(explored_graph(first, options.arguments))
    if os.path.isdir(first):
        from curta.explore.pages import graph_page

        return graph_page(learned(options))
    from curta.explore.engine import engine_module
    from curta.explore.pages import machine_page
    from curta.explore.program import ExploredProgram

    asked = asked_of(options)
    return machine_page(ExploredProgram(asked).data(), engine_module(asked.extensions))


def refuse_options(options: Options, what: str, *names: str) -> None:
    """Those that mean something to programs of the machine only."""
    from curta.machine import requested

    for flag in requested.given(options, *OF_PROGRAMS, *names):
        raise UserError(f"{flag} is for programs that the machine runs, not for {what}")


def learned(options: Options) -> dict[str, Any]:
    """A trained model, asked something."""
    run, questions = options.program[0], options.arguments
    refuse_options(options, "a trained model")
    try:
        from curta.learn.commands.shared import keep_compiled_programs, picked_model
        from curta.learn.inside.question import explored_question
    except ImportError as error:
        raise UserError(f"{run}: a trained model needs pip install 'curta[learn]'") from error
    if len(questions) != 1:
        raise UserError(f"{run}: give one question, as curta learn ask takes it: 57+24=")
    keep_compiled_programs()
    return explored_question(*picked_model(run, options.seed, questions[0]), questions[0])


def asked_of(options: Options) -> Asked:
    """What is to be run in the page."""
    from curta.explore.program import Asked
    from curta.machine import requested
    from curta.machine.toolchain import split_flags

    if requested.is_baked(options):
        raise UserError(
            f"{options.program[0]} is a file of weights, and a page makes its own: give the "
            "program that was baked or built, or the folder of a run of curta learn"
        )
    for flag in requested.given(options, "max_tokens", "chapter_tokens"):
        raise UserError(f"{flag}: a page has one chapter, of up to 66,977,792 tokens; leave it out")
    extensions = requested.extensions_of(options.extension)
    return Asked(
        options.program,
        options.arguments,
        options.invoke,
        stdin_of(options),
        tuple(map(requested.assignment, options.env)),
        options.seed,
        tuple(split_flags(options.cflags)),
        options.max_memory,
        tuple(sorted(extensions, key=lambda one: one.name)),
        not options.unproved,
    )


def stdin_of(options: Options) -> bytes:
    """All of the input: it is part of the page."""
    if not options.is_given:
        return b""
    with options.opened() as stdin:
        if stdin is None or isinstance(stdin, bytes | bytearray | memoryview):
            return bytes(stdin or b"")
        return stdin.read(1 << 24) or b""
