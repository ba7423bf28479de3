"""`curta run`: a program on the machine."""

from __future__ import annotations

import shlex
import time
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from curta.app.figures import Report, Shown, tell_end
from curta.app.save_trace import SaveTrace
from curta.errors import ProgramError, Trap, UserError
from curta.machine.request import LevelName, Request
from curta.options import option
from curta.terminal import Screen, telling

if TYPE_CHECKING:
    from curta.machine.conversation import Conversation
    from curta.machine.instance import Instance
    from curta.machine.loaded import LoadedProgram
    from curta.machine.standard_input import Input

__all__ = ["Options", "Report", "run"]


@dataclass(frozen=True)
class Options(Shown, SaveTrace, Request):
    """Run a program of C, C++, Zig, Rust or WebAssembly inside the transformer. Options stand
    before the program or behind it; words that curta does not know, and everything behind --, are
    the program's. Its output goes to the standard output, then one line of figures to the standard
    error; its exit code is passed on, a trap exits 1.

    level:       generated C, hull caches, PyTorch softmax, exact arithmetic; or the machine in
                 plain Python, without weights
    trace:       print, instead of the output, every instruction with the tokens that it said
    keep:        keep the run in this file: `curta resume FILE` goes on
    keep_tokens: its tokens, too: two bytes for each
    """

    level: LevelName = "native"
    trace: bool = False
    keep: str | None = option(None, metavar="FILE")
    keep_tokens: bool = False


def run(options: Options) -> int:
    """Run a program, or invoke one of its functions, and show the figures."""
    from curta.machine.kept.journal import command, is_journal

    if is_journal(path := options.program[0]):
        raise UserError(
            f"{path} is a run that was kept: `{command('resume', path)}` goes on with it, "
            f"`{command('verify', path)}` checks it"
        )
    with options.opened() as stdin:
        if options.keep is None:
            if options.keep_tokens:
                raise UserError("--keep-tokens: say where the run is to be kept (--keep FILE)")
            return run_with(options, stdin)
        from curta.app.keep import run_and_keep

        return run_and_keep(options, stdin)


def run_with(options: Options, stdin: Input) -> int:
    """The same with its input at hand."""
    options.check_save_trace(options.level, options.program)
    screen = Screen(show_output=not options.trace)
    started = time.perf_counter()
    code, failure = 1, None
    conversations: list[Conversation] = []
    try:
        code = converse(options, screen, stdin, conversations)
    except ProgramError as error:
        failure = error
    elapsed = time.perf_counter() - started
    screen.clear()
    for conversation in conversations:  # none if the program could not be loaded
        write_down(options, conversation)
    calls = []
    if isinstance(failure, Trap) and failure.calls and options.stats == "text":
        calls = calls_of(options, conversations[0].program, failure.calls)
    return tell_end(options, options.level, screen.reached, elapsed, code, failure, calls=calls)


def calls_of(options: Options, program: LoadedProgram, calls: tuple[int, ...]) -> list[str]:
    """Who called whom when it trapped, with lines of C where they can be read."""
    from curta.explore.backtrace import lines_of
    from curta.explore.program import Asked
    from curta.machine import requested
    from curta.machine.toolchain import split_flags

    asked = Asked(
        options.program,
        invoke=options.invoke,
        flags=tuple(split_flags(options.cflags)),
        max_memory=options.max_memory,
        extensions=tuple(requested.extensions_of(options.extension)),
        prove=False,
    )
    return lines_of(asked, program, calls)


def converse(
    options: Options, screen: Screen, stdin: Input, conversations: list[Conversation]
) -> int:
    """From the program's beginning to its end; its exit code."""
    from curta.machine import requested

    machine = requested.machine_of(options, options.level, screen)
    settings = requested.run_options(options, stdin) | requested.told(screen)
    settings["on_start"] = conversations.append
    settings["keep_trace"] = options.trace or options.save_trace is not None
    is_fast = options.level in ("native", "reference")
    what = f"reading the program at level {options.level}, which takes minutes if it is long"
    with nullcontext() if is_fast else telling(what):
        instance: Instance = requested.begin(options, machine, settings)
    if options.invoke is None:
        return instance.run()
    for line in requested.results(options, instance):
        screen.write(f"{line}\n".encode())
    return 0


def write_down(options: Options, conversation: Conversation) -> None:
    """What was said, on the screen or in a file."""
    if options.trace:
        from curta.machine.listing import executed

        for line in executed(conversation.program, conversation.said()):
            print(line)
    if options.save_trace is not None:
        from curta.machine.trace_file import save_conversation

        invoked = [] if options.invoke is None else ["--invoke", options.invoke]
        note = shlex.join(["curta", "run", *invoked, *options.program, *options.arguments])
        save_conversation(options.save_trace, conversation, note)
