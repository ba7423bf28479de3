"""Answers in the shape of OpenAI's, with calculations beside the text."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from curta.delegate.interception.events import CALCULATE, CallResult, CallWritten, Outcome
from curta.delegate.serving.writing import Piece, Score


@dataclass(frozen=True)
class Shape:
    """What the parts of one answer have in common."""

    chat: bool
    model: str
    opening: str
    """The marker that calls open with."""
    name: str = field(default_factory=lambda: uuid.uuid4().hex)
    created: int = field(default_factory=lambda: int(time.time()))

    def answer(
        self, choices: list[dict[str, Any]], *, streamed: bool, **more: Any
    ) -> dict[str, Any]:
        """An answer with these choices, or an event of a stream."""
        kind, prefix = ("chat.completion", "chatcmpl") if self.chat else ("text_completion", "cmpl")
        return {
            "id": f"{prefix}-{self.name}",
            "object": f"{kind}.chunk" if streamed and self.chat else kind,
            "created": self.created,
            "model": self.model,
            "choices": choices,
            **more,
        }

    def choice(self, index: int, piece: Piece) -> dict[str, Any]:
        """One choice of it, all of which is one piece."""
        found = [self.calculation(call) for call in piece.calls]
        made = begun(index, piece.reason, self.logprobs(piece.scores, 0))
        if not self.chat:
            return made | {"text": piece.text, "calculations": found}
        message: dict[str, Any] = {"role": "assistant", "content": piece.text, "refusal": None}
        if piece.asked:
            message["content"] = piece.text.strip() or None
            message["tool_calls"] = [asked_call(each) for each in piece.asked]
        return made | {"message": message | {"calculations": found}}

    def deltas(self, index: int, piece: Piece, before: Piece | None) -> Iterator[dict[str, Any]]:
        """What is new, with the calculations that end in it, behind all that was before.

        A call of a client's tool is two events: its name, and its arguments.
        """
        if self.chat and before is None:
            yield self.chunk(index, {"role": "assistant", "content": ""})
        calls, offset = (len(before.asked), len(before.text)) if before else (0, 0)
        found = [self.calculation(call) for call in piece.calls]
        if piece.text or found or piece.scores:
            given: dict[str, Any] = {"content" if self.chat else "text": piece.text}
            given |= {"calculations": found} if found else {}
            yield self.chunk(index, given, None, self.logprobs(piece.scores, offset))
        for number, each in enumerate(piece.asked, calls):
            whole = asked_call(each)
            arguments = whole["function"].pop("arguments")
            named = whole | {"index": number, "function": whole["function"] | {"arguments": ""}}
            rest = {"index": number, "function": {"arguments": arguments}}
            for part in (named, rest):
                yield self.chunk(index, {"tool_calls": [part]})
        if piece.reason:
            yield self.chunk(index, {} if self.chat else {"text": ""}, piece.reason)

    def logprobs(self, scores: Sequence[Score], offset: int) -> dict[str, Any] | None:
        """Of chosen tokens, if they were asked for; `offset` is where their text begins."""
        if not scores:
            return None
        if self.chat:
            content = [
                logprob(each.token, each.logprob)
                | {"top_logprobs": [logprob(*other) for other in each.likeliest]}
                for each in scores
            ]
            return {"content": content, "refusal": None}
        places = accumulate((len(each.token) for each in scores[:-1]), initial=offset)
        return {
            "tokens": [each.token for each in scores],
            "token_logprobs": [each.logprob for each in scores],
            "top_logprobs": [dict(each.likeliest) for each in scores],
            "text_offset": list(places),
        }

    def chunk(
        self,
        index: int,
        given: dict[str, Any],
        reason: str | None = None,
        logprobs: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """One event of a stream."""
        choice = begun(index, reason, logprobs) | ({"delta": given} if self.chat else given)
        return self.answer([choice], streamed=True)

    def calculation(self, call: Outcome) -> dict[str, Any]:
        """A call, in parts."""
        made: dict[str, Any] = {
            "tool": call.tool,
            "expression": call.expression,
            "result": None,
            "exact": False,
            "error": None,
            "message": None,
            "microseconds": round(call.microseconds, 1),
            "text": (self.opening if call.tool == CALCULATE else "") + call.text,
        }
        if isinstance(call, CallResult):
            return made | {"result": call.answer, "exact": call.exact}
        if call.error is None:
            return made | {
                "error": "unanswered",
                "message": "the call did not end, is too long, or has no room for its answer",
            }
        return made | {"error": call.brief, "message": str(call.error)}


def begun(index: int, reason: str | None, logprobs: dict[str, Any] | None) -> dict[str, Any]:
    """What choices have, whole or not."""
    return {"index": index, "finish_reason": reason, "logprobs": logprobs}


def asked_call(call: CallWritten) -> dict[str, Any]:
    """A call that the client has to answer."""
    return {
        "id": f"call_{uuid.uuid4().hex[:24]}",
        "type": "function",
        "function": {"name": call.tool, "arguments": call.expression},
    }


def logprob(token: str, value: float) -> dict[str, Any]:
    return {"token": token, "logprob": value, "bytes": list(token.encode())}
