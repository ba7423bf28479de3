"""What can be asked of a machine, all of it: which program, how it is made ready, what it is given.

These are the options of commands, and what is done with them is in `requested.py`, which imports
the machine; this does not.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Literal

from curta.errors import UserError
from curta.options import option, rest, word

if TYPE_CHECKING:
    from curta.machine.standard_input import Input

DEFAULT_PAGES = 16_384
"""1 GiB."""
LevelName = Literal["native", "hull", "plain", "speculative", "evaluate", "reference"]
"""As `MachineLevel` in `run.py`."""
ReplayLevel = Literal["plain", "hull"]


def files_of(words: Sequence[str]) -> int:
    """How many of these words are the program: one, or as many files of C or C++ as are there."""
    if not words or not is_source(words[0]):
        return 1
    return 1 + len(
        list(takewhile(lambda name: is_source(name) and os.path.isfile(name), words[1:]))
    )


def is_source(name: str) -> bool:
    """Is it C or C++, by its name?"""
    from curta.machine.toolchain import SOURCE_SUFFIXES

    return name.lower().endswith(SOURCE_SUFFIXES)


@dataclass(frozen=True)
class ProgramOptions:
    """Which program it is.

    program:   a file .c .cc .cpp .cxx (or several), .zig .rs .wat .wasm, or .safetensors from curta
               bake
    extension: an operation that the machine has in addition: one of curta's own (byte_swap), or
               module:NAME; can be given repeatedly
    cflags:    for the compiler, as one word: '-O3 -DN=8'
    """

    program: tuple[str, ...] = word("PROG")
    extension: tuple[str, ...] = option((), metavar="NAME")
    cflags: str = option("", metavar="FLAGS")


@dataclass(frozen=True)
class Loading(ProgramOptions):
    """How it is made ready.

    unproved:   even if it is not proved that the program does what its WebAssembly does
    max_memory: pages of 64 KiB, the most that the program's memory grows to
    """

    unproved: bool = False
    max_memory: int = option(DEFAULT_PAGES, metavar="PAGES")


@dataclass(frozen=True)
class StandardInput:
    """What a program reads.

    stdin:      a line of input (a newline is added)
    stdin_file: a file with the input
    """

    stdin: str | None = option(None, metavar="TEXT")
    stdin_file: str | None = option(None, metavar="FILE")

    @property
    def is_given(self) -> bool:
        return self.stdin is not None or self.stdin_file is not None

    @contextmanager
    def opened(self) -> Iterator[Input]:
        """The text, the file, or what this process itself is given.

        Files are read as the program asks for their bytes: they may have no end.
        """
        from curta.machine.standard_input import Alone

        if self.stdin is not None and self.stdin_file is not None:
            raise UserError("--stdin and --stdin-file: give one of them")
        if self.stdin is not None:
            text = os.fsencode(self.stdin)
            yield text if text.endswith(b"\n") or not text else text + b"\n"
        elif self.stdin_file is not None:
            try:
                file = open(self.stdin_file, "rb")  # noqa: SIM115 (errors of the program are not its)
            except OSError as error:
                raise UserError(f"--stdin-file {self.stdin_file}: {error.strerror}") from error
            with file:
                yield Alone(file)
        elif sys.stdin is None:
            yield b""
        else:
            given = sys.stdin.buffer
            yield Alone(given) if isinstance(given, io.BufferedReader) else given


@dataclass(frozen=True)
class Request(StandardInput, Loading):
    """What it is to do, and with what.

    arguments:      of the program, behind it
    invoke:         call this function with numbers, the arguments, and print its results
    env:            NAME=VALUE, for the program; can be given repeatedly
    max_tokens:     where the run ends at the latest (nowhere)
    chapter_tokens: how long chapters are, behind their openings, which say program and state again
                    (512 times as long as their openings, if the machine may go on for so long);
                    short ones can be read by softmax
    seed:           of the program's random numbers
    """

    arguments: tuple[str, ...] = rest("ARG", files_of)
    invoke: str | None = option(None, metavar="NAME")
    env: tuple[str, ...] = option((), metavar="NAME=VALUE")
    max_tokens: int | None = None
    chapter_tokens: int | None = None
    seed: int | None = None


@dataclass(frozen=True)
class Replay:
    """How a run is verified.

    level:   PyTorch softmax (for conversations of up to 20,000 tokens) or hull caches (for longer
             ones)
    jobs:    so many processes replay
    cluster: a Ray cluster replays (extra cluster)
    sample:  replay so many chapters only, drawn at random
    tokens:  replay the first ones only, the program included (all of them)
    """

    level: ReplayLevel | None = None
    jobs: int = 1
    cluster: bool = False
    sample: int | None = None
    tokens: int | None = None

    def __post_init__(self) -> None:
        for name in ("tokens", "jobs", "sample"):
            number = getattr(self, name)
            if number is not None and number < 1:
                raise UserError(f"--{name} {number}: expected at least 1")
        if self.cluster and self.jobs != 1:
            raise UserError("--jobs, --cluster: give one of them")
        if self.sample is not None and self.tokens is not None:
            raise UserError("--sample, --tokens: give one of them")
