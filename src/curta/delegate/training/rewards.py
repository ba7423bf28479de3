"""What an answer is worth: it is right, its calls are valid, and none is there in vain."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from curta.delegate.data.answers import is_right, value
from curta.delegate.data.data_set import NEGATIVE
from curta.delegate.data.example import PROTOCOL
from curta.delegate.evaluation.running import call_of
from curta.delegate.interception.events import CallResult, Outcome

if TYPE_CHECKING:
    from curta.delegate.interception.generator import Output


Judge = Callable[["Output", str | None, str], float]
"""Says how much of something an answer has, from 0 to 1. What is known about the question: the
result of a right answer, and its category.
"""


def right(output: Output, wanted: str | None, category: str) -> float:
    """Whether the answer comes to the result; 0 where there is none to come to."""
    return float(wanted is not None and is_right(output.written(PROTOCOL), wanted))


def valid(output: Output, wanted: str | None, category: str) -> float:
    """The share of calls that were answered, where there is something to compute."""
    is_needed = category != NEGATIVE
    return share(output, lambda call: is_needed and isinstance(call, CallResult))


def rejected(output: Output, wanted: str | None, category: str) -> float:
    """The share of calls that failed, but for those whose error is the right answer."""
    return share(output, lambda call: call_of(call).failed(wanted))


def share(output: Output, holds: Callable[[Outcome], bool]) -> float:
    """Of the calls; 0 of none."""
    return sum(map(holds, output.calls)) / max(1, len(output.calls))


def unneeded(output: Output, wanted: str | None, category: str) -> float:
    """The share of calls in vain: nothing to compute, a number alone, the same call again."""
    if not output.calls:
        return 0.0
    if category == NEGATIVE:
        return 1.0
    written = [call.expression for call in output.calls]
    numbers = sum(value(each) is not None for each in set(written))
    return (numbers + len(written) - len(set(written))) / len(written)


JUDGES: dict[str, Judge] = {each.__name__: each for each in (right, valid, rejected, unneeded)}
"""By the names of their weights."""
