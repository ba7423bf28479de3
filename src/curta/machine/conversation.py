"""The host's side of a conversation: it turns bytes into tokens and tokens into bytes.

The machine says `await.` when it wants the number of an entry or a word of an argument, `read.`
when it wants a byte of the standard input (0xFFFFFFFF stands for its end), and then the host
appends a word; bytes that are there already are appended where they are asked for (`Answers`).
Everything else that the machine says, the host only looks at: bytes of output, and
what a ledger makes of it: where the program is, so that a trap can be placed, and its state.

A conversation is read in chapters. When one has grown long the state is said again, as the opening
of the next, to a machine to which nothing was said yet.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from curta.errors import CurtaError, ExitError, LimitError, ProgramError, Trap, UserError
from curta.machine.backtrace import address_in_words, backtrace
from curta.machine.core_program import INITIALISE, Segment
from curta.machine.host import Host
from curta.machine.ids import (
    AWAIT_ID,
    EXIT_ID,
    FIRST_JUMP,
    FIRST_TRAP,
    READ_ID,
    STOP_IDS,
    Ids,
    last_words,
    word_ids,
)
from curta.machine.instructions import TRAPS
from curta.machine.ledger import Written, new_ledger
from curta.machine.loaded import LoadedProgram
from curta.machine.opening import decode_opening, opening_ids, opening_of, restore
from curta.machine.request import DEFAULT_PAGES
from curta.machine.standard_input import StandardInput
from curta.machine.talkers import NOTHING, Talker
from curta.machine.trace import Trace
from curta.machine.vocabulary import NEAR

TOKENS_PER_WORD = 3
SHORTEST_CHAPTER = 1 << 24
"""Tokens behind an opening: that many, and so many times as many as the opening has."""
PAYS = 512
LEFT = 64
"""One part in so many is left for what is said until there is a jump."""
LATER = 8
"""A chapter that does not end yet is longer by one part in so many before that is asked again."""
COMPILED_MAIN = "__original_main"
"""What the C compiler calls a main without parameters."""


@dataclass(frozen=True, slots=True)
class Figures:
    """How far a conversation has come. `tokens` are all of it, openings of chapters included."""

    prompt_tokens: int = 0
    """Those that open chapters: the program, and what state there is."""
    tokens: int = 0
    chapters: int = 0
    instructions: int = 0
    """Core instructions that were executed."""
    seconds: float = 0.0
    """Without what was spent waiting for input."""
    memory_bytes: int = 0
    """Of the talker's state and the trace."""
    placed: int = 0
    """Tokens that were said by code that knows the program (docs/native.md)."""

    @property
    def generated(self) -> int:
        return self.tokens - self.prompt_tokens

    @property
    def length(self) -> str:
        """How long the conversation is, and who said what, in words."""
        if self.chapters == 1:
            return f"{self.tokens:,} tokens ({self.prompt_tokens:,} of them the program)"
        remedy = "; fewer with longer ones" if 2 * self.prompt_tokens > self.tokens else ""
        return (
            f"{self.tokens:,} tokens ({self.prompt_tokens:,} of them openings of "
            f"{self.chapters:,} chapters{remedy})"
        )

    def __str__(self) -> str:
        seconds = max(self.seconds, 1e-9)
        tokens, instructions = self.tokens / seconds, self.instructions / seconds
        known = ""
        if self.placed:
            known = f"; {self.placed / self.generated:.0%} by code that knows the program"
        return (
            f"{self.length} in {self.seconds:.2f} s, {tokens:,.0f} tok/s; "
            f"{self.instructions:,} core instructions, {instructions:,.0f} a second; "
            f"{self.memory_bytes / 2**20:,.1f} MiB{known}"
        )


UNTOLD_SECONDS = 0.02
"""Between figures that are told."""


@dataclass(frozen=True, slots=True)
class ConversationLimits:
    """What a run may use."""

    max_tokens: int | None = None
    """None is no limit."""
    chapter_tokens: int | None = None
    """After so many behind its opening a chapter ends; None goes by the length of the opening."""
    max_memory: int = DEFAULT_PAGES
    """Pages of 64 KiB: 1 GiB."""
    keep_trace: bool = True
    keep_output: bool = True

    def __post_init__(self) -> None:
        for name in ("max_tokens", "chapter_tokens", "max_memory"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 0):
                raise UserError(f"{name}={value!r}: expected a number that is not negative")


@dataclass(frozen=True, slots=True)
class Chapter:
    """Where one begins among all tokens, and how many of them open it."""

    start: int
    opening: int


@dataclass(frozen=True, slots=True)
class Page:
    """All that it takes to go on from the beginning of a chapter, besides the program."""

    opening: Ids
    start: int
    """How many tokens there are before it."""
    instructions: int
    own_at: int
    """As in Ledger."""
    seconds: float
    invocation: int
    """How many invocations were begun; this one is not at its end."""
    wanted: tuple[int, ...]
    """Words that the machine did not ask for yet."""
    tail: Ids
    """The last tokens."""


class Conversation:
    """One program, and all that was said about it."""

    def __init__(
        self, talker: Talker, program: LoadedProgram, host: Host, limits: ConversationLimits
    ) -> None:
        self.talker = talker
        self.program = program
        self.host = host
        self.limits = limits
        self.trace = Trace(program.tokens)
        self.chapters: list[Chapter] = []
        self.stdout = bytearray()
        self.stderr = bytearray()
        self.ledger = new_ledger(program)
        """What the tokens so far have filed."""
        self._input = StandardInput(host.stdin, is_alone=not host.listens)
        self._tail = NOTHING
        self._tail_length = 64
        self._tokens = self._opened = self._due = self._placed = 0
        self._seconds = 0.0
        self._opening = NOTHING
        self._stop = -1
        self._wanted: deque[int] = deque()
        self._invocation = 0
        self._failed: CurtaError | None = ProgramError("the run was interrupted as it began")
        """Why nothing can be invoked; none once it has begun."""
        self._invocations = threading.Lock()
        """Held by whoever invokes something."""

    @property
    def figures(self) -> Figures:
        return Figures(
            self._opened,
            self._tokens,
            len(self.chapters),
            self.ledger.instructions,
            self._seconds,
            self.talker.memory_bytes + self.trace.memory_bytes,
            self._placed + (self._placed_here if self.chapters else 0),
        )

    def said(self) -> Ids:
        """What was said behind openings, as far as it was kept: the same however many there are."""
        ids, ends = self.trace.ids, [one.start for one in self.chapters[1:]] + [self._tokens]
        chapters = zip(self.chapters, ends, strict=True)
        return np.concatenate([ids[one.start + one.opening : end] for one, end in chapters])

    # -- what is said to the machine ---------------------------------------------

    def begin(self, segments: Iterable[Segment] = ()) -> None:
        """Say the program, and have it set itself up."""
        if self.host.on_start is not None:
            self.host.on_start(self)
        segments = tuple(segments)
        self.ledger.give(*self.program.segments, *segments)
        prompt = self.program.prompt(segments)
        self._open(prompt)
        self._turn(prompt)
        self._failed = None
        try:
            self.invoke(INITIALISE)
        except ExitError as end:  # the start function ended the program
            self._failed = end

    def go_on(self, page: Page, before: Sequence[Chapter], results: int = 0) -> list[int]:
        """Begin where another conversation turned a page, instead of `begin`, and bring the
        invocation to its end that was in progress there. `before` are the chapters up to there.
        """
        opening = decode_opening(self.program, page.opening)
        restore(self.ledger, opening, page.instructions, page.own_at)
        self.chapters = list(before)
        self._tokens, self._opened = page.start, sum(chapter.opening for chapter in before)
        self._seconds, self._tail = page.seconds, page.tail
        self._invocation, self._wanted = page.invocation, deque(page.wanted)
        self._open(page.opening)
        self._failed = None
        return self._guarded(lambda: self._go_on(page.opening, results), results)

    def invoke(self, number: int, words: Sequence[int] = (), results: int = 0) -> list[int]:
        """Have an entry executed; the words that it said last are its results."""
        return self._guarded(lambda: self._invoke(number, words, results), results)

    def _guarded(
        self, invocation: Callable[[], list[int] | ProgramError], results: int
    ) -> list[int]:
        """One at a time; whatever breaks it off ends the run."""
        if self._failed is not None:
            raise self._failed
        if not self._invocations.acquire(blocking=False):
            raise UserError("a function of this instance is being executed: it cannot be invoked")
        try:
            self._input.forget()
            self._tail_length = max(64, TOKENS_PER_WORD * (results + 2))
            answer = invocation()
        except BaseException as error:
            self._failed = ProgramError("the run was interrupted")
            if isinstance(error, Trap | ExitError):  # another program's end
                raise self._failed from error
            if isinstance(error, CurtaError):
                self._failed = error
                self._tell()
            raise
        finally:
            self._invocations.release()
        self._tell()
        if isinstance(answer, ProgramError):
            raise answer
        return answer

    def _invoke(self, number: int, words: Sequence[int], results: int) -> list[int] | ProgramError:
        """Its results; or how the program ended."""
        if self._stop != AWAIT_ID:  # it ended, and begins again by itself
            self._turn(NOTHING)
        self._invocation += 1
        self._wanted = deque([number, *words])
        return self._answer(results)

    def _go_on(self, opening: Ids, results: int) -> list[int] | ProgramError:
        self._turn(opening)
        return self._answer(results)

    def _answer(self, results: int) -> list[int] | ProgramError:
        """Give the machine what it asks for, until it has done what it was asked."""
        while True:
            if self._stop == AWAIT_ID:
                if not self._wanted:
                    return last_words(self._tail[:-1], results)
                given = word_ids(self._wanted.popleft())
            elif self._stop == READ_ID:
                given = self._input.read()
            else:
                return self._ended()
            tokens = np.array(given, dtype=np.int32)
            self._note(tokens)
            self._turn(tokens)

    def _ended(self) -> ProgramError:
        """Why the program stopped; the next invocation begins with a new frame."""
        if self._stop == EXIT_ID:
            words = last_words(self._tail[:-1], 1)
            return ExitError(words[0] if words else 0)
        reason, where = TRAPS[self._stop - FIRST_TRAP], self._place(self.ledger.ended_at)
        where += address_in_words(self.program, self.ledger)
        return Trap(reason, where, backtrace(self.program, self.ledger))

    def _place(self, counter: int) -> str:
        """The user's function that was executed last."""
        origin = self.program.origin(counter)
        if origin.library and self.ledger.own_at >= 0:
            origin = self.program.origin(self.ledger.own_at)
        name = "main" if origin.function == COMPILED_MAIN else origin.function
        return f"in function ${name}" if not name.startswith("function ") else f"in {name}"

    # -- what the machine says ---------------------------------------------

    def _turn(self, given: Ids) -> None:
        """Say something, and listen until the machine hands over."""
        started = time.perf_counter()
        before = self._seconds
        while not self._listen(given, started - before):
            given = self._turn_page()
        self._stop = int(self._tail[-1])
        if self._stop not in STOP_IDS:
            raise self._too_long()

    def _listen(self, given: Ids, started: float) -> bool:
        """Until the machine hands over; or not, if the chapter is long enough before."""
        told = 0.0
        answers = self._input.answers
        for chunk in self.talker.talk(given, self._most(), answers):
            while len(chunk):
                end = self._next_page(chunk)
                self._input.take(chunk[:end])
                self._note(chunk[:end])
                chunk = chunk[end:]
                self._seconds = time.perf_counter() - started
                if self._seconds >= told:
                    told = self._seconds + UNTOLD_SECONDS
                    self._tell()
                if self._behind >= self._due and self._is_over():
                    answers.used = self._input.taken
                    return False
            assert answers.used == self._input.taken
        return True

    def _tell(self) -> None:
        """How far it has come; now and then, and at every end."""
        if self.host.on_progress is not None:
            self.host.on_progress(self.figures)

    def _most(self) -> int:
        most = self.talker.max_tokens - self._behind - self.chapters[-1].opening
        if self.limits.max_tokens is not None:
            most = min(most, self.limits.max_tokens - self._length)
        if most <= 0:
            raise self._too_long()
        return most

    def _too_long(self) -> LimitError:
        limit = self.limits.max_tokens
        if limit is not None and limit <= self._length:
            return LimitError(
                f"the run reached its limit of {limit:,} tokens; allow more with max_tokens "
                "(--max-tokens)"
            )
        return LimitError(
            f"a chapter reached {self.talker.max_tokens:,} tokens, the longest that the machine is "
            "certified for, without a jump behind which another could begin"
        )

    def _note(self, ids: Ids) -> None:
        """What was said, in the order in which it was."""
        self._keep(ids)
        if not len(ids):
            return
        written = self.ledger.take(ids)
        if self.host.on_tokens is not None:
            self.host.on_tokens(ids)
        keep = self._tail_length
        self._tail = np.concatenate([self._tail, ids[-keep:]])[-keep:]
        if len(written):
            self._pass_on(written)

    def _keep(self, ids: Ids) -> None:
        self._tokens += len(ids)
        if self.limits.keep_trace:
            self.trace.append(ids)

    # -- chapters ---------------------------------------------

    @property
    def _length(self) -> int:
        """Tokens without what was said again."""
        return self._tokens - self._opened + self.chapters[0].opening

    @property
    def _behind(self) -> int:
        """How many tokens there are behind the opening of the chapter."""
        chapter = self.chapters[-1]
        return self._tokens - chapter.start - chapter.opening

    @property
    def _placed_here(self) -> int:
        """Of these, what was said by code that knows the program. What a talker has said beyond the
        end of the chapter does not count.
        """
        return min(self.talker.placed, self._behind)

    def _open(self, opening: Ids) -> None:
        """Begin a chapter."""
        if self.host.on_opening is not None:
            self.host.on_opening(opening)
        self.chapters.append(Chapter(self._tokens, len(opening)))
        self._opened += len(opening)
        self._tokens += len(opening)
        if self.limits.keep_trace:
            self.trace.append(self._share(opening))
        self._due = self._pays(len(opening))

    def _share(self, opening: Ids) -> Ids:
        """The program is in memory once, however many conversations begin with it; the rest."""
        if opening is self.program.alone:
            self.trace.share(opening)
            return opening[:0]
        shared = self.program.records
        if not np.array_equal(opening[: len(shared)], shared):  # a baked one is not said
            return opening
        self.trace.share(shared)
        return opening[len(shared) :]

    def _pays(self, opening: int) -> int:
        """How long a chapter should be; by default so long that an opening hardly counts."""
        wanted = self.limits.chapter_tokens
        length = max(SHORTEST_CHAPTER, PAYS * opening) if wanted is None else wanted
        return min(length, self._longest)

    @property
    def _longest(self) -> int:
        most = self.talker.max_tokens
        return most - most // LEFT - self.chapters[-1].opening

    def _next_page(self, chunk: Ids) -> int:
        """Up to where a chapter goes on, at least: the first jump once it is long enough."""
        first = max(self._due - self._behind - 1, 0)
        if first >= len(chunk):
            return len(chunk)
        jumps = np.flatnonzero((chunk[first:] - FIRST_JUMP).view(np.uint32) < 2 * NEAR)
        return first + int(jumps[0]) + 1 if len(jumps) else len(chunk)

    def _is_over(self) -> bool:
        """Whether the chapter ends here: behind a jump, and not before another one pays."""
        if not FIRST_JUMP <= self._tail[-1] < FIRST_JUMP + 2 * NEAR:
            return False
        self._opening = opening_ids(self.program, opening_of(self.ledger))
        pays = self._pays(len(self._opening))
        self._due = max(pays, min(self._behind + self._behind // LATER, self._longest))
        return self._behind >= pays

    def _turn_page(self) -> Ids:
        """Begin the next chapter; what is said to the machine."""
        most = self.talker.max_tokens // 2
        if len(self._opening) > most:
            raise LimitError(
                f"the program and the state of its run take {len(self._opening):,} tokens to be "
                f"said again, and a chapter can begin with {most:,} at this level"
            )
        self._placed += self._placed_here
        ended, self.talker = self.talker, self.talker.fresh()
        ended.close()
        self.ledger.forget()
        if self.host.on_page is not None:
            self.host.on_page(self._page())
        self._open(self._opening)
        return self._opening

    def _page(self) -> Page:
        return Page(
            self._opening,
            self._tokens,
            self.ledger.instructions,
            self.ledger.own_at,
            self._seconds,
            self._invocation,
            tuple(self._wanted),
            self._tail,
        )

    def _pass_on(self, output: Written) -> None:
        """Bytes of output, to those who want them."""
        for first, kept, tell in (
            (0, self.stdout, self.host.on_stdout),
            (256, self.stderr, self.host.on_stderr),
        ):
            written = (output[output >> 8 == first >> 8] & 255).astype(np.uint8).tobytes()
            if not written:
                continue
            if self.limits.keep_output:
                kept += written
            if tell is not None:
                tell(written)
