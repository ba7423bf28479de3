"""Find calls in text that arrives piece by piece, however it is cut.

Text is passed on as soon as it cannot be the beginning of a call: all that is held back is the
longest end of it that could open one. Inside of a call everything is held until it is closed, or
turns out not to be one: at a line's end, or when it gets too long.
"""

from __future__ import annotations

from dataclasses import dataclass

from curta.delegate.interception.protocol import Protocol


@dataclass(frozen=True, slots=True)
class Text:
    """Text outside of calls."""

    text: str


@dataclass(frozen=True, slots=True)
class Opened:
    """A call has begun; its opening marker has been written."""

    text: str


@dataclass(frozen=True, slots=True)
class Closed:
    """A call is complete. `rest` is what came behind its closing marker in the same piece."""

    expression: str
    text: str
    rest: str


@dataclass(frozen=True, slots=True)
class Abandoned:
    """What had opened as a call is none."""

    text: str


Found = Text | Opened | Closed | Abandoned


class Scanner:
    """Where we are in the text: outside of calls, or in one."""

    def __init__(self, protocol: Protocol) -> None:
        self.protocol = protocol
        self.held = ""
        self.inside = False
        self.calls = 0

    def feed(self, piece: str) -> list[Found]:
        """What is known now. A closed call is always the last: what follows is the answer."""
        found: list[Found] = []
        self.held += piece
        while True:
            step = self.in_call() if self.inside else self.in_text()
            if step is None:
                return found
            found.append(step)
            if isinstance(step, Closed):
                return found

    def in_text(self) -> Found | None:
        """Text up to the next call, or its opening marker."""
        opening = self.protocol.open
        if self.calls >= self.protocol.most_calls:
            return self.released(len(self.held))
        at = self.held.find(opening)
        if at > 0:
            return self.released(at)
        if at == 0:
            self.inside = True
            self.calls += 1
            self.held = self.held[len(opening) :]
            return Opened(opening)
        return self.released(len(self.held) - beginning(opening, self.held))

    def in_call(self) -> Found | None:
        """The whole call, or that it is none."""
        closing = self.protocol.close
        limit = self.protocol.longest + len(closing)
        within, newline, _ = self.held[:limit].partition("\n")
        at = within.find(closing)
        if at >= 0:
            end = at + len(closing)
            text, rest = self.held[:end], self.held[end:]
            self.inside, self.held = False, ""
            return Closed(text[:at].strip(" "), text, rest)
        if newline or len(within) == limit:
            return self.abandoned(len(within))
        return None

    def abandoned(self, end: int) -> Abandoned:
        """So much of what is held was no call."""
        text, self.held = self.held[:end], self.held[end:]
        self.inside = False
        return Abandoned(text)

    def released(self, end: int) -> Text | None:
        """So much of what is held, as text."""
        text, self.held = self.held[:end], self.held[end:]
        return Text(text) if text else None

    def finish(self) -> list[Found]:
        """There is no more to come: what is still held is text."""
        if self.inside:
            return [self.abandoned(len(self.held))]
        step = self.released(len(self.held))
        return [] if step is None else [step]


def beginning(marker: str, text: str) -> int:
    """The length of the longest end of the text that the marker begins with."""
    for length in range(min(len(marker) - 1, len(text)), 0, -1):
        if text.endswith(marker[:length]):
            return length
    return 0
