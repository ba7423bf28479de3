"""What a model calls, and what that comes to."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from curta.delegate.interception.events import CallRejected, CallResult
from curta.delegate.tools.calculator import CalculatorTool
from curta.delegate.tools.tool import Answer, Tool
from curta.errors import CurtaError, ToolError

Outcome = CallResult | CallRejected
"""What a call comes to; the text is for whoever writes it to say."""

CALCULATE = CalculatorTool.name
"""What the calculator is called among tools."""


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
        return CallRejected("", call.written, found, taken, call.name)
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
