"""The machine as users meet it.

machine = Machine()
run = machine.run("prog.c", stdin=b"...", args=["a"])
instance = machine.instantiate("prog.wasm")
instance.invoke("fib", 30)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, TypedDict, Unpack

from curta.engine import LEVELS, Engine, Level
from curta.errors import UserError
from curta.machine.conversation import Conversation, Figures, Host, Input, Limits
from curta.machine.instance import Instance
from curta.machine.load import load_program
from curta.machine.loaded import LoadedProgram
from curta.machine.program import Segment
from curta.machine.talkers import NativeTalker, ReferenceTalker, SessionTalker, Talker
from curta.machine.toolchain import Watcher, read_program
from curta.machine.trace import Trace

MachineLevel = Level | Literal["reference"]
MACHINE_LEVELS: tuple[MachineLevel, ...] = (*LEVELS, "reference")
Program = str | Path | bytes | Sequence[str | Path]
"""A file, several files of C or C++, or the bytes of a module."""
DEFAULT_LIMITS = Limits()
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


class RunOptions(TypedDict, total=False):
    """How a program is run; all of it can be left out."""

    stdin: Input
    """All of the input, or a binary file that is read byte by byte as the program asks."""
    args: Sequence[str | bytes]
    env: Mapping[str, str] | None
    name: str | None
    """What the program is told that it is called; by default the name of its file."""
    cflags: Sequence[str]
    """For the C compiler, after its own."""
    seed: int | None
    """Of the random numbers that the program can ask for."""
    on_stdout: Callable[[bytes], object] | None
    """Gets the output as it comes; it is kept too."""
    on_stderr: Callable[[bytes], object] | None
    on_progress: Callable[[Figures], object] | None
    """Told every now and then how far the run has come."""
    max_tokens: int | None
    """The longest conversation, the prompt included; by default what the certificate covers."""
    max_memory: int
    """The most pages of 64 KiB: growing beyond fails. By default 16,384, which is 1 GiB."""
    keep_trace: bool
    """Four bytes per token, unless it is False."""
    watcher: Watcher | None
    """Told how the compilation of C goes."""


class Machine:
    """One fixed set of weights, built once and cached, that runs any program.

    `level` says how: "native" (generated C), "hull", "plain", "evaluate", or "reference", which is
    no transformer but the plain Python machine that says the same tokens.
    """

    def __init__(self, level: MachineLevel = "native") -> None:
        if level not in MACHINE_LEVELS:
            raise UserError(f"level={level!r}: expected one of {', '.join(MACHINE_LEVELS)}")
        self.level = level

    @cached_property
    def engine(self) -> Engine:
        """The weights, ready to run."""
        from curta.machine.weights import load_machine

        if self.level == "reference":
            raise UserError("level 'reference' has no weights; take another level")
        return load_machine(self.level)

    def talker(self) -> Talker:
        """A new conversation's other side."""
        if self.level == "reference":
            return ReferenceTalker()
        from curta.engine.native import NativeSession

        session = self.engine.session()
        return (
            NativeTalker(session) if isinstance(session, NativeSession) else SessionTalker(session)
        )

    # -- what users call ---------------------------------------------

    def run(self, program: Program, **options: Unpack[RunOptions]) -> Run:
        """Run a program from its start to its end.

        Raises Trap if it traps, LimitError at a limit.
        """
        instance = self.begin(program, **options)
        code = instance.run()
        return Run(instance.stdout, instance.stderr, code, instance.figures, instance.trace)

    def instantiate(self, program: Program, **options: Unpack[RunOptions]) -> Instance:
        """A program whose exported functions are invoked one by one.

        Of C and C++ all functions that are not static are exported. Limits hold for all
        invocations together.
        """
        instance = self.begin(program, library=True, **options)
        if CONSTRUCTORS in instance.exports:
            instance.invoke(CONSTRUCTORS)
        return instance

    def begin(
        self, program: Program, *, library: bool = False, **options: Unpack[RunOptions]
    ) -> Instance:
        """A conversation in which the program was said, and nothing was asked of it yet."""
        limits = Limits(
            options.get("max_tokens"),
            options.get("max_memory", DEFAULT_LIMITS.max_memory),
            options.get("keep_trace", True),
        )
        host = Host(
            options.get("stdin"),
            options.get("on_stdout"),
            options.get("on_stderr"),
            options.get("on_progress"),
        )
        loaded = self.load(
            program,
            cflags=options.get("cflags", ()),
            library=library,
            limits=limits,
            watcher=options.get("watcher"),
        )
        words = [options.get("name") or program_name(program), *options.get("args", ())]
        segments = host_segments(words, options.get("env") or {}, options.get("seed"))
        return self.start(loaded, host, limits, segments)

    # -- the steps ---------------------------------------------

    def load(
        self,
        program: Program,
        *,
        cflags: Sequence[str] = (),
        library: bool = False,
        limits: Limits = DEFAULT_LIMITS,
        watcher: Watcher | None = None,
    ) -> LoadedProgram:
        """Compile and lower a program; every step comes from a cache if it can."""
        if isinstance(program, bytes | bytearray):
            content = bytes(program)
        else:
            content = read_program(program, cflags, library=library, watcher=watcher)
        return load_program(content, limits.max_memory)

    def start(
        self,
        program: LoadedProgram,
        host: Host | None = None,
        limits: Limits = DEFAULT_LIMITS,
        segments: Sequence[Segment] = (),
    ) -> Instance:
        """Begin a conversation about a program: say it, and have it set itself up."""
        conversation = Conversation(self.talker(), program, host or Host(), limits)
        conversation.begin(segments)
        return Instance(conversation)


def program_name(program: Program) -> str:
    """What a program is told that it is called."""
    if isinstance(program, bytes | bytearray):
        return "program"
    first = program if isinstance(program, str | Path) else next(iter(program), "program")
    return os.path.basename(first)


def host_segments(
    args: Sequence[str | bytes], env: Mapping[str, str], seed: int | None
) -> Sequence[Segment]:
    """What the host puts into the private memory: arguments, environment, a seed."""
    from curta.machine.lower import host_segments as lowered_segments

    arguments = [_bytes(argument, "an argument") for argument in args]
    for name, value in env.items():
        if not name or "=" in name:
            raise UserError(f"{name!r} is no name for an environment variable")
        _bytes(value, f"the environment variable {name}")
    environment = [_bytes(f"{name}={value}", "the environment") for name, value in env.items()]
    segments: Sequence[Segment] = lowered_segments(arguments, environment, seed)
    return segments


def _bytes(text: str | bytes, what: str) -> bytes:
    if not isinstance(text, str | bytes):
        raise UserError(f"{what} is {text!r}, expected text or bytes")
    content = os.fsencode(text)
    if b"\0" in content:
        raise UserError(f"{what} has a zero byte in it: {text!r}")
    return content
