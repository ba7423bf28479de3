"""Answers in the shape of OpenAI's, with calculations beside the text."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from curta.delegate.interception.events import CallResult
from curta.delegate.serving.stops import Call


@dataclass(frozen=True)
class Shape:
    """What the parts of one answer have in common."""

    chat: bool
    model: str
    opening: str
    """The marker that calls open with."""
    name: str = field(default_factory=lambda: uuid.uuid4().hex)
    created: int = field(default_factory=lambda: int(time.time()))

    def whole(self, choices: Sequence[dict[str, Any]], usage: dict[str, int]) -> dict[str, Any]:
        """An answer in one piece."""
        kind = "chat.completion" if self.chat else "text_completion"
        return self.frame(kind) | {"choices": list(choices), "usage": usage}

    def choice(self, index: int, text: str, calls: Sequence[Call], reason: str) -> dict[str, Any]:
        """One choice of it."""
        found = [self.calculation(call) for call in calls]
        made: dict[str, Any] = {"index": index, "finish_reason": reason, "logprobs": None}
        if self.chat:
            message = {"role": "assistant", "content": text, "refusal": None}
            return made | {"message": message | {"calculations": found}}
        return made | {"text": text, "calculations": found}

    def first(self, index: int) -> dict[str, Any] | None:
        """What a stream of a chat begins with, for each choice."""
        if not self.chat:
            return None
        return self.chunk(index, {"role": "assistant", "content": ""}, None)

    def delta(self, index: int, text: str, calls: Sequence[Call]) -> dict[str, Any]:
        """Text that is new, with the calls that end in it."""
        found = [self.calculation(call) for call in calls]
        given: dict[str, Any] = {"content" if self.chat else "text": text}
        return self.chunk(index, given | ({"calculations": found} if found else {}), None)

    def last(self, index: int, reason: str) -> dict[str, Any]:
        """What a choice ends with."""
        return self.chunk(index, {} if self.chat else {"text": ""}, reason)

    def chunk(self, index: int, given: dict[str, Any], reason: str | None) -> dict[str, Any]:
        """One event of a stream."""
        made: dict[str, Any] = {"index": index, "finish_reason": reason, "logprobs": None}
        choice = made | ({"delta": given} if self.chat else given)
        return self.frame(self.streamed) | {"choices": [choice]}

    def counts(self, usage: dict[str, int]) -> dict[str, Any]:
        """The event with counts that a stream may end with."""
        return self.frame(self.streamed) | {"choices": [], "usage": usage}

    @property
    def streamed(self) -> str:
        """What an event of a stream is."""
        return "chat.completion.chunk" if self.chat else "text_completion"

    def frame(self, kind: str) -> dict[str, Any]:
        """What every part has."""
        return {
            "id": f"{'chatcmpl' if self.chat else 'cmpl'}-{self.name}",
            "object": kind,
            "created": self.created,
            "model": self.model,
        }

    def calculation(self, call: Call) -> dict[str, Any]:
        """A call, in parts."""
        made: dict[str, Any] = {
            "expression": call.expression,
            "result": None,
            "exact": False,
            "error": None,
            "message": None,
            "microseconds": round(call.microseconds, 1),
            "text": self.opening + call.text,
        }
        if isinstance(call, CallResult):
            return made | {"result": call.answer, "exact": call.exact}
        if call.error is None:
            return made | {
                "error": "unanswered",
                "message": "the call did not end, is too long, or has no room for its answer",
            }
        brief = getattr(call.error, "brief", "error")
        return made | {"error": brief, "message": str(call.error)}


def usage(prompt: int, written: int) -> dict[str, int]:
    """Counts of tokens."""
    return {
        "prompt_tokens": prompt,
        "completion_tokens": written,
        "total_tokens": prompt + written,
    }
