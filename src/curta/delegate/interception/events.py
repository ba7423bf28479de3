"""What happens while a model writes, and what its calls come to. The texts of all events, put
together, are what it wrote.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from curta.delegate.interception.protocol import Protocol
from curta.delegate.tools.calculator import CalculatorTool
from curta.delegate.tools.tool import Answer, Tool
from curta.errors import CurtaError, ToolError

CALCULATE = CalculatorTool.name
"""What the calculator is called among tools."""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """Text of the model's own."""

    text: str


@dataclass(frozen=True, slots=True)
class CallStarted:
    """A call's opening marker was written."""

    text: str


@dataclass(frozen=True, slots=True)
class CallWritten:
    """A call is complete; it is answered when the turn ends, or by somebody else.

    text:       the rest of the call
    expression: its arguments, as they were written
    """

    text: str
    tool: str
    expression: str


@dataclass(frozen=True, slots=True)
class CallResult:
    """A call was answered.

    text:  what has been written since the last event, and the answer
    exact: whether the answer is all of the value, not rounded
    """

    text: str
    expression: str
    value: Any
    answer: str
    exact: bool
    microseconds: float
    tool: str = CALCULATE


@dataclass(frozen=True, slots=True)
class CallRejected:
    """A call was answered by an error; or it stays as text without an answer.

    That is so if it never ended, or if the tokenizer cannot say the answer.

    evaluated: whether it was a call, which was executed; otherwise it is text after all
    """

    text: str
    expression: str
    error: CurtaError | None = None
    microseconds: float = 0.0
    tool: str = CALCULATE
    evaluated: bool = False

    @property
    def brief(self) -> str:
        """What the model is told of the error."""
        return str(getattr(self.error, "brief", "error"))


Event = TextDelta | CallStarted | CallWritten | CallResult | CallRejected
Outcome = CallResult | CallRejected
"""What a call comes to; the text is for whoever writes it to say."""


@dataclass(frozen=True, slots=True)
class Call:
    """What a model wrote.

    written:   the expression, or the arguments, as they stand in the text
    arguments: None if they cannot be read
    error:     why there is no such call
    """

    name: str
    written: str
    arguments: Mapping[str, Any] | None = None
    error: ToolError | None = None


def answered(call: Call, tools: Mapping[str, Tool]) -> Outcome:
    """Execute a call."""
    begun = time.perf_counter()
    found: Answer | CurtaError
    try:
        found = answer_of(call, tools)
    except CurtaError as error:
        found = error
    taken = (time.perf_counter() - begun) * 1e6
    if isinstance(found, CurtaError):
        return CallRejected("", call.written, found, taken, call.name, evaluated=True)
    return CallResult("", call.written, found.value, found.text, found.exact, taken, tool=call.name)


def answer_of(call: Call, tools: Mapping[str, Tool]) -> Answer:
    """An answer with a result, or an error."""
    if call.error is not None:
        raise call.error
    tool = tools.get(call.name)
    if tool is None:
        names = ", ".join(tools) or "none"
        raise ToolError(f"there is no tool {call.name!r}; there are: {names}", "no such tool")
    if isinstance(tool, CalculatorTool):
        return tool.evaluate(call.arguments)  # its errors are of more kinds than a tool's
    answer = tool.call(call.arguments or {})
    if answer.error is not None:
        raise ToolError(answer.error, answer.text)
    return answer


def written(events: Sequence[Event], protocol: Protocol) -> str:
    """What events say, calls of the calculator as another protocol has them. One that is answered
    behind its turn is a line where the answer is; one that nothing opened, a calculation in the
    model's own words, stays as it is.
    """
    said, noted, begun = "", 0, False
    for event, following in zip_longest(events, events[1:]):
        if isinstance(event, CallWritten):
            noted += 1
        elif isinstance(event, CallStarted):
            said += "" if isinstance(following, CallWritten) else protocol.open
            begun = True
        elif isinstance(event, TextDelta) or (ending := ended(event, protocol)) is None:
            said += event.text
        elif noted:
            noted -= 1
            said += f"\n{protocol.open}{ending}\n"
        else:
            said += ending if begun else event.text
            begun = False
    return said


def ended(event: Outcome, protocol: Protocol) -> str | None:
    """The rest of a call, and its answer; nothing of one that was not evaluated."""
    if isinstance(event, CallResult):
        behind = protocol.answered(event.answer)
    elif brief := getattr(event.error, "brief", ""):
        behind = protocol.failure.format(brief)
    else:
        return None
    return f" {calculation(event)}{protocol.close}{behind}"


def calculation(event: Outcome) -> str:
    """The expression of a call, which may be an argument in JSON."""
    try:
        given = json.loads(event.expression)
    except (ValueError, RecursionError):
        given = None
    expression = given.get("expression") if isinstance(given, dict) else None
    return expression.strip() if isinstance(expression, str) else event.expression


def shown(event: Event, *, at_once: bool) -> str:
    """What people see of it: the text; of calls in a model's own format, what is called and what
    that comes to, instead of what templates put around it.
    """
    if at_once or isinstance(event, TextDelta):
        return event.text
    if isinstance(event, CallWritten):
        return f"\n{event.tool} {event.expression}"
    if isinstance(event, CallResult):
        return f" = {event.answer}\n"
    if isinstance(event, CallRejected):
        return event.text if event.error is None else f" = error: {event.error}\n"
    return ""
