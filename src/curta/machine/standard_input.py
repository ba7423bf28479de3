"""Standard input: who has bytes of it ready, and how they answer `read.`.

A byte that is there already is given where it is asked for, by the one who says the tokens
(`Answers`); only where there is none does a conversation wait for it. A file is looked into before
the program asks only where nobody else can be reading it meanwhile; what is read is compared with
what was seen. Nothing is taken from a file that the program did not ask for.
"""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from typing import Protocol, runtime_checkable

import numpy as np

from curta.engine.base import Answers
from curta.errors import UserError
from curta.machine.ids import FIRST_LAST, READ_ID, Ids, word_ids

END_OF_INPUT = 0xFFFFFFFF
MOST_AHEAD = 1 << 12
"""Bytes that are seen at once."""
NOTHING: Ids = np.zeros(0, dtype=np.int32)


@runtime_checkable
class Readable(Protocol):
    """A binary file, as far as it is needed."""

    def read(self, size: int, /) -> bytes | None:
        """Up to so many bytes; none at the end."""


Input = bytes | bytearray | memoryview | Readable | None


class Ahead(ABC):
    """A file, and what comes next in it can be seen before it is read."""

    @abstractmethod
    def peek(self) -> bytes:
        """What there is already, and if there is nothing, what comes; none at the end."""

    @abstractmethod
    def read(self, size: int, /) -> bytes:
        """The next bytes, no more than were seen."""


class Bytes(Ahead):
    """Input that is all there."""

    def __init__(self, content: io.BytesIO) -> None:
        self._content = content

    def peek(self) -> bytes:
        return bytes(self._content.getbuffer()[self._content.tell() :][:MOST_AHEAD])

    def read(self, size: int, /) -> bytes:
        return self._content.read(size)


class Alone(Ahead):
    """A file that only the program reads."""

    def __init__(self, file: io.BufferedReader) -> None:
        self._file = file
        self.read1, self.fileno = file.read1, file.fileno

    def peek(self) -> bytes:
        return self._file.peek(1)

    def read(self, size: int, /) -> bytes:
        return self._file.read(size)


class ByteByByte(Ahead):
    """A file of which nothing is seen before the program asks for it."""

    def __init__(self, file: Readable) -> None:
        self._file = file
        self._seen = b""

    def peek(self) -> bytes:
        self._seen = self._seen or self._file.read(1) or b""
        if len(self._seen) > 1:
            raise UserError(f"the input gave {len(self._seen)} bytes where it was asked for one")
        return self._seen

    def read(self, size: int, /) -> bytes:
        read, self._seen = self._seen, b""
        return read


class StandardInput:
    """The input of a conversation, and what of it is there already."""

    def __init__(self, stdin: Input, *, is_alone: bool) -> None:
        """Whether nobody else has a chance to read it while the program runs."""
        self._file = look_ahead(stdin, is_alone=is_alone)
        self.answers, self.taken = Answers(READ_ID, NOTHING), 0
        """Bytes that were seen, as tokens; and how many of them are out of the file."""

    def forget(self) -> None:
        """What was seen may not be what comes next: others may have read meanwhile."""
        self.answers, self.taken = Answers(READ_ID, NOTHING), 0

    def read(self) -> list[int]:
        """The tokens of the next byte, or of the end; that may have to be waited for."""
        self.forget()
        seen = self._file.peek()[:MOST_AHEAD]
        if not seen:
            return word_ids(END_OF_INPUT)
        self._take(seen[:1])
        if len(seen) > 1:
            left = np.frombuffer(seen, dtype=np.uint8)[1:]
            self.answers = Answers(READ_ID, FIRST_LAST + left.astype(np.int32))
        return [FIRST_LAST + seen[0]]

    def take(self, said: Ids) -> None:
        """Take out of the file what was answered while this was said."""
        if self.taken < self.answers.used:
            start = self.taken
            self.taken += int(np.count_nonzero(said[:-1] == READ_ID))
            seen = self.answers.tokens[start : self.taken] - FIRST_LAST
            self._take(seen.astype(np.uint8).tobytes())

    def _take(self, seen: bytes) -> None:
        if self._file.read(len(seen)) != seen:
            raise UserError(
                "the input changed while the program read it: nobody else may read it meanwhile"
            )


def look_ahead(stdin: Input, *, is_alone: bool) -> Ahead:
    """The input, as a conversation reads it."""
    if isinstance(stdin, Ahead):
        return stdin
    if stdin is None or not isinstance(stdin, Readable):
        return Bytes(io.BytesIO(stdin or b""))
    if is_alone and type(stdin) is io.BytesIO:
        return Bytes(stdin)
    if is_alone and type(stdin) is io.BufferedReader:
        return Alone(stdin)
    return ByteByByte(stdin)
