"""Standard input: who has bytes of it ready, and how they answer `read.`.

A byte that is there already is given where it is asked for, by the one who says the tokens
(`Answers`); only where there is none does a conversation wait for it. Nothing is taken from a file
that the program did not ask for.
"""

from __future__ import annotations

import io
from typing import Protocol, runtime_checkable

import numpy as np

from curta.engine.base import Answers
from curta.machine.ids import FIRST_LAST, READ_ID, Ids, word_ids

END_OF_INPUT = 0xFFFFFFFF
READ_AHEAD = 1 << 16
"""Bytes, at most."""


@runtime_checkable
class Readable(Protocol):
    """A binary file, as far as it is needed."""

    def read(self, size: int, /) -> bytes | None:
        """Up to so many bytes; none at the end."""


Input = bytes | bytearray | memoryview | Readable | None


@runtime_checkable
class Ahead(Readable, Protocol):
    """The same, and what comes next can be seen before it is read."""

    def peek(self, size: int = 0, /) -> bytes:
        """What there is already, and if there is nothing, what comes; none at the end."""


class _Bytes:
    """Input that is all there."""

    def __init__(self, content: io.BytesIO) -> None:
        self._content = content
        self.read = content.read

    def peek(self, size: int = 0, /) -> bytes:
        return bytes(self._content.getbuffer()[self._content.tell() :][:READ_AHEAD])


class _ByteByByte:
    """A file of which no more is taken than the program asks for."""

    def __init__(self, file: Readable) -> None:
        self._file = file
        self._seen = b""

    def peek(self, size: int = 0, /) -> bytes:
        self._seen = self._seen or self._file.read(1) or b""
        return self._seen

    def read(self, size: int, /) -> bytes:
        read, self._seen = self.peek(), b""
        return read


class StandardInput:
    """The input of a conversation, and what of it is there already."""

    def __init__(self, stdin: Input) -> None:
        self._file = look_ahead(stdin)
        self.answers = Answers(READ_ID, np.zeros(0, dtype=np.int32))
        """Bytes that are there, as tokens; those that were used are out of the file."""

    def read(self) -> list[int]:
        """The tokens of the next byte, or of the end; that may have to be waited for."""
        if not len(self.answers.left):
            block = np.frombuffer(self._file.peek(1), dtype=np.uint8)
            self.answers = Answers(READ_ID, FIRST_LAST + block.astype(np.int32))
        if not len(self.answers.left):
            return word_ids(END_OF_INPUT)
        token = int(self.answers.left[0])
        self.answers.used += 1
        self._file.read(1)
        return [token]

    def take(self, said: Ids) -> int:
        """Take out what was answered while this was said; returns how many bytes that is."""
        count = int(np.count_nonzero(said[:-1] == READ_ID))
        self._file.read(count)
        return count


def look_ahead(stdin: Input) -> Ahead:
    """The input, as a conversation reads it."""
    if isinstance(stdin, Ahead):
        return stdin
    if isinstance(stdin, Readable) and not isinstance(stdin, io.BytesIO):
        return _ByteByByte(stdin)
    return _Bytes(stdin if isinstance(stdin, io.BytesIO) else io.BytesIO(bytes(stdin or b"")))
