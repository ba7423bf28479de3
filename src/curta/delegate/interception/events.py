"""What happens while a model writes. The texts of all events, put together, are what it wrote."""

from __future__ import annotations

from dataclasses import dataclass

from curta.delegate.calculator.exact import Value
from curta.errors import CurtaError


@dataclass(frozen=True, slots=True)
class TextDelta:
    """Text of the model's own."""

    text: str


@dataclass(frozen=True, slots=True)
class CallStarted:
    """A call's opening marker was written."""

    text: str


@dataclass(frozen=True, slots=True)
class CallResult:
    """A call was answered.

    text:  the rest of the call, and the answer behind it
    exact: whether the answer is all of the value, not rounded
    """

    text: str
    expression: str
    value: Value
    answer: str
    exact: bool
    microseconds: float


@dataclass(frozen=True, slots=True)
class CallRejected:
    """A call was answered by an error; or it stays as text without an answer.

    That is so if it never ended, or if the tokenizer cannot say the answer.
    """

    text: str
    expression: str
    error: CurtaError | None
    microseconds: float


Event = TextDelta | CallStarted | CallResult | CallRejected
