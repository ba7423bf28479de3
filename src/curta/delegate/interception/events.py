"""What happens while a model writes. The texts of all events, put together, are what it wrote."""

from __future__ import annotations

from dataclasses import dataclass

from curta.delegate.calculator.exact import Value
from curta.errors import CalculatorError


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
    """A call was answered by an error; or it never ended, and stays as text without an answer."""

    text: str
    expression: str
    error: CalculatorError | None
    microseconds: float


Event = TextDelta | CallStarted | CallResult | CallRejected
