"""A kept run: all that it takes to go on with it, or to check it, in one file.

The journal (journal.py) holds how the run was begun, then pages and four streams of bytes, and at
last how it ended. A page is a chapter's opening, with how far the streams were at that moment.

    input    what was read for the program, before the program gets any of it
    output   what the program wrote, before anybody else gets it; errors likewise
    tokens   what was said behind openings, two bytes a token, if they are kept

A run that goes on from a page says again what it had said behind it. Each stream takes what it has
already for a promise: it is compared, and only what comes behind it is written.
"""

from __future__ import annotations

import json
import struct
import zlib
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import IntEnum
from pathlib import Path
from types import UnionType
from typing import Any, Self, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from curta.errors import FileError, ProgramError
from curta.machine.conversation import Chapter, Page
from curta.machine.core_program import Segment
from curta.machine.ids import Ids
from curta.machine.kept.journal import Journal, Record
from curta.machine.loaded import LoadedProgram

_BLOCK = 1 << 20
_LENGTH = struct.Struct("<I")
_TOKEN = np.dtype("<u2")


class Kind(IntEnum):
    """What a record is."""

    BEGINNING = 1
    PAGE = 2
    INPUT = 3
    OUTPUT = 4
    ERRORS = 5
    TOKENS = 6
    ENDING = 7
    LAST_INPUT = 8
    """What is left of the input: behind it there is no more."""


MEANINGLESS = (ValueError, KeyError, TypeError, struct.error, zlib.error)
"""What reading a record raises that no run writes."""
STREAMS = (Kind.INPUT, Kind.OUTPUT, Kind.ERRORS, Kind.TOKENS)


@dataclass(frozen=True, slots=True)
class Invocation:
    """A function that is invoked, with the bit patterns of its arguments."""

    name: str
    patterns: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Beginning:
    """How a run was begun. Together with its input, this says all that it will do."""

    curta: str
    """The version that kept it."""
    machine: str
    """What the weights compute: a digest of the graph that they are compiled from."""
    program: str
    """A digest of the core instructions."""
    level: str
    name: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    seed: int | None
    invocations: tuple[Invocation, ...]
    """One after another."""
    max_memory: int
    max_tokens: int | None
    chapter_tokens: int | None
    keeps_tokens: bool
    proved: bool
    """Only what is proved to do what its module does was to be run."""
    extensions: tuple[str, ...]
    weights: str | None = None
    """The file with the weights, if they are the program."""
    input_is_whole: bool = False
    """All of the input is in the file: it was kept before the run began."""
    output: tuple[int, int, int] | None = None
    """The file that the output went to: device, inode, and how long it was before."""
    module: bytes = field(default=b"", repr=False)
    """The WebAssembly, if the weights are not the program."""

    def to_bytes(self) -> bytes:
        content = asdict(self)
        module = content.pop("module")
        return _packed(content, zlib.compress(module))

    @staticmethod
    def from_bytes(content: bytes) -> Beginning:
        head, rest = _unpacked(content)
        return _made(Beginning, head | {"module": zlib.decompress(rest)})


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended."""

    code: int | None
    """None if it trapped."""
    trap: tuple[str, str] = ("", "")
    """What happened, and where."""
    results: tuple[int, ...] = ()
    """Bit patterns that the last function returned."""
    tokens: int = 0
    opened: int = 0
    chapters: int = 0
    instructions: int = 0
    seconds: float = 0.0
    memory_bytes: int = 0


@dataclass(frozen=True, slots=True)
class PageHead:
    """What is in the file of a page, but for its opening (conversation.Page)."""

    start: int
    length: int
    """Of the opening, in tokens."""
    lengths: tuple[int, ...]
    """How far STREAMS were, in bytes."""
    instructions: int
    own_at: int
    seconds: float
    invocation: int
    wanted: tuple[int, ...]
    tail: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PageMark:
    """A page in the file: where the chapter begins, and how far the streams were."""

    record: Record
    chapter: Chapter
    lengths: tuple[int, ...]
    """Of STREAMS, in bytes."""


def _packed(head: Mapping[str, Any], rest: bytes) -> bytes:
    text = json.dumps(head).encode()
    return _LENGTH.pack(len(text)) + text + rest


def _unpacked(content: bytes) -> tuple[dict[str, Any], bytes]:
    (length,) = _LENGTH.unpack_from(content)
    end = _LENGTH.size + length
    return json.loads(content[_LENGTH.size : end]), content[end:]


Head = TypeVar("Head", Invocation, Beginning, Ending, PageHead)


def _made(kind: type[Head], fields: Mapping[str, Any]) -> Head:
    """A record's fields, each as what it was when it was written."""
    hints = get_type_hints(kind)
    return kind(**{name: _typed(hints[name], value) for name, value in fields.items()})


def _typed(kind: Any, value: Any) -> Any:
    """What JSON made of a value, as what it was; a TypeError if it was nothing of that kind."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is UnionType:
        return None if value is None else _typed(inner[0], value)
    if origin is tuple and isinstance(value, list):
        kinds = inner[:1] * len(value) if inner[-1] is Ellipsis else inner
        return tuple(_typed(one, part) for one, part in zip(kinds, value, strict=True))
    if origin is Mapping and isinstance(value, dict):
        return {_typed(inner[0], name): _typed(inner[1], value[name]) for name in value}
    if kind is Invocation and isinstance(value, dict):
        return _made(Invocation, value)
    if type(value) is not kind:
        raise TypeError(f"{value!r} in place of {kind}")
    return value


class Stream:
    """Bytes in a journal, in as many records as it took."""

    def __init__(self, journal: Journal, kind: Kind) -> None:
        self.kind = kind
        self.length = 0
        self._journal = journal
        self._records: list[Record] = []
        self._firsts: list[int] = []

    def add(self, record: Record) -> None:
        """A record that is in the journal."""
        self._firsts.append(self.length)
        self._records.append(record)
        self.length += record.length

    def append(self, content: bytes) -> None:
        """Write what comes next."""
        if content:
            self.add(self._journal.append(self.kind, content))

    def read(self, first: int, count: int) -> bytes:
        """Up to so many bytes: less if there are no more."""
        return b"".join(self.blocks(first, first + count))

    def blocks(self, first: int, end: int) -> Iterator[bytes]:
        """The same, a piece at a time."""
        number = bisect_right(self._firsts, first) - 1
        while first < min(end, self.length):
            record, start = self._records[number], self._firsts[number]
            count = min(record.length - (first - start), end - first, _BLOCK)
            yield self._journal.read(record, first - start, count)
            first += count
            number += first == start + record.length

    def expect(self, content: bytes, first: int) -> bytes:
        """What of this, said at that place, is new; an error if the rest was something else."""
        known = self.read(first, min(len(content), max(self.length - first, 0)))
        if not content.startswith(known):
            raise self.broken(first)
        return content[len(known) :]

    def broken(self, place: int) -> ProgramError:
        """What was kept is not what the run says."""
        return ProgramError(
            f"the run does not say again what was kept of its {self.kind.name.lower()}: it differs "
            f"from byte {place:,} on; the file was changed, or curta or this computer is at fault"
        )


def _never_began(journal: Journal) -> bool:
    """Whether a run was ended while its input was being kept."""
    first, *rest = journal.records
    if first.kind != Kind.BEGINNING or any(r.kind != Kind.INPUT or not r.length for r in rest):
        return False
    try:
        return Beginning.from_bytes(journal.read(first)).input_is_whole
    except MEANINGLESS:
        return False


class KeptRun:
    """The file, open."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.streams = {kind: Stream(journal, kind) for kind in STREAMS}
        self.marks: list[PageMark] = []
        self.input_ended = False
        self.ending: Ending | None = None
        self.beginning: Beginning

    @classmethod
    def create(cls, path: str | Path, beginning: Beginning) -> Self:
        kept = cls(Journal.create(path, _never_began))
        kept.beginning = beginning
        kept.journal.append(Kind.BEGINNING, beginning.to_bytes())
        kept.journal.sync(now=True)
        return kept

    @classmethod
    def open(cls, path: str | Path, *, to_write: bool = False) -> Self:
        """A run that was kept; only one process can go on with it."""
        kept = cls(Journal.open(path, to_write=to_write))
        try:
            kept._read()
        except MEANINGLESS as error:
            kept.close()
            raise FileError(f"{path} says something that no run does: {error!r}") from error
        except BaseException:
            kept.close()
            raise
        return kept

    def _read(self) -> None:
        records = self.journal.records
        if not records:
            raise FileError(
                f"{self.path} holds no run: it was ended before anything of it was kept; begin it "
                "again"
            )
        if records[0].kind != Kind.BEGINNING:
            raise ValueError("it does not say how it began")
        self.beginning = Beginning.from_bytes(self.journal.read(records[0]))
        for record in records[1:]:
            self._take(Kind(record.kind), record)
        records.clear()
        if self.beginning.input_is_whole and not self.input_ended:
            raise FileError(
                f"{self.path} holds no run: it was ended while its input was being kept, before "
                "it began; begin it again"
            )

    def _take(self, kind: Kind, record: Record) -> None:
        if self.ending is not None:
            raise ValueError("something is behind its end")
        if kind == Kind.PAGE:
            (length,) = _LENGTH.unpack(self.journal.read(record, 0, _LENGTH.size))
            self._take_page(record, self.journal.read(record, 0, _LENGTH.size + length))
        elif kind == Kind.ENDING:
            self.ending = _made(Ending, _unpacked(self.journal.read(record))[0])
        elif kind == Kind.LAST_INPUT:
            self._take_last(record)
        elif kind in STREAMS:
            if kind == Kind.TOKENS and record.length % _TOKEN.itemsize:
                raise ValueError("half a token")
            if kind == Kind.INPUT and self.input_ended:
                raise ValueError("there is input behind its end")
            self.streams[kind].add(record)
        else:
            raise ValueError(f"a record of kind {kind}")

    def _take_page(self, record: Record, content: bytes) -> None:
        """A page is behind the one before it, and in the streams as they are up to there."""
        head = _made(PageHead, _unpacked(content)[0])
        before = self.marks[-1].chapter if self.marks else Chapter(0, 1)
        least = self.lengths(len(self.marks) + 1)
        most = (stream.length for stream in self.streams.values())
        fits = all(a <= b <= c for a, b, c in zip(least, head.lengths, most, strict=True))
        invoked = 1 <= head.invocation <= 1 + len(self.beginning.invocations)
        behind = before.start + before.opening < head.start and head.length >= 1
        if not (fits and invoked and behind):
            raise ValueError("a page is out of place")
        self.marks.append(PageMark(record, Chapter(head.start, head.length), head.lengths))

    @property
    def path(self) -> Path:
        return self.journal.path

    @property
    def state(self) -> str:
        """How far it is, in words."""
        chapters = f"chapter {len(self.marks) + 1:,}"
        return f"its end, in {chapters}" if self.ending else f"the beginning of {chapters}"

    # -- pages ---------------------------------------------

    def chapters(self, program: LoadedProgram, host: Sequence[Segment]) -> list[Chapter]:
        """All that were begun; the first one opens with what the host says."""
        first = Chapter(0, len(program.prompt(host)))
        return [first, *(mark.chapter for mark in self.marks)]

    def lengths(self, number: int) -> tuple[int, ...]:
        """How far the streams were where a chapter begins."""
        return self.marks[number - 2].lengths if number > 1 else (0,) * len(STREAMS)

    def page(self, number: int, program: LoadedProgram) -> Page:
        """How a chapter begins; the first one has no page."""
        try:
            fields, rest = _unpacked(self.journal.read(self.marks[number - 2].record))
            head = _made(PageHead, fields)
            said = tokens_from_bytes(zlib.decompress(rest))
        except MEANINGLESS as error:
            raise FileError(f"{self.path}: chapter {number:,} opens with no tokens") from error
        opening = said if program.baked else np.concatenate([program.records, said])
        if len(opening) != head.length:
            raise FileError(f"{self.path}: chapter {number:,} does not open as it says")
        return Page(
            opening,
            head.start,
            head.instructions,
            head.own_at,
            head.seconds,
            head.invocation,
            head.wanted,
            np.array(head.tail, dtype=np.int32),
        )

    def turn(self, page: Page, program: LoadedProgram, lengths: tuple[int, ...]) -> None:
        """Keep a page."""
        head = PageHead(
            page.start,
            len(page.opening),
            lengths,
            page.instructions,
            page.own_at,
            page.seconds,
            page.invocation,
            page.wanted,
            tuple(page.tail.tolist()),
        )
        said = page.opening[0 if program.baked else len(program.records) :]
        content = _packed(asdict(head), zlib.compress(tokens_to_bytes(said), 1))
        record = self.journal.append(Kind.PAGE, content)
        self.marks.append(PageMark(record, Chapter(page.start, len(page.opening)), lengths))
        self.journal.sync()

    def end(self, ending: Ending) -> None:
        """Keep how the run ended."""
        self.journal.append(Kind.ENDING, _packed(asdict(ending), b""))
        self.journal.sync(now=True)
        self.ending = ending

    def end_input(self, rest: bytes = b"") -> None:
        """Keep what is left of the input, and that there is no more."""
        self._take_last(self.journal.append(Kind.LAST_INPUT, rest))

    def _take_last(self, record: Record) -> None:
        if self.input_ended:
            raise ValueError("its input ends twice")
        self.streams[Kind.INPUT].add(record)
        self.input_ended = True

    def close(self) -> None:
        self.journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def tokens_to_bytes(ids: Ids) -> bytes:
    return ids.astype(_TOKEN).tobytes()


def tokens_from_bytes(content: bytes) -> Ids:
    return np.frombuffer(content, _TOKEN).astype(np.int32)
