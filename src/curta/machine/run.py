"""Runs: what can be asked for, how a conversation begins, and what comes of it.

The same for a program that the prompt says, and for one that the weights are.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypedDict

from curta.engine import LEVELS, Engine, Level
from curta.errors import UserError
from curta.machine import layout
from curta.machine.conversation import Conversation, ConversationLimits, Figures
from curta.machine.core_program import Segment
from curta.machine.host import Host
from curta.machine.instance import Instance
from curta.machine.loaded import LoadedProgram
from curta.machine.standard_input import Input, Readable
from curta.machine.talkers import SessionTalker, Talker
from curta.machine.toolchain import Watcher
from curta.machine.trace import Trace

MachineLevel = Level | Literal["reference"]
MACHINE_LEVELS: tuple[MachineLevel, ...] = (*LEVELS, "reference")
ProgramSource = str | Path | bytes | Sequence[str | Path]
"""A file, several files of C or C++, or the bytes of a module."""
DEFAULT_LIMITS = ConversationLimits()
CONSTRUCTORS = "_initialize"


@dataclass(frozen=True, slots=True)
class Run:
    """What a program did."""

    stdout: bytes
    stderr: bytes
    exit_code: int
    figures: Figures
    trace: Trace = field(repr=False)

    @property
    def tokens(self) -> int:
        """Tokens of the whole conversation, the prompt with the program included."""
        return self.figures.tokens

    @property
    def seconds(self) -> float:
        """Reading the prompt and generating, without waiting for input."""
        return self.figures.seconds


class TalkOptions(TypedDict, total=False):
    """How a program is run; all of it can be left out."""

    stdin: Input
    """All of the input, or a binary file that is read byte by byte as the program asks."""
    args: Sequence[str | bytes]
    env: Mapping[str, str] | None
    name: str | None
    """What the program is told that it is called; by default the name of its file."""
    seed: int | None
    """Of the random numbers that the program can ask for."""
    on_stdout: Callable[[bytes], object] | None
    """Gets the output as it comes; it is kept too."""
    on_stderr: Callable[[bytes], object] | None
    on_progress: Callable[[Figures], object] | None
    """Told every now and then how far the run has come."""
    on_start: Callable[[Conversation], object] | None
    """Gets the conversation before anything is said in it: how to have one that never gets far."""
    max_tokens: int | None
    """Where the run ends at the latest, the prompt included, openings of later chapters not; by
    default nowhere.
    """
    chapter_tokens: int | None
    """How long chapters are, behind their openings; by default that depends on the openings."""
    keep_trace: bool
    """Four bytes per token, unless it is False."""


class LoadOptions(TypedDict, total=False):
    """How a program is compiled and lowered."""

    cflags: Sequence[str]
    """For the C compiler, after its own."""
    max_memory: int
    """The most pages of 64 KiB: growing beyond fails. By default 16,384, which is 1 GiB."""
    watcher: Watcher | None
    """Told how the compilation of C goes."""
    prove: bool
    """Refuse a program unless it is proved that its core instructions do what its module does: so
    it is, unless this is False.
    """


class RunOptions(TalkOptions, LoadOptions, total=False):
    """Both."""


def check_options(options: Mapping[str, object], known: type) -> None:
    """Refuse options of other names, and what would be taken for something else than was meant."""
    names = known.__annotations__
    for name in options:
        if name not in names:
            import difflib

            close = difflib.get_close_matches(name, names, 1, 0.4)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise TypeError(f"unexpected option {name!r}{hint} (there are {', '.join(names)})")
    for name in ("args", "cflags"):
        if isinstance(given := options.get(name, ()), str | bytes):
            raise UserError(f"{name}={given!r}: expected a list of texts, such as [{given!r}]")
    seed = options.get("seed")
    if not isinstance(seed, int | None):
        raise UserError(f"seed={seed!r}: expected a whole number")
    stdin = options.get("stdin")
    if isinstance(stdin, str):
        raise UserError("stdin is a text: give bytes, such as text.encode()")
    if not (stdin is None or isinstance(stdin, bytes | bytearray | memoryview | Readable)):
        raise UserError(f"stdin={stdin!r}: expected bytes, or a file that is open for reading them")
    if isinstance(stdin, io.TextIOBase):
        raise UserError('stdin is a file of text: open it with mode "rb", or give its .buffer')
    if not isinstance(env := options.get("env") or {}, Mapping):
        raise UserError(f"env={env!r}: expected a mapping, such as {{'NAME': 'value'}}")


def check_program(program: object) -> None:
    """Refuse what is no program at all."""
    if isinstance(program, str | Path | bytes | bytearray):
        return
    if not isinstance(program, Sequence) or not program:
        raise UserError(
            f"the program is {program!r}: expected a path, paths, or the bytes of a module"
        )


Begins = Callable[[LoadedProgram, Host, ConversationLimits, Sequence[Segment]], Instance]
"""How a conversation is begun: whoever it is that talks."""


def converse(
    begins: Begins,
    program: LoadedProgram,
    name: str,
    options: TalkOptions,
    max_memory: int = DEFAULT_LIMITS.max_memory,
) -> Instance:
    """Begin a conversation about a program: say it, and have it set itself up."""
    limits = ConversationLimits(
        options.get("max_tokens"),
        options.get("chapter_tokens"),
        max_memory,
        options.get("keep_trace", True),
    )
    words = [options.get("name") or name, *options.get("args", ())]
    segments = host_segments(words, options.get("env") or {}, options.get("seed"))
    return begins(program, host_of(options), limits, segments)


def host_of(options: TalkOptions) -> Host:
    """What the options say about the world outside."""
    return Host(
        options.get("stdin"),
        options.get("on_stdout"),
        options.get("on_stderr"),
        options.get("on_progress"),
        on_start=options.get("on_start"),
    )


def start(
    talker: Talker,
    program: LoadedProgram,
    host: Host | None = None,
    limits: ConversationLimits = DEFAULT_LIMITS,
    segments: Sequence[Segment] = (),
) -> Instance:
    """The same with everything made already."""
    conversation = Conversation(talker, program, host or Host(), limits)
    conversation.begin(segments)
    return Instance(conversation)


def talker_of(engine: Engine) -> Talker:
    """A new conversation's other side."""
    return SessionTalker(engine.session())


def run_to_end(instance: Instance) -> Run:
    """Run a program that was said."""
    code = instance.run()
    return Run(instance.stdout, instance.stderr, code, instance.figures, instance.trace)


def constructed(instance: Instance) -> Instance:
    """A library, after what C++ does before its functions may be called."""
    if CONSTRUCTORS in instance.exports:
        instance.invoke(CONSTRUCTORS)
    return instance


def program_name(program: ProgramSource) -> str:
    """What a program is told that it is called."""
    if isinstance(program, bytes | bytearray):
        return "program"
    first = program if isinstance(program, str | Path) else next(iter(program), "program")
    return os.path.basename(first)


def host_segments(
    args: Sequence[str | bytes], env: Mapping[str, str], seed: int | None
) -> Sequence[Segment]:
    """What the host puts into the private memory: arguments, environment, a seed."""
    arguments = [_bytes(argument, "an argument") for argument in args]
    for name, value in env.items():
        if not name or "=" in name:
            raise UserError(f"{name!r} is no name for an environment variable")
        _bytes(value, f"the environment variable {name}")
    environment = [_bytes(f"{name}={value}", "the environment") for name, value in env.items()]
    return layout.host_segments(arguments, environment, seed)


def _bytes(text: str | bytes, what: str) -> bytes:
    if not isinstance(text, str | bytes):
        raise UserError(f"{what} is {text!r}, expected text or bytes")
    content = os.fsencode(text)
    if b"\0" in content:
        raise UserError(f"{what} has a zero byte in it: {text!r}")
    return content
