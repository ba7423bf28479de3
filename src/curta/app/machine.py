"""`curta run` and `curta disasm`: programs on the machine."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from curta.app.save_trace import check_save_trace
from curta.errors import ProgramError, Trap, UserError
from curta.machine.conversation import Conversation, Figures, Input
from curta.machine.instance import Instance
from curta.machine.kept.journal import command, is_journal
from curta.machine.listing import executed
from curta.machine.machine import Machine
from curta.machine.run import MachineLevel, RunOptions, TalkOptions
from curta.machine.toolchain import Watcher, read_program, split_flags
from curta.machine.trace_file import save_conversation
from curta.machine.values import parse_number, show

if TYPE_CHECKING:
    from curta.machine.bake import BakedMachine
    from curta.machine.extensions import Extension

SUFFIX = ".safetensors"
"""What the name of a baked program ends in."""
QUIET_SECONDS = 1.0
"""How long a program may be silent before progress is shown."""
BETWEEN_SECONDS = 0.2


def run(options: argparse.Namespace) -> int:
    """Run a program, or invoke one of its functions, and show the figures."""
    if is_journal(path := options.program[0]):
        raise UserError(
            f"{path} is a run that was kept: `{command('resume', path)}` goes on with it, "
            f"`{command('verify', path)}` checks it"
        )
    with standard_input(options) as stdin:
        if options.keep is None:
            if options.keep_tokens:
                raise UserError("--keep-tokens: say where the run is to be kept (--keep FILE)")
            return run_with(options, stdin)
        from curta.app.machine_keep import run_and_keep

        return run_and_keep(options, stdin)


def run_with(options: argparse.Namespace, stdin: Input) -> int:
    """The same with its input at hand."""
    check_save_trace(options)
    screen = Screen(show_output=not options.trace)
    started = time.perf_counter()
    code, failure, instance = 1, None, None
    conversations: list[Conversation] = []
    try:
        instance = begin(options, screen, stdin, conversations.append)
        if options.invoke is not None:
            for line in invoke(instance, options.invoke, options.arguments):
                screen.write(f"{line}\n".encode())
            code = 0
        else:
            code = instance.run()
    except ProgramError as error:
        failure = error
    elapsed = time.perf_counter() - started
    screen.clear()
    if options.trace and instance is not None:
        for line in executed(instance.conversation.program, instance.conversation.said()):
            print(line)
    if options.save_trace is not None:
        invoked = [] if options.invoke is None else ["--invoke", options.invoke]
        note = shlex.join(["curta", "run", *invoked, *options.program, *options.arguments])
        for conversation in conversations:  # none if the program could not be loaded
            save_conversation(options.save_trace, conversation, note)
    if failure is not None:
        what = "trap" if isinstance(failure, Trap) else "curta"
        print(f"{what}: {failure}", file=sys.stderr)
    show_figures(options, screen.figures, elapsed, code, failure)
    return code if 0 <= code < 256 else 1


def begin(
    options: argparse.Namespace,
    screen: Screen,
    stdin: Input,
    on_start: Callable[[Conversation], object],
) -> Instance:
    """The conversation, up to where the program can be run or invoked."""
    settings = run_options(options, screen, stdin)
    settings["on_start"] = on_start
    if is_baked(options.program):
        talk = talk_options(options, settings)
        baked = open_baked(options, options.level)
        screen.building("reading the weights")
        return baked.begin(**talk) if options.invoke is None else baked.instantiate(**talk)
    machine = Machine(options.level, extensions=chosen(options), on_pass=screen.building)
    if options.invoke is not None:
        return machine.instantiate(options.program, **settings)
    settings["args"] = options.arguments
    return machine.begin(options.program, **settings)


def run_options(options: argparse.Namespace, screen: Screen, stdin: Input) -> RunOptions:
    """What the command line says about a run."""
    settings: RunOptions = {
        "stdin": stdin,
        "env": dict(assignment(text) for text in options.env),
        "cflags": split_flags(options.cflags),
        "seed": options.seed,
        "on_stdout": screen.write,
        "on_stderr": screen.write_error,
        "on_progress": screen.progress,
        "max_tokens": options.max_tokens,
        "chapter_tokens": options.chapter_tokens,
        "keep_trace": options.trace or options.save_trace is not None,
        "watcher": screen.watcher,
        "prove": not options.unproved,
    }
    if options.max_memory is not None:
        settings["max_memory"] = options.max_memory
    return settings


def is_baked(programs: list[str]) -> bool:
    """Is it a model file, by its name?"""
    return programs[0].lower().endswith(SUFFIX)


def open_baked(options: argparse.Namespace, level: MachineLevel) -> BakedMachine:
    """The machine in the file that the command line names."""
    from curta.machine.bake import load_baked

    if len(options.program) > 1:
        raise UserError(f"{options.program[0]} is a whole program; name no other file")
    for name in ("cflags", "max_memory"):
        if getattr(options, name, None):
            raise UserError(
                f"--{name.replace('_', '-')}: {options.program[0]} is in the weights, and that was "
                "decided when it was baked; give it to `curta bake`"
            )
    prove = not getattr(options, "unproved", False)
    return load_baked(options.program[0], level, chosen(options), prove=prove)


def talk_options(options: argparse.Namespace, settings: RunOptions) -> TalkOptions:
    """What remains to be said about a run once the program is in the weights."""
    talk: TalkOptions = {"args": () if getattr(options, "invoke", None) else options.arguments}
    for name in TalkOptions.__annotations__:
        if name in settings:
            talk[name] = settings[name]  # type: ignore[literal-required]
    return talk


def chosen(options: argparse.Namespace) -> list[Extension]:
    """The extensions that the command line asks for; a module may lie in this folder."""
    from curta.machine.extensions import find_extension

    sys.path.insert(0, os.getcwd())
    try:
        return [find_extension(text) for text in options.extension]
    finally:
        sys.path.pop(0)


@contextmanager
def standard_input(options: argparse.Namespace) -> Iterator[Input]:
    """The text, the file, or what curta itself is given.

    Files are read as the program asks for their bytes: they may have no end.
    """
    if options.stdin is not None and options.stdin_file is not None:
        raise UserError("--stdin and --stdin-file: give one of them")
    if options.stdin is not None:
        text = os.fsencode(options.stdin)
        yield text if text.endswith(b"\n") or not text else text + b"\n"
    elif options.stdin_file is not None:
        try:
            file = open(options.stdin_file, "rb")  # noqa: SIM115 (errors of the program are not its)
        except OSError as error:
            raise UserError(f"--stdin-file {options.stdin_file}: {error.strerror}") from error
        with file:
            yield file
    else:
        yield sys.stdin.buffer if sys.stdin is not None else b""


def assignment(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise UserError(f"--env {text}: expected NAME=VALUE")
    return name, value


def invoke(instance: Instance, name: str, arguments: list[str]) -> list[str]:
    """Call a function with numbers as text; its results as text."""
    result = instance.invoke(name, *numbers_for(instance, name, arguments))
    results = result if isinstance(result, tuple) else () if result is None else (result,)
    return [show(number) for number in results]


def numbers_for(instance: Instance, name: str, arguments: list[str]) -> list[Any]:
    """What somebody wrote, by the types of the function; what is too much remains text."""
    if name not in instance.exports:
        instance.invoke(name)  # says what there is
    types = instance.exports[name].parameters
    numbers: list[Any] = [
        parse_number(text, type_, f"argument {place} of {name}")
        for place, (text, type_) in enumerate(zip(arguments, types, strict=False), 1)
    ]
    return [*numbers, *arguments[len(types) :]]


class Screen:
    """Where output goes as it comes; when there is none, how far the run has come."""

    def __init__(self, *, show_output: bool = True) -> None:
        self.figures = Figures()
        self.show_output = show_output
        self.line = ""
        self.heard = self.drawn = time.perf_counter()
        self.terminal = sys.stderr is not None and sys.stderr.isatty()
        self.watcher = Watcher(self.compiling, self.warned)

    def write(self, content: bytes) -> None:
        self.clear()
        self.heard = time.perf_counter()
        if self.show_output:
            write(sys.stdout, content)

    def write_error(self, content: bytes) -> None:
        self.clear()
        self.heard = time.perf_counter()
        if self.show_output:
            write(sys.stderr, content)

    def progress(self, figures: Figures) -> None:
        self.figures = figures
        if time.perf_counter() - self.heard > QUIET_SECONDS:
            self.draw(figures_text(figures))

    def compiling(self, seconds: float) -> None:
        hint = "" if seconds < 3 else " (the first time, libraries too: half a minute or so)"
        if seconds > QUIET_SECONDS / 2:
            self.draw(f"compiling{hint} {seconds:.0f} s")

    def building(self, name: str) -> None:
        """The machine is made ready, which takes long the first time."""
        self.drawn = 0.0
        self.draw(f"preparing the machine, the first time: {name}")

    def warned(self, text: str) -> None:
        self.clear()
        print(text, file=sys.stderr)

    def draw(self, line: str) -> None:
        """Write the line over the last one."""
        now = time.perf_counter()
        if not self.terminal or now - self.drawn < BETWEEN_SECONDS:
            return
        self.drawn = now
        print("\r" + line.ljust(len(self.line)), end="", file=sys.stderr, flush=True)
        self.line = line

    def clear(self) -> None:
        if self.line:
            print("\r" + " " * len(self.line) + "\r", end="", file=sys.stderr, flush=True)
            self.line = ""


def write(stream: Any, content: bytes) -> None:
    """Bytes as they are, at once."""
    raw = getattr(stream, "buffer", None)
    if raw is None:
        stream.write(content.decode(errors="replace"))
    else:
        stream.flush()
        raw.write(content)
    stream.flush()


# -- figures ---------------------------------------------


def tokens_text(figures: Figures) -> str:
    """How long the conversation is, and who said what."""
    if figures.chapters == 1:
        return f"{figures.tokens:,} tokens ({figures.prompt_tokens:,} of them the program)"
    remedy = "; fewer with longer ones" if 2 * figures.prompt_tokens > figures.tokens else ""
    return (
        f"{figures.tokens:,} tokens ({figures.prompt_tokens:,} of them openings of "
        f"{figures.chapters:,} chapters{remedy})"
    )


def figures_text(figures: Figures) -> str:
    seconds = max(figures.seconds, 1e-9)
    return (
        f"{tokens_text(figures)} in {figures.seconds:.2f} s, "
        f"{figures.tokens / seconds:,.0f} tok/s; {figures.instructions:,} core instructions, "
        f"{figures.instructions / seconds:,.0f} a second; {figures.memory_bytes / 2**20:,.1f} MiB"
        f"{known_text(figures)}"
    )


def known_text(figures: Figures) -> str:
    """How much was said by code that knows the program, if any was."""
    if not figures.placed:
        return ""
    return f"; {figures.placed / figures.generated:.0%} by code that knows the program"


def show_figures(
    options: argparse.Namespace,
    figures: Figures,
    elapsed: float,
    code: int,
    failure: ProgramError | None,
) -> None:
    if options.stats == "none":
        return
    if options.stats == "text":
        print(figures_text(figures), file=sys.stderr)
        return
    seconds = max(figures.seconds, 1e-9)
    said = {
        "level": options.level,
        "prompt_tokens": figures.prompt_tokens,
        "tokens": figures.tokens,
        "chapters": figures.chapters,
        "core_instructions": figures.instructions,
        "seconds": figures.seconds,
        "tokens_per_second": figures.tokens / seconds,
        "core_instructions_per_second": figures.instructions / seconds,
        "memory_bytes": figures.memory_bytes,
        "placed_tokens": figures.placed,
        "elapsed_seconds": elapsed,
        "exit_code": code,
        "failure": None if failure is None else str(failure),
    }
    print(json.dumps(said), file=sys.stderr)


# -- disassembly ---------------------------------------------


def disasm(options: argparse.Namespace) -> int:
    """Print WebAssembly beside core instructions beside tokens."""
    from curta.machine.listing import disassembly, proof_lines
    from curta.machine.load import load_program, prove_program
    from curta.machine.run import DEFAULT_LIMITS
    from curta.machine.wasm import decode

    if is_baked(options.program):
        if options.proof:
            raise UserError(
                "--proof: the module of a baked program is not known; give what was baked"
            )
        for line in disassembly(open_baked(options, "native").program, None):
            print(line)
        return 0
    watcher = Screen().watcher
    flags = split_flags(options.cflags)
    content = read_program(options.program, flags, library=options.library, watcher=watcher)
    pages, extensions = DEFAULT_LIMITS.max_memory, chosen(options)
    if options.proof:
        verdicts = prove_program(content, pages, extensions)
        for line in proof_lines(verdicts):
            print(line)
        return int(any(verdict.refused is not None for verdict in verdicts))
    program = load_program(content, pages, extensions, prove=False)
    for line in disassembly(program, decode(content)):
        print(line)
    return 0
