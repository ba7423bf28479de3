"""Delegation: a language model writes a calculation, and something exact answers it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from curta.delegate.calculator import Budget, Calculator, Result
from curta.later import later

if TYPE_CHECKING:
    from curta.delegate.interception.events import (
        CallRejected,
        CallResult,
        CallStarted,
        Event,
        TextDelta,
    )
    from curta.delegate.interception.generator import CalcGenerator, Output

__all__ = [
    "Budget", "CalcGenerator", "Calculator", "CallRejected", "CallResult", "CallStarted", "Event",
    "Output", "Result", "TextDelta",
]  # fmt: skip
EVENTS = ("CallRejected", "CallResult", "CallStarted", "Event", "TextDelta")
__getattr__ = later(  # the calculator works without PyTorch
    __name__,
    dict.fromkeys(EVENTS, "curta.delegate.interception.events")
    | dict.fromkeys(("CalcGenerator", "Output"), "curta.delegate.interception.generator"),
)
