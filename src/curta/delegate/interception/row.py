"""One answer while it is written: its tokens, its text, its calls."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from typing import Protocol as Interface

from curta.delegate.calculator.calculator import Result
from curta.delegate.interception.constraint import Constraint
from curta.delegate.interception.events import (
    CallRejected,
    CallResult,
    CallStarted,
    Event,
    TextDelta,
)
from curta.delegate.interception.pieces import Fragments, TokenText
from curta.delegate.interception.protocol import Protocol
from curta.delegate.interception.scanner import Abandoned, Closed, Found, Opened, Scanner, Text
from curta.errors import CalculatorError, CurtaError, TokenError


class Evaluates(Interface):
    """Anything that answers expressions."""

    def evaluate(self, expression: str) -> Result:
        """The result, or a `CalculatorError`."""
        ...


class Row:
    """Takes the tokens that a model chooses, one by one, and says which ones to go on with.

    Usually that is the token itself. Behind a complete call it is the token and the answer. If
    the token says more than the call's end, as `>>.` does, it has not been seen by the model yet:
    it is replaced by tokens for its first part, and what followed is forgotten.

    An answer is given whole or not at all: half a number would be a wrong one. So a row ends at a
    call whose answer has no room any more.
    """

    def __init__(
        self,
        tokenizer: Any,
        calculator: Evaluates,
        protocol: Protocol,
        fragments: Fragments,
        tell: Callable[[Event], None],
        constraint: Constraint | None = None,
    ) -> None:
        self.calculator = calculator
        self.protocol = protocol
        self.fragments = fragments
        self.tell = tell
        self.constraint = constraint
        self.said = TokenText(tokenizer)
        self.scanner = Scanner(protocol)
        self.tokens = 0
        """How many a loop has fed, calls' answers and the end token included."""
        self.ended = False
        """Whether the answer is complete: it did not only reach a limit."""
        self.is_full = False
        """Whether a call's answer had no room: nothing may follow."""

    @property
    def in_call(self) -> bool:
        """Whether a call has begun and not ended."""
        return self.scanner.inside

    def narrowed(self, scores: Any) -> Any:
        """Scores of the next token: where there is a constraint, of those that it allows alone."""
        if self.constraint is None or not self.in_call or self.said.is_waiting:
            return scores
        allowed = list(self.constraint.allowed(self.scanner.held))
        if not allowed or scores[allowed].max() == -math.inf:
            return scores
        narrow = scores.new_full(scores.shape, -math.inf)
        narrow[allowed] = scores[allowed]
        return narrow

    def take(self, token: int, room: int) -> list[int]:
        """The tokens that the model has to be fed: the chosen one, and what is put behind it.

        They are as many as there is room for, at most.
        """
        waiting = self.said.is_waiting
        piece = self.said.push(token)
        for found in self.scanner.feed(piece) if piece else ():
            if isinstance(found, Closed):
                return self.answered(token, piece, found, room, whole=waiting)
            self.report(found)
        return [token]

    def answered(
        self, token: int, piece: str, call: Closed, room: int, *, whole: bool
    ) -> list[int]:
        """Evaluate a call. `whole`: the token ends a character and cannot be cut."""
        tokens, rest = [token], call.rest
        if call.rest and not whole:
            # Where its first part cannot be said alone, it stays as it is.
            with suppress(TokenError):
                tokens = list(self.fragments.encode(piece[: len(piece) - len(call.rest)]))
                rest = ""
        begun = time.perf_counter()
        result: Result | None = None
        error: CurtaError | None = None
        try:
            result = self.calculator.evaluate(call.expression)
            answer = self.protocol.answered(result.text)
        except CalculatorError as raised:
            error = raised
            answer = self.protocol.failed(raised)
        taken = (time.perf_counter() - begun) * 1e6
        try:
            behind = list(self.fragments.encode(answer))
        except TokenError as raised:
            result, error, answer, behind = None, raised, "", []
        if len(tokens) + len(behind) > room:
            self.is_full = True
            self.tell(CallRejected(call.text + call.rest, call.expression, None, taken))
            return [token]
        if rest != call.rest:
            self.said.replace_last(tokens)
        text = call.text + rest + answer
        if result is not None:
            self.tell(
                CallResult(text, call.expression, result.value, result.text, result.exact, taken)
            )
        else:
            self.tell(CallRejected(text, call.expression, error, taken))
        self.said.extend(behind)
        return tokens + behind

    def finish(self) -> None:
        """No more tokens: tell what was held back."""
        for found in (*self.scanner.feed(self.said.finish()), *self.scanner.finish()):
            self.report(found)

    def report(self, found: Found) -> None:
        """What the scanner found, as an event."""
        if isinstance(found, Text):
            self.tell(TextDelta(found.text))
        elif isinstance(found, Opened):
            self.tell(CallStarted(found.text))
        elif isinstance(found, Abandoned):
            self.tell(CallRejected(found.text, found.text.strip(), None, 0.0))
        else:  # closed by the very last characters: nobody reads an answer any more
            self.tell(CallRejected(found.text + found.rest, found.expression, None, 0.0))
