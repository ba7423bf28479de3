"""One choice of one request, from its prompt to its end: which token is next, and what is told.

Told is text, with the calls in it, up to the first stop string. What could be the beginning of one
waits until it is known to be none. A stop string is looked for in all of the text, calls and
answers too; it is left out itself, and so are calls whose text does not end before it.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch

from curta.delegate.interception.events import (
    CallRejected,
    CallStarted,
    CallWritten,
    Event,
    Outcome,
    TextDelta,
)
from curta.delegate.interception.row import Calling, Row
from curta.delegate.interception.scanner import beginning
from curta.delegate.serving.refusals import RefusedError

if TYPE_CHECKING:
    from curta.delegate.serving.engine import Engine

COLDEST = 1e-6
"""Temperatures up to this one choose the most likely token."""


@dataclass(frozen=True)
class Wanted:
    """What is to be written.

    most_tokens: answers of calls included
    temperature: 0 takes the most likely token
    seed:        with one, the same text under any load, up to the rounding of the model's numbers
    calling:     how it calls, if not as the generator does
    scored:      how many tokens are told beside each chosen one; None: not that one either
    begins:      how the answer has to begin; so many of the prompt's last tokens say it
    """

    prompt: tuple[int, ...]
    most_tokens: int
    temperature: float = 0.0
    top_p: float = 1.0
    seed: str | None = None
    stops: tuple[str, ...] = ()
    calling: Calling | None = None
    scored: int | None = None
    begins: str = ""
    begun_tokens: int = 0


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
    calls: tuple[Outcome, ...] = ()
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
        self.calls: list[tuple[int, Outcome]] = []
        """Calls whose text is held, and where it ends."""
        self.found = False

    def feed(self, event: Event, text: str) -> Piece | None:
        """What is known to come before any stop string; `text` is what clients see of an event."""
        if self.found:
            return None
        self.held += text
        if isinstance(event, Outcome):
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


Told = Piece | RefusedError
"""What a client hears; an error: there will be no answer, or no more of it."""
REASONS = {"over": "stop", "asking": "tool_calls", "full": "length", "": "length"}
"""How an answer ends whose row is closed for this reason, or reached a limit."""


class Writing(Row):
    """A row of a request: what waits for it first is its prompt.

    The engine hears of everything that happens, `tell` of what is to be passed on.
    """

    def __init__(self, engine: Engine, wanted: Wanted, tell: Callable[[Told], None]) -> None:
        generator = engine.generator
        super().__init__(generator.tokenizer, wanted.calling or generator.calling, self.hear)
        self.engine = engine
        self.ends = engine.ends
        self.wanted = wanted
        self.pass_on = tell
        self.last_step = time.monotonic()
        self.deadline = self.last_step + engine.limits.time_limit
        self.waiting.extend(wanted.prompt)
        self.random = random.Random(wanted.seed)
        self.stops = Stops(wanted.stops)
        self.scores: list[Score] = []
        """Of tokens that were chosen, as far as they are not told."""
        self.hides, self.opening = False, ""
        """Whether the call that has begun is no text, and how it began."""
        if wanted.begins:
            self.said.extend(list(wanted.prompt[len(wanted.prompt) - wanted.begun_tokens :]))
            self.text = wanted.begins
            for found in self.scanner.feed(wanted.begins):
                self.report(found)
        self.history = list(wanted.prompt)
        self.written = 0
        """How many were written, calls' answers included."""
        self.outcome: str | None = None
        """How it ended: stop, length, failed or cancelled."""
        self.is_read = False
        """Whether its prompt has been read, and what a tool answered."""
        self.tools: Future[list[Outcome]] | None = None
        """Its calls, while tools work on them."""
        self.given_up = threading.Event()
        """Set from any thread where nobody wants the rest, nor the answers of its tools."""

    @cached_property
    def processor(self) -> Any:
        """What the model's own rules do to scores."""
        return self.engine.new_processor(len(self.wanted.prompt))

    @property
    def room(self) -> int:
        """How many tokens may still be written."""
        return self.wanted.most_tokens - self.written

    def choice(self, scores: torch.Tensor, likeliest: int) -> int:
        """Which token is next: the likeliest one, or one drawn with the row's random numbers."""
        token, is_drawn = likeliest, self.wanted.temperature > COLDEST
        if is_drawn or self.processor or self.calling.constraint is not None:
            allowed = scores
            if self.processor:
                history = torch.tensor([self.history], device=scores.device)
                (allowed,) = self.processor(history, scores[None])
            allowed = self.narrowed(allowed)
            token = self.drawn(allowed) if is_drawn else int(allowed.argmax())
        if self.wanted.scored is not None and token not in self.ends:
            self.scores.append(self.scored(scores, token, self.wanted.scored))
        return token

    def drawn(self, scores: torch.Tensor) -> int:
        """A token by its probability; of the likeliest ones that make up `top_p` together."""
        wanted = self.wanted
        shares = torch.softmax(scores.double().cpu() / wanted.temperature, dim=-1)
        ordered, tokens = shares.sort(descending=True, stable=True)
        sums = ordered.cumsum(dim=-1)
        kept = int((sums < wanted.top_p).sum()) + 1 if wanted.top_p < 1 else len(sums)
        kept = min(kept, int((ordered > 0).sum()))
        at = self.random.random() * float(sums[kept - 1])
        place = int(torch.searchsorted(sums[:kept], at, right=True))
        return int(tokens[min(place, kept - 1)])

    def scored(self, scores: torch.Tensor, token: int, others: int) -> Score:
        """What the model says of a token, and which others it finds likeliest."""
        logprobs, text = torch.log_softmax(scores, dim=-1), self.said.decode
        best = logprobs.topk(others)
        likeliest = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        told = tuple((text([each]), value) for each, value in likeliest)
        return Score(text([token]), float(logprobs[token]), told)

    def hear(self, event: Event) -> None:
        """Something happened in the row."""
        self.engine.count_call(event)
        text = self.shown(event)
        if self.hides and text and isinstance(event, CallRejected):  # nor of the calculator's
            event = TextDelta(text)
        self.pass_piece(self.stops.feed(event, text))
        if isinstance(event, CallWritten) and event.tool in self.calling.asked:
            self.pass_piece(Piece(asked=(event,)))

    def shown(self, event: Event) -> str:
        """What a client sees of it in the text. Calls in the model's own format are no text, nor
        are those that the client answers, or beside an answer with a schema; they are objects.
        """
        calling = self.calling
        if isinstance(event, TextDelta):  # between the calls of a turn, if there is one already
            return "" if calling.hides and self.noted else event.text
        if isinstance(event, CallStarted):
            openings = map(calling.format.opening, calling.asked)
            at_once = calling.format.at_once and not calling.hides
            self.hides = not at_once or event.text in openings
        if not self.hides:
            return event.text
        if isinstance(event, CallStarted):
            self.opening = event.text
        elif isinstance(event, CallRejected) and not event.evaluated:
            return self.opening + event.text
        return ""

    def pass_piece(self, piece: Piece | None) -> None:
        """With the scores that have come up to it."""
        if piece is not None:
            self.pass_on(replace(piece, scores=tuple(self.scores)))
            self.scores.clear()

    def go_on(self, tokens: list[int]) -> None:
        """With these, which were chosen or put behind a call, or to the end."""
        self.written += len(tokens)
        if self.closed or self.stops.found or self.room <= 0:
            self.end(REASONS[self.closed])
        else:
            self.waiting.extend(tokens)
            self.history.extend(tokens)

    def end(self, reason: str) -> None:
        if not self.stops.found:
            self.finish()
        piece = self.stops.finish()
        self.pass_piece(piece or (Piece() if self.scores else None))
        self.close("stop" if self.stops.found else reason)
        self.pass_on(Piece(reason=str(self.outcome), tokens=self.written))

    def fail(self, refusal: RefusedError) -> None:
        """No answer, or no more of it."""
        if self.outcome is None:
            self.close("failed")
            self.pass_on(refusal)

    def close(self, outcome: str) -> None:
        self.outcome, self.done = outcome, True
        self.given_up.set()
        self.engine.count_end(self)

    def check(self) -> None:
        """End it if nobody wants it, or its time is over: an error if nothing is written."""
        if self.outcome is not None:
            return
        if self.given_up.is_set():
            self.close("cancelled")
        elif time.monotonic() <= self.deadline:
            return
        elif self.written:
            self.end("length")
        else:
            limit = f"the time limit of {self.engine.limits.time_limit:g} s (--time-limit)"
            why = f"no row was free within {limit}"
            if self in self.engine.placed:
                why = f"the prompt was still being read at {limit}: nothing is written yet; "
                why += "try again, or with a shorter one"
            self.fail(RefusedError(why, status=503, code="time_limit", wait=5))
