"""Find calls in text that arrives piece by piece, however it is cut.

Text is passed on as soon as it cannot be the beginning of a call: all that is held back is the
longest end of it that could open one. Inside of a call everything is held until it is closed, or
turns out not to be one: at a line's end, or when it gets too long.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from curta.delegate.interception.events import CallRejected, CallStarted, TextDelta


@dataclass(frozen=True, slots=True)
class Marker:
    """How a call is found in text.

    close:    None where it ends with the turn
    at_start: it opens nothing unless it is the first text of a turn
    one_line: the end of a line ends it, too: it is text then
    """

    open: str
    close: str | None
    at_start: bool = False
    one_line: bool = True


@dataclass(frozen=True, slots=True)
class Closed:
    """A call is complete. `rest` is what came behind its closing marker in the same piece."""

    marker: Marker
    body: str
    text: str
    rest: str


Found = TextDelta | CallStarted | Closed | CallRejected


class Scanner:
    """Where we are in the text: outside of calls, or in one."""

    def __init__(self, markers: Sequence[Marker], longest: int, most_calls: int) -> None:
        self.markers = tuple(markers)
        self.longest = longest
        self.most_calls = most_calls
        self.held = ""
        self.marker: Marker | None = None
        """Of the call that we are in."""
        self.calls = 0
        self.at_start = True
        """Whether nothing but space has been written in this turn."""

    def feed(self, piece: str) -> list[Found]:
        """What is known now. A closed call is always the last: what follows is the answer."""
        found: list[Found] = []
        self.held += piece
        while True:
            step = self.in_text() if self.marker is None else self.in_call(self.marker)
            if step is None:
                return found
            found.append(step)
            if isinstance(step, Closed):
                return found

    def in_text(self) -> Found | None:
        """Text up to the next call, or its opening marker."""
        if self.calls >= self.most_calls:
            return self.released(len(self.held))
        text = self.held.lstrip()
        space = len(self.held) - len(text)
        places = [
            (at, -len(marker.open), marker)
            for marker in self.markers
            if (at := self.held.find(marker.open)) >= 0
            and (not marker.at_start or (self.at_start and at == space))
        ]
        if not places:
            waits = (
                beginning(marker.open, self.held)
                for marker in self.markers
                if not marker.at_start or (self.at_start and marker.open.startswith(text))
            )
            return self.released(len(self.held) - max(waits, default=0))
        at, _, marker = min(places, key=lambda place: place[:2])
        if at > 0:
            return self.released(at)
        self.marker = marker
        self.calls += 1
        self.held = self.held[len(marker.open) :]
        self.at_start = False
        return CallStarted(marker.open)

    def in_call(self, marker: Marker) -> Found | None:
        """The whole call, or that it is none."""
        closing = marker.close or ""
        limit = self.longest + len(closing)
        within, newline, _ = self.held[:limit], "", ""
        if marker.one_line:
            within, newline, _ = within.partition("\n")
        at = within.find(closing) if closing else -1
        if at >= 0:
            end = at + len(closing)
            text, rest = self.held[:end], self.held[end:]
            self.marker, self.held = None, ""
            return Closed(marker, text[:at], text, rest)
        if newline or len(within) == limit:
            return self.abandoned(len(within))
        return None

    def abandoned(self, end: int) -> CallRejected:
        """So much of what is held was no call."""
        text, self.held = self.held[:end], self.held[end:]
        self.marker = None
        return CallRejected(text, text.strip())

    def released(self, end: int) -> TextDelta | None:
        """So much of what is held, as text."""
        text, self.held = self.held[:end], self.held[end:]
        self.at_start = self.at_start and not text.strip()
        return TextDelta(text) if text else None

    def answered(self, text: str) -> None:
        """What is put behind a call is none."""

    def turn(self) -> list[Found]:
        """The turn has ended, and so has a call that is closed by that; another one may begin."""
        if self.marker is not None and self.marker.close is None:
            found: list[Found] = [Closed(self.marker, self.held, self.held, "")]
            self.marker, self.held = None, ""
        else:
            found = self.finish()
        self.at_start = True
        return found

    def finish(self) -> list[Found]:
        """There is no more to come: what is still held is text."""
        if self.marker is not None:
            return [self.abandoned(len(self.held))]
        step = self.released(len(self.held))
        return [] if step is None else [step]


def beginning(marker: str, text: str) -> int:
    """The length of the longest end of the text that the marker begins with."""
    for length in range(min(len(marker) - 1, len(text)), 0, -1):
        if text.endswith(marker[:length]):
            return length
    return 0
