"""One answer while it is written: its tokens, its text, its calls."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from curta.delegate.interception.events import (
    Call,
    CallRejected,
    CallResult,
    CallWritten,
    Event,
    Outcome,
    TextDelta,
    answered,
)
from curta.delegate.interception.pieces import Fragments, TokenText
from curta.delegate.interception.scanner import Closed, Found
from curta.delegate.interception.template import Format
from curta.delegate.tools.tool import Tool
from curta.errors import TokenError

if TYPE_CHECKING:
    from curta.delegate.interception.constraint import Constraint

NUMERAL = re.compile(r"^[0-9.,]*")


@dataclass(frozen=True)
class Calling:
    """How calls are written and answered: what rows have in common.

    asked: names of tools that somebody else executes: a row ends with a call of one
    hides: whether no call is shown as text, though its answer may stand right behind it
    """

    format: Format
    tools: Mapping[str, Tool]
    fragments: Fragments
    constraint: Constraint | None = None
    asked: frozenset[str] = frozenset()
    hides: bool = False


class Row:
    """Takes the tokens that a model chooses, one by one, and says which ones to go on with.

    Usually that is the token itself. Behind a complete call it is the token and the answer. If
    the token says more than the call's end, as `>>.` does, it has not been seen by the model yet:
    it is replaced by tokens for its first part, and what followed is forgotten. Formats that answer
    behind a turn go on behind the token that ends it, or what the template has in its place.

    An answer is given whole or not at all: half a number would be a wrong one. So a row ends at a
    call whose answer has no room any more. Where digits behind an answer would make it another
    number, the row goes on with a space: 4.5 may become 4.50, and not 4.57.
    """

    def __init__(self, tokenizer: Any, calling: Calling, tell: Callable[[Event], None]) -> None:
        self.calling = calling
        self.tell = tell
        self.said = TokenText(tokenizer)
        self.scanner = calling.format.scanner()
        self.text = ""
        """What the model has written in this turn, behind its last call."""
        self.stated = ""
        """What was said last, if it is an answer that is a number, or that and more of it."""
        self.ends: frozenset[int] = frozenset()
        """Tokens that end a turn; they are no text."""
        self.likeliest = False
        """Whether the model's scores alone decide, as they are."""
        self.waiting: deque[int] = deque()
        """What the model is still to be fed; it chooses only where there is nothing."""
        self.tokens = 0
        """How many a loop has fed, calls' answers and the end token included."""
        self.pending: list[Call] = []
        """Calls to be answered before the row can go on."""
        self.resume: Callable[[list[Outcome]], list[int]] = lambda outcomes: []
        self.noted: list[Call] = []
        """Calls of this turn that are answered when it ends."""
        self.number = 0
        """Its place among those that were begun together."""
        self.done = False
        """Whether it needs no more tokens."""
        self.ended = False
        """Whether the answer is complete: it did not only reach a limit."""
        self.closed: Literal["", "over", "asking", "full"] = ""
        """Why nothing may follow, whatever a model would choose: the last turn has ended; or a call
        is answered by somebody else, or its answer had no room.
        """

    def narrowed(self, scores: Any) -> Any:
        """Scores of the next token: where there is a constraint, of those that it allows alone."""
        if self.calling.constraint is None or self.said.is_waiting:
            return scores
        marker = self.scanner.marker
        written = self.text if marker is None else self.scanner.held
        return self.calling.constraint.narrowed(
            scores, marker, written, has_called=bool(self.noted)
        )

    def take(self, token: int, room: int) -> list[int]:
        """The tokens that the model has to be fed: the chosen one, and what is put behind it.

        They are as many as there is room for, at most.
        """
        taken = self.chosen(token, room)
        if not self.pending:
            return taken
        return self.settled([answered(call, self.calling.tools) for call in self.pending])

    def chosen(self, token: int, room: int) -> list[int]:
        """The same, without an answer: where calls are `pending`, `settled` says with what to go
        on.
        """
        if token in self.ends:
            return self.turned(token, room)
        whole = self.said.is_waiting  # a token that ends a character cannot be cut
        piece = rest = self.said.push(token)
        if piece and self.stated:
            number, further = self.stated, NUMERAL.sub("", piece, count=1)
            self.stated = "" if further else number + piece
            longer = number + piece.removesuffix(further)
            if plain(longer) != plain(number) and (space := self.encoded(" ")[1]):
                self.stated = ""
                self.said.replace_last(space)
                self.report(TextDelta(" "))
                self.text += " "
                return space[:room]
        self.text += piece
        while rest:
            steps, rest = self.scanner.feed(rest), ""
            for found in steps:
                if not isinstance(found, Closed):
                    self.report(found)
                    continue
                calls = self.calling.format.read(found.marker, found.body)
                if not calls:
                    self.tell(CallRejected(found.text, found.body.strip()))
                    rest = found.rest
                elif self.calling.format.at_once:
                    fed = [token] if whole else self.first_part(token, piece, found.rest)
                    return self.called(calls, token, fed, found, room)
                else:
                    self.note(calls, found.text)
                    self.text = rest = found.rest
        return [token]

    def settled(self, outcomes: list[Outcome]) -> list[int]:
        """What the model is fed, now that its calls are answered."""
        self.pending = []
        harmless = self.calling.fragments.harmless
        return self.resume(
            [
                replace(each, answer=harmless(each.answer))
                if isinstance(each, CallResult)
                else each
                for each in outcomes
            ]
        )

    def first_part(self, token: int, piece: str, rest: str) -> list[int]:
        """Tokens of a piece without the `rest`; its own where that cannot be said alone."""
        with suppress(TokenError):
            if rest:
                return list(self.calling.fragments.encode(piece.removesuffix(rest)))
        return [token]

    def called(
        self, calls: list[Call], token: int, fed: list[int], found: Closed, room: int
    ) -> list[int]:
        """A call within a turn, of whose last token `fed` is what belongs to it."""
        if any(call.name in self.calling.asked for call in calls):
            self.closed = "asking"
            self.note(calls, found.text)
            if fed != [token]:
                self.said.replace_last(fed)
            return fed[:room]
        self.pending = calls
        self.resume = partial(self.behind, token, fed, found.text, found.rest, room)
        return []

    def behind(
        self, token: int, fed: list[int], text: str, rest: str, room: int, outcomes: list[Outcome]
    ) -> list[int]:
        """The answer, and `fed` before it: a call's last token, or its first part without the
        `rest`; nothing where a turn has ended, which the answer itself says.
        """
        if self.closed:  # somebody else has to answer others first
            self.tell_outcomes(outcomes, "")
            return [token]
        answer, behind, failure = self.encoded(self.calling.format.behind(outcomes))
        if len(fed) + len(behind) > room or not fed + behind:  # or it cannot be said
            self.closed = "full"
            self.tell_outcomes([unanswered(each) for each in outcomes], text + rest)
            return [token]
        if fed and fed != [token]:
            self.said.replace_last(fed)
            rest = ""
        if failure is not None:
            outcomes = [unanswered(each, failure) for each in outcomes]
        self.tell_outcomes(outcomes, text + rest + answer)
        self.said.extend(behind)
        self.scanner.answered(answer)
        self.text = ""
        self.stated = answer.split()[-1] if answer[-1:].isdigit() else ""
        return fed + behind

    def encoded(self, answer: str) -> tuple[str, list[int], TokenError | None]:
        """An answer and its tokens; nothing where the tokenizer cannot say it."""
        try:
            return answer, list(self.calling.fragments.encode(answer)), None
        except TokenError as error:
            return "", [], error

    def turned(self, token: int, room: int) -> list[int]:
        """A turn has ended: its calls are answered, or the whole answer is over."""
        for found in (*self.scanner.feed(self.said.finish()), *self.scanner.turn()):
            calls = []
            if isinstance(found, Closed):
                calls = self.calling.format.read(found.marker, found.body)
            if calls:
                self.note(calls, found.text)
            else:
                self.report(found)
        calls, self.noted = self.noted, []
        own = [call for call in calls if call.name not in self.calling.asked]
        if len(own) < len(calls) or not own:
            self.closed = "asking" if calls else "over"
        if not own:
            return [token]
        self.pending, self.resume = own, partial(self.behind, token, [], "", "", room)
        return []

    def note(self, calls: list[Call], text: str) -> None:
        """Calls that are not answered here and now."""
        for number, call in enumerate(calls):
            is_asked = call.name in self.calling.asked and call.arguments is not None
            written = json.dumps(call.arguments, ensure_ascii=False) if is_asked else call.written
            self.tell(CallWritten("" if number else text, call.name, written))
        self.noted += calls

    def tell_outcomes(self, outcomes: Sequence[Outcome], text: str) -> None:
        """What calls came to; the text belongs to the first of them."""
        for number, each in enumerate(outcomes):
            self.tell(replace(each, text="" if number else text))

    def finish(self) -> None:
        """No more tokens: tell what was held back."""
        for found in (*self.scanner.feed(self.said.finish()), *self.scanner.finish()):
            self.report(found)

    def report(self, found: Found) -> None:
        """What the scanner found; a call that the very last characters close is not answered."""
        if isinstance(found, Closed):
            found = CallRejected(found.text + found.rest, found.body.strip(" "))
        self.tell(found)


def unanswered(outcome: Outcome, why: TokenError | None = None) -> CallRejected:
    """A call whose answer is not given."""
    expression, taken = outcome.expression, outcome.microseconds
    return CallRejected("", expression, why, taken, outcome.tool, evaluated=True)


def plain(number: str) -> str:
    """A number without what does not change it: commas, and zeros behind a point."""
    digits = number.rstrip(".,").replace(",", "")
    return digits.rstrip("0").rstrip(".") if "." in digits and "e" not in digits else digits
