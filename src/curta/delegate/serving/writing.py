"""One choice of one request, from its prompt to its end."""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from curta.delegate.interception.events import Event
from curta.delegate.interception.row import Row
from curta.delegate.serving.refusals import RefusedError, read_too_long
from curta.delegate.serving.stops import Piece, Stops


@dataclass(frozen=True)
class Wanted:
    """What is to be written.

    most_tokens: answers of calls included
    temperature: 0 takes the most likely token
    seed:        with one, the same text under any load, up to the rounding of the model's numbers
    """

    prompt: tuple[int, ...]
    most_tokens: int
    temperature: float = 0.0
    top_p: float = 1.0
    seed: str | None = None
    stops: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finished:
    """The end: `stop` (the model's own, or a stop string) or `length` (tokens or time)."""

    reason: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Failed:
    """There will be no answer, or no more of it."""

    refusal: RefusedError


Told = Piece | Finished | Failed
NewRow = Callable[[Callable[[Event], None]], Row]


class Writing:
    """Says which tokens the model is fed for it, takes the chosen ones, tells what comes of it.

    The first tokens to be fed are the prompt's; later ones are those that a `Row` goes on with.
    """

    def __init__(self, wanted: Wanted, tell: Callable[[Told], None], *, time_limit: float) -> None:
        self.wanted = wanted
        self.tell = tell
        self.time_limit = time_limit
        self.arrived = time.monotonic()
        self.deadline = self.arrived + time_limit
        self.last_step = self.arrived
        self.waiting = deque(wanted.prompt)
        self.random = random.Random(wanted.seed)
        self.stops = Stops(wanted.stops)
        self.row: Row | None = None
        self.processor: Any = None
        self.history = list(wanted.prompt)
        self.written = 0
        self.outcome: str | None = None
        """How it ended: stop, length, failed or cancelled."""
        self.has_place = False
        """Whether it is one of those that are written."""
        self.is_cancelled = False
        """Set from any thread: nobody wants the rest."""

    @property
    def is_late(self) -> bool:
        """Whether its time is over."""
        return time.monotonic() > self.deadline

    def begin(self, new_row: NewRow, processor: Any) -> None:
        """From now on it has a row."""
        self.row = new_row(self.hear)
        self.processor = processor

    def hear(self, event: Event) -> None:
        """Something happened in the row."""
        piece = self.stops.feed(event)
        if piece is not None:
            self.tell(piece)

    def feed(self, count: int) -> list[int]:
        """The next tokens for the model."""
        return [self.waiting.popleft() for _ in range(count)]

    def take(self, choice: int, ends: frozenset[int]) -> None:
        """The model's choice behind everything that was fed."""
        assert self.row is not None
        room = self.wanted.most_tokens - self.written
        tokens = [choice] if choice in ends else self.row.take(choice, room)
        self.written += len(tokens)
        if choice in ends or self.stops.found:
            self.end("stop")
        elif self.row.is_full or self.written >= self.wanted.most_tokens:
            self.end("length")
        else:
            self.waiting.extend(tokens)
            self.history.extend(tokens)

    def end(self, reason: str) -> None:
        """No more tokens."""
        if self.row is not None and not self.stops.found:
            self.row.finish()
        piece = self.stops.finish()
        if piece is not None:
            self.tell(piece)
        self.outcome = "stop" if self.stops.found else reason
        self.tell(Finished(self.outcome, self.written))

    def fail(self, refusal: RefusedError) -> None:
        """No answer, or no more of it."""
        self.outcome = "failed"
        self.tell(Failed(refusal))

    def check(self) -> None:
        """End it if nobody wants it, or its time is over: an error if nothing is written."""
        if self.outcome is not None:
            return
        if self.is_cancelled:
            self.outcome = "cancelled"
        elif self.is_late and self.written:
            self.end("length")
        elif self.is_late:
            self.fail(read_too_long(self.time_limit))
