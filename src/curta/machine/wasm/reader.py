"""Bytes, integers, names and vectors of the binary format, with offsets in every error.

A LEB128 integer may be written with more bytes than it needs, as long as there are no more than
its width can fill; linkers do so to patch numbers in place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from curta.errors import MalformedModuleError

Item = TypeVar("Item")


class Reader:
    """A cursor over data[at:end], which is all of the file or a part of it."""

    __slots__ = ("at", "data", "end", "is_part")

    def __init__(self, data: bytes, at: int, end: int, *, is_part: bool = False) -> None:
        self.data = data
        self.at = at
        self.end = end
        self.is_part = is_part

    def error(self, message: str, at: int | None = None) -> MalformedModuleError:
        return MalformedModuleError(message, self.at if at is None else at)

    def ends(self) -> MalformedModuleError:
        where = " of section or function" if self.is_part else ""
        return self.error(f"unexpected end{where}", self.end)

    def byte(self) -> int:
        at = self.at
        if at >= self.end:
            raise self.ends()
        self.at = at + 1
        return self.data[at]

    def take(self, count: int) -> bytes:
        at = self.at
        if count > self.end - at:
            raise self.ends()
        self.at = at + count
        return self.data[at : at + count]

    def unsigned(self) -> int:
        """An unsigned integer of 32 bits."""
        value = shift = 0
        start = self.at
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
            if shift > 28:
                raise self.error("integer representation too long", start)
        if value >> 32:
            raise self.error("integer too large", start)
        return value

    def signed(self, bits: int) -> int:
        """A signed integer of so many bits."""
        value = shift = 0
        start = self.at
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
            if shift >= bits:
                raise self.error("integer representation too long", start)
        if byte & 0x40:
            value -= 1 << shift
        if not -(1 << bits - 1) <= value < 1 << bits - 1:
            raise self.error("integer too large", start)
        return value

    def length(self) -> int:
        """The length of something that lies in what is left."""
        start = self.at
        value = self.unsigned()
        if value > self.end - self.at:
            raise self.error("unexpected end: length out of bounds", start)
        return value

    def name(self) -> str:
        start = self.at
        content = self.take(self.length())
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError:
            raise self.error("malformed UTF-8 encoding", start) from None

    def vector(self, item: Callable[[Reader], Item]) -> tuple[Item, ...]:
        return tuple([item(self) for _ in range(self.unsigned())])

    def part(self, size: int) -> Reader:
        """A reader of the next `size` bytes, which are skipped here."""
        at = self.at
        if size > self.end - at:
            raise self.error("unexpected end: length out of bounds")
        self.at = at + size
        return Reader(self.data, at, at + size, is_part=True)
