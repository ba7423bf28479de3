"""The host's side of a conversation: it turns bytes into tokens and tokens into bytes.

The machine says `await.` when it wants the number of an entry or a word of an argument, `read.`
when it wants a byte of the standard input (0xFFFFFFFF stands for its end), and then the host
appends a word. Everything else that the machine says, the host only looks at: bytes of output,
how many instructions were done, and where the program is, so that a trap can be placed.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from curta.errors import CurtaError, ExitError, LimitError, ProgramError, Trap, UserError
from curta.machine.ids import (
    AWAIT_ID,
    DISTANCES,
    ENDING,
    EXIT_ID,
    FIRST_LAST,
    FIRST_OUTPUT,
    FIRST_TRAP,
    READ_ID,
    STOP_IDS,
    Ids,
    last_words,
    word_ids,
)
from curta.machine.instructions import TRAPS
from curta.machine.loaded import LoadedProgram
from curta.machine.program import INITIALISE, Segment
from curta.machine.talkers import NOTHING, Talker
from curta.machine.trace import Trace

END_OF_INPUT = 0xFFFFFFFF
TOKENS_PER_WORD = 3
COMPILED_MAIN = "__original_main"
"""What the C compiler calls a main without parameters."""


@runtime_checkable
class Readable(Protocol):
    """A binary file, as far as it is needed."""

    def read(self, size: int, /) -> bytes | None:
        """Up to so many bytes; none at the end."""


Input = bytes | bytearray | memoryview | Readable | None


@dataclass(frozen=True, slots=True)
class Figures:
    """How far a conversation has come. `tokens` are all of it, the prompt included."""

    prompt_tokens: int = 0
    tokens: int = 0
    instructions: int = 0
    """Core instructions that were executed."""
    seconds: float = 0.0
    """Without what was spent waiting for input."""
    memory_bytes: int = 0
    """Of the talker's state and the trace."""

    @property
    def generated(self) -> int:
        return self.tokens - self.prompt_tokens


@dataclass(frozen=True, slots=True)
class Host:
    """What a program can reach: its input, and who gets its output as it comes."""

    stdin: Input = None
    on_stdout: Callable[[bytes], object] | None = None
    on_stderr: Callable[[bytes], object] | None = None
    on_progress: Callable[[Figures], object] | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may use. None is as much as the certificate covers."""

    max_tokens: int | None = None
    max_memory: int = 16384
    """Pages of 64 KiB: 1 GiB."""
    keep_trace: bool = True

    def __post_init__(self) -> None:
        for name in ("max_tokens", "max_memory"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or value < 0):
                raise UserError(f"{name}={value!r}: expected a number that is not negative")


class Conversation:
    """One program, and all that was said since its prompt."""

    def __init__(self, talker: Talker, program: LoadedProgram, host: Host, limits: Limits) -> None:
        check_max_tokens(limits.max_tokens, talker.max_tokens)
        self.talker = talker
        self.program = program
        self.host = host
        self.limits = limits
        self.trace = Trace(program.tokens)
        self.stdout = bytearray()
        self.stderr = bytearray()
        self._input = _next_byte(host.stdin)
        self._tail = NOTHING
        self._tail_length = 64
        self._counter = 0
        self._tokens = self._prompt_tokens = self._instructions = 0
        self._seconds = self._waited = 0.0
        self._stop = -1
        self._failed: CurtaError | None = None
        self._is_invoked = False

    @property
    def figures(self) -> Figures:
        return Figures(
            self._prompt_tokens,
            self._tokens,
            self._instructions,
            self._seconds,
            self.talker.memory_bytes + self.trace.memory_bytes,
        )

    def said(self) -> Ids:
        """What was said since the prompt, as far as it was kept."""
        return self.trace.ids[self._prompt_tokens :]

    # -- what is said to the machine ---------------------------------------------

    def begin(self, segments: Iterable[Segment] = ()) -> None:
        """Say the program, and have it set itself up."""
        prompt = self.program.prompt(segments)
        self._prompt_tokens = len(prompt)
        self._turn(prompt, counted=False)
        try:
            self.invoke(INITIALISE)
        except ExitError as end:  # the start function ended the program
            self._failed = end

    def invoke(self, number: int, words: Sequence[int] = (), results: int = 0) -> list[int]:
        """Have an entry executed; the words that it said last are its results."""
        if self._failed is not None:
            raise self._failed
        if self._is_invoked:
            raise UserError("a function of this instance is being executed: it cannot be invoked")
        self._is_invoked = True
        try:
            return self._invoke(number, words, results)
        except (Trap, ExitError):
            raise
        except BaseException as error:
            self._failed = (
                error if isinstance(error, CurtaError) else ProgramError("the run was interrupted")
            )
            raise
        finally:
            self._is_invoked = False

    def _invoke(self, number: int, words: Sequence[int], results: int) -> list[int]:
        self._tail_length = max(64, TOKENS_PER_WORD * (results + 2))
        if self._stop != AWAIT_ID:  # it ended, and begins again by itself
            self._turn(NOTHING)
        wanted = deque([number, *words])
        while True:
            if self._stop == AWAIT_ID:
                if not wanted:
                    return last_words(self._tail[:-1], results)
                given = word_ids(wanted.popleft())
            elif self._stop == READ_ID:
                given = self._read()
            else:
                raise self._ended()
            self._turn(np.array(given, dtype=np.int32))

    def _read(self) -> list[int]:
        started = time.perf_counter()
        byte = self._input()
        self._waited += time.perf_counter() - started
        return word_ids(END_OF_INPUT) if byte < 0 else [FIRST_LAST + byte]

    def _ended(self) -> ProgramError:
        """Why the program stopped; the next invocation begins with a new frame."""
        counter, self._counter = self._counter, 0
        if self._stop == EXIT_ID:
            words = last_words(self._tail[:-1], 1)
            return ExitError(words[0] if words else 0)
        return Trap(TRAPS[self._stop - FIRST_TRAP], self._place(counter))

    def _place(self, counter: int) -> str:
        """The user's function that was executed last."""
        origin = self.program.origin(counter)
        if origin.library:
            origin = self.trace.last_origin(self.program, counter) or origin
        name = "main" if origin.function == COMPILED_MAIN else origin.function
        return f"in function ${name}" if not name.startswith("function ") else f"in {name}"

    # -- what the machine says ---------------------------------------------

    def _turn(self, given: Ids, *, counted: bool = True) -> None:
        """Say something, and listen until the machine hands over."""
        started, self._waited = time.perf_counter(), 0.0
        before = self._seconds
        self._note(given, counted=counted)
        for chunk in self.talker.talk(given, self._most()):
            self._note(chunk)
            self._pass_on(chunk)
            self._seconds = before + time.perf_counter() - started
            if self.host.on_progress is not None:
                self.host.on_progress(self.figures)
        self._stop = int(self._tail[-1])
        if self._stop not in STOP_IDS:
            raise self._too_long()

    def _most(self) -> int:
        limit = self.limits.max_tokens
        most = self.talker.max_tokens if limit is None else min(limit, self.talker.max_tokens)
        if most <= self._tokens:
            raise self._too_long()
        return most - self._tokens

    def _too_long(self) -> LimitError:
        limit, most = self.limits.max_tokens, self.talker.max_tokens
        if limit is not None and limit < most:
            return LimitError(
                f"the run reached its limit of {limit:,} tokens; allow more with max_tokens "
                f"(--max-tokens), up to {most:,}"
            )
        return LimitError(
            f"the run reached {most:,} tokens, the longest that the machine is certified for"
        )

    def _note(self, ids: Ids, *, counted: bool = True) -> None:
        self._tokens += len(ids)
        if self.limits.keep_trace:
            self.trace.append(ids)
        if counted and len(ids):
            self._counter += int(DISTANCES[ids].sum())
            self._instructions += int(np.count_nonzero(ENDING[ids]))
            keep = self._tail_length
            self._tail = ids[-keep:] if len(ids) >= keep else np.append(self._tail[-keep:], ids)

    def _pass_on(self, ids: Ids) -> None:
        """Bytes of output, to those who want them."""
        said = (ids - FIRST_OUTPUT).view(np.uint32)
        said = said[said < 512]
        if not len(said):
            return
        for first, kept, tell in (
            (0, self.stdout, self.host.on_stdout),
            (256, self.stderr, self.host.on_stderr),
        ):
            written = (said[said >> 8 == first >> 8] & 255).astype(np.uint8).tobytes()
            if not written:
                continue
            kept += written
            if tell is not None:
                tell(written)


def check_max_tokens(limit: int | None, certified: int) -> None:
    """Refuse a promise of more tokens than the machine at this level is proved exact for."""
    if limit is not None and limit > certified:
        raise UserError(
            f"max_tokens={limit:,} (--max-tokens): the machine is certified for {certified:,} "
            "tokens at this level; give that number or less, or leave it out"
        )


def _next_byte(stdin: Input) -> Callable[[], int]:
    """The input, byte by byte; -1 at its end."""
    if stdin is None:
        return lambda: -1
    if isinstance(stdin, bytes | bytearray | memoryview):
        given = iter(bytes(stdin))
        return lambda: next(given, -1)

    def read() -> int:
        byte = stdin.read(1)
        return byte[0] if byte else -1

    return read
