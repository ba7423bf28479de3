"""Is it all in the weights? A kept run's tokens beside those that another level says.

The other level is given the same conversation and says, after every token, what would come next.
Wherever the machine spoke in the run, and not the host, both have to agree. By induction that is
what a conversation with the other level would have been; the first difference is reported.

Chapters are looked at one by one, each with its own page, and in *parts*: the state can be said
again at any jump, so a part begins as a chapter of its own would, and is as long as the level can
take. What a part opens with follows from the tokens before it and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from curta.engine import Engine
from curta.engine.base import Answers
from curta.errors import UserError, VerifyError
from curta.machine.conversation import Conversation, Page
from curta.machine.host import Host
from curta.machine.ids import AWAIT_ID, FIRST_JUMP, FIRST_LAST, READ_ID, START_ID, STOP_IDS, Ids
from curta.machine.instructions import MOST_TOKENS
from curta.machine.kept.file import (
    STREAMS,
    Ending,
    KeptRun,
    Kind,
    Stream,
    tokens_from_bytes,
    tokens_to_bytes,
)
from curta.machine.kept.keeping import Ready, Recorder, ending_of, limits_of, segments
from curta.machine.ledger import Ledger, new_ledger
from curta.machine.listing import instruction_text
from curta.machine.loaded import LoadedProgram
from curta.machine.opening import decode_opening, opening_ids, opening_of, restore
from curta.machine.request import ReplayLevel
from curta.machine.trace import counters
from curta.machine.vocabulary import DIGIT, NEAR

NAMES: dict[ReplayLevel, str] = {"plain": "the plain softmax model", "hull": "the hull level"}
SHOWN = 8
TOKENS_AT_ONCE = 1 << 16
"""Of those that were kept."""


@dataclass(frozen=True, slots=True)
class ChapterPart:
    """A chapter, or a part of one: what it opens with, and what was said behind that."""

    chapter: int
    """From 1 on."""
    first: int
    """How many tokens of the run are before those that were said."""
    opening: Ids
    said: Ids

    def __len__(self) -> int:
        return len(self.opening) + len(self.said)


OnPart = Callable[[ChapterPart], object]
Length = Callable[[int], int]
"""How many tokens a part has behind an opening of so many."""


# -- one part ---------------------------------------------


def check_part(
    engine: Engine,
    program: LoadedProgram,
    part: ChapterPart,
    on_progress: Callable[[float], object] | None = None,
) -> int:
    """Teacher forcing: a VerifyError names the first token that the level would not have said. How
    many the machine said, all of them compared.
    """

    ids, prompt = np.concatenate([part.opening, part.said]), len(part.opening)
    if len(ids) > engine.max_tokens:
        raise UserError(
            f"chapter {part.chapter:,} is read in parts of {len(ids):,} tokens, of which "
            f"{prompt:,} open it; level {engine.level!r} is certified for {engine.max_tokens:,}: "
            "choose fewer (--chapter-tokens), bake the program (curta bake), or take --level hull"
        )
    spoken = spoken_by_machine(ids, prompt)
    at = 1  # the place of the token that comes next
    with closing(engine.replay(ids[:-1], spoken[1:], on_progress)) as blocks:
        for said in blocks:
            given = ids[at : at + len(said)]
            wrong = np.flatnonzero((said != given) & spoken[at : at + len(said)])
            if len(wrong):
                place = at + int(wrong[0])
                raise _differs(engine, program, part, place, int(said[wrong[0]]))
            at += len(said)
    return int(spoken.sum())


def _differs(
    engine: Engine, program: LoadedProgram, part: ChapterPart, place: int, expected: int
) -> VerifyError:
    ids, prompt = np.concatenate([part.opening, part.said]), len(part.opening)
    names = engine.vocabulary
    begun = int(np.flatnonzero(ids[:prompt] == START_ID)[-1]) + 1
    where = _instruction(program, ids[begun : place + 1])
    before = " ".join(names[one] for one in ids[max(0, place - SHOWN) : place].tolist())
    return VerifyError(
        f"the tokens differ at position {part.first - prompt + place:,}{where}: "
        f"{NAMES[engine.level]} says {names[expected]}, "  # type: ignore[index]
        f"the run has {names[int(ids[place])]}, after ... {before}"
    )


def _instruction(program: LoadedProgram, said: Ids) -> str:
    """What said the last of these tokens, the first that were said behind the prompt."""
    number = int(counters(said)[-1])
    if not 0 <= number < len(program):
        return ""
    function = program.origin(number).function
    text = instruction_text(program.instruction(number))
    return f", in instruction {number:,} ({text}) of {function}"


def spoken_by_machine(ids: Ids, prompt: int) -> npt.NDArray[np.bool_]:
    """For every token of a conversation: did the machine say it, and not the host?

    The host says the prompt, and behind every `await.` and `read.` one word.
    """
    spoken = np.ones(len(ids), dtype=np.bool_)
    spoken[:prompt] = False
    asked = np.flatnonzero(((ids == AWAIT_ID) | (ids == READ_ID)) & spoken)
    for place in (asked + 1).tolist():
        end = place
        while end < len(ids) and not FIRST_LAST <= ids[end] < FIRST_LAST + DIGIT:
            end += 1
        spoken[place : end + 1] = False
    return spoken


# -- one chapter ---------------------------------------------


def read_chapter(kept: KeptRun, ready: Ready, number: int, length: Length, on_part: OnPart) -> None:
    """Have a chapter said again, and hand it on in parts.

    A VerifyError if it does not say what was kept of it: where the next one begins, with which
    state, what was written and read up to there; or how the run ended.
    """
    program = ready.program
    parts = _parts(kept, program, number, length, on_part)
    checker = _Checker(kept, program, number, parts.take)
    talker = ready.talker.fresh()
    if kept.beginning.keeps_tokens:
        talker = KeptTalker(kept.streams[Kind.TOKENS], kept.lengths(number)[-1])
    following = checker.following
    behind = MOST_TOKENS if following is None else following.start - parts.first
    limits = replace(limits_of(kept.beginning), max_tokens=None, chapter_tokens=behind)
    try:
        ending = ending_of(kept, Conversation(talker, program, checker.host, limits), number)
    except _PageReached:
        ending = None
    checker.hand_on()
    checker.compare(ending)
    parts.finish()


def _parts(
    kept: KeptRun, program: LoadedProgram, number: int, length: Length, on_part: OnPart
) -> Parts:
    """A chapter that is about to be said."""
    ledger = new_ledger(program)
    if number > 1:
        page = kept.page(number, program)
        restore(ledger, decode_opening(program, page.opening))
        return Parts(program, ledger, number, page.start, page.opening, length, on_part)
    host = segments(kept.beginning)
    ledger.give(*program.segments, *host)
    return Parts(program, ledger, number, 0, program.prompt(host), length, on_part)


class _PageReached(Exception):  # noqa: N818 (it is no error)
    """The chapter is over."""


class _Checker(Recorder):
    """Compares what a recorder would write with what is there."""

    def __init__(
        self, kept: KeptRun, program: LoadedProgram, number: int, take: Callable[[Ids], object]
    ) -> None:
        super().__init__(kept, program, Host(stdin=_NoInput()), lengths=kept.lengths(number))
        self.host = replace(self.host, on_tokens=self._took)
        self.take = take
        self.number = number
        is_last = number > len(kept.marks)
        self.following = None if is_last else kept.page(number + 1, program)

    def _keep(self, kind: Kind, content: bytes) -> None:
        stream = self.kept.streams[kind]
        if stream.expect(content, self._places[kind]):
            raise stream.broken(stream.length)
        self._places[kind] += len(content)

    def _took(self, ids: Ids) -> None:
        if self.kept.beginning.keeps_tokens:
            self._places[Kind.TOKENS] += len(tokens_to_bytes(ids))
        self.take(ids)

    def _turned(self, page: Page) -> None:
        self.hand_on()
        if self.following is None or not _same(page, self.following):
            raise VerifyError(
                f"chapter {self.number + 1:,}, at position {page.start:,}, does not begin with the "
                "state in which the one before it ended"
            )
        raise _PageReached

    def compare(self, ending: Ending | None) -> None:
        """The chapter is at its end, and everything is as far as it was kept to be."""
        said = dict(self._places)
        if ending is None:
            kept = dict(zip(STREAMS, self.kept.lengths(self.number + 1), strict=True))
            said[Kind.INPUT] = self.input.place
        else:
            kept = {kind: stream.length for kind, stream in self.kept.streams.items()}
            self._compare_ending(ending)
        for kind, place in said.items():
            if place != kept[kind]:
                raise self._differs(f"its {kind.name.lower()} end at byte {place:,}", kept[kind])

    def _compare_ending(self, ending: Ending) -> None:
        kept = self.kept.ending
        if kept is None:
            raise VerifyError(
                f"chapter {self.number:,}: the run ends in it, and goes on in the file"
            )
        for name in ("code", "trap", "results", "tokens", "opened", "chapters", "instructions"):
            here, there = getattr(ending, name), getattr(kept, name)
            if here != there:
                raise self._differs(f"its end has the {name} {here}", there)

    def _differs(self, what: str, kept: object) -> VerifyError:
        return VerifyError(f"chapter {self.number:,}: {what}, and {kept} was kept")


class _NoInput:
    """What is asked for and was not kept."""

    def read(self, size: int, /) -> bytes:
        raise VerifyError("the run asks for input that was not kept")


def _same(one: Page, other: Page) -> bool:
    """Whether two pages say the same, whenever they were written."""
    return (
        np.array_equal(one.opening, other.opening)
        and np.array_equal(one.tail, other.tail)
        and replace(one, opening=0, tail=0, seconds=0.0)  # type: ignore[arg-type]
        == replace(other, opening=0, tail=0, seconds=0.0)  # type: ignore[arg-type]
    )


class KeptTalker:
    """Says what a run said, from its kept tokens; what it is given has to be there, too."""

    max_tokens = MOST_TOKENS
    memory_bytes = placed = 0
    engine = None

    def __init__(self, stream: Stream, place: int) -> None:
        self._stream = stream
        self._place = place
        self._is_open = False

    def fresh(self) -> KeptTalker:
        return KeptTalker(self._stream, self._place)

    def close(self) -> None:
        """There is nothing to be given back."""

    def talk(self, given: Ids, most: int, answers: Answers | None = None) -> Iterator[Ids]:
        if self._is_open and not np.array_equal(self._next(len(given)), given):
            raise VerifyError("the host said something else than was kept")
        self._is_open = True
        while most > 0:
            start = self._place
            said = self._next(min(most, TOKENS_AT_ONCE))
            stops = np.flatnonzero(np.isin(said, _STOPS))
            if len(stops):
                said = said[: int(stops[0]) + 1]
                self._place = start + 2 * len(said)
            if not len(said):
                raise VerifyError("the tokens that were kept end before the run does")
            most -= len(said)
            yield said
            if len(stops):
                return

    def _next(self, count: int) -> Ids:
        content = self._stream.read(self._place, 2 * count)
        self._place += len(content)
        return tokens_from_bytes(content)


_STOPS = np.array(sorted(STOP_IDS))


class Parts:
    """Cuts a chapter into parts, by its tokens alone."""

    def __init__(
        self,
        program: LoadedProgram,
        ledger: Ledger,
        number: int,
        start: int,
        opening: Ids,
        length: Length,
        on_part: OnPart,
    ) -> None:
        self.program = program
        self.ledger = ledger
        self.number = number
        self.first = start + len(opening)
        self.opening: Ids | None = opening
        self.length = length
        self.on_part = on_part
        self.said: list[Ids] = []
        self.count, self.due = 0, length(len(opening))

    def take(self, ids: Ids) -> None:
        """What is said next."""
        while len(ids):
            if self.opening is None:
                self.opening = opening_ids(self.program, opening_of(self.ledger))
                self.ledger.forget()
                self.due = self.length(len(self.opening))
            after = max(self.due - self.count - 1, 0)
            jumps = np.flatnonzero(_is_jump(ids[after:]))
            end = after + int(jumps[0]) + 1 if len(jumps) else len(ids)
            self.said.append(ids[:end])
            self.count += end
            self.ledger.take(ids[:end])
            ids = ids[end:]
            if len(jumps):
                self.finish()

    def finish(self) -> None:
        """A part is at its end."""
        if self.opening is not None and self.count:
            said = np.concatenate(self.said)
            self.on_part(ChapterPart(self.number, self.first, self.opening, said))
            self.first += self.count
        self.opening, self.said, self.count = None, [], 0


def _is_jump(ids: Ids) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = (ids - FIRST_JUMP).view(np.uint32) < 2 * NEAR
    return found
