"""Delegation: a language model writes a calculation, and something exact answers it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from curta.delegate.calculator import Budget, Calculator, Result

if TYPE_CHECKING:
    from curta.delegate.interception.generator import CalcGenerator, Output

LATER = {
    "CalcGenerator": "curta.delegate.interception.generator",
    "Output": "curta.delegate.interception.generator",
    **dict.fromkeys(
        ("CallRejected", "CallResult", "CallStarted", "Event", "TextDelta"),
        "curta.delegate.interception.events",
    ),
}
"""What is imported when it is used: the calculator works without PyTorch."""

__all__ = ["Budget", "CalcGenerator", "Calculator", "Output", "Result"]


def __getattr__(name: str) -> Any:
    if name not in LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(LATER[name]), name)
