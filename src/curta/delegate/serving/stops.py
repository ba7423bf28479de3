"""Text and calls up to the first stop string.

Text that could be the beginning of a stop string waits until it is known to be none. A stop
string is looked for in all of the text, calls and answers too; it is left out itself, and so are
calls whose text does not end before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from curta.delegate.interception.events import CallRejected, CallResult, CallWritten, Event
from curta.delegate.interception.scanner import beginning

Call = CallResult | CallRejected


@dataclass(frozen=True, slots=True)
class Score:
    """A chosen token with its logarithm of probability, and the likeliest ones."""

    token: str
    logprob: float
    likeliest: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Piece:
    """Text to pass on, and the calls that end in it. Pieces put together are a piece.

    asked:  calls that the client has to answer
    scores: of the tokens that were chosen since the piece before
    reason: of the last one: `stop` (the model's own end, or a stop string), `length` (tokens or
            time), or `tool_calls`, which somebody else has to answer
    tokens: of the last one: how many were written
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    asked: tuple[CallWritten, ...] = ()
    scores: tuple[Score, ...] = ()
    reason: str = ""
    tokens: int = 0

    def __add__(self, other: Piece) -> Piece:
        return Piece(*(getattr(self, each) + getattr(other, each) for each in self.__slots__))


class Stops:
    """Takes events, says what may be passed on."""

    def __init__(self, strings: Sequence[str]) -> None:
        self.strings = tuple(strings)
        self.held = ""
        self.calls: list[tuple[int, Call]] = []
        """Calls whose text is held, and where it ends."""
        self.found = False

    def feed(self, event: Event, text: str) -> Piece | None:
        """What is known to come before any stop string; `text` is what clients see of an event."""
        if self.found:
            return None
        self.held += text
        if isinstance(event, CallResult | CallRejected):
            self.calls.append((len(self.held), event))
        places = [self.held.find(string) for string in self.strings]
        at = min((place for place in places if place >= 0), default=None)
        if at is not None:
            self.found = True
            return self.released(at)
        waits = max((beginning(string, self.held) for string in self.strings), default=0)
        return self.released(len(self.held) - waits)

    def finish(self) -> Piece | None:
        """There is no more to come."""
        return None if self.found else self.released(len(self.held))

    def released(self, end: int) -> Piece | None:
        """So much of what is held."""
        text, self.held = self.held[:end], self.held[end:]
        calls = tuple(call for place, call in self.calls if place <= end)
        self.calls = [(place - end, call) for place, call in self.calls if place > end]
        return Piece(text, calls) if text or calls else None
