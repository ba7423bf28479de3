"""What a program can reach: its input, and who gets what it says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from curta.machine.conversation import Conversation, Figures, Page
    from curta.machine.ids import Ids


@runtime_checkable
class Readable(Protocol):
    """A binary file, as far as it is needed."""

    def read(self, size: int, /) -> bytes | None:
        """Up to so many bytes; none at the end."""


Input = bytes | bytearray | memoryview | Readable | None


def next_byte(stdin: Input) -> Callable[[], int]:
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


@dataclass(frozen=True, slots=True)
class Host:
    """What a program can reach: its input, and who gets its output as it comes."""

    stdin: Input = None
    on_stdout: Callable[[bytes], object] | None = None
    on_stderr: Callable[[bytes], object] | None = None
    on_progress: Callable[[Figures], object] | None = None
    on_opening: Callable[[Ids], object] | None = None
    """Gets what opens each chapter, before it is said."""
    on_page: Callable[[Page], object] | None = None
    """Told of every chapter but the first, before it begins."""
    on_tokens: Callable[[Ids], object] | None = None
    """Gets the tokens behind openings, the host's own included."""
    on_start: Callable[[Conversation], object] | None = None
