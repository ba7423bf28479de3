"""What a model calls, and what that comes to."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from typing import Protocol as Interface

from curta.delegate.calculator.calculator import Result
from curta.delegate.tools.calculator import CalculatorTool
from curta.delegate.tools.tool import Answer, Tool
from curta.errors import CurtaError, ToolError

CALCULATE = CalculatorTool.name
"""What the calculator is called among tools."""


class Evaluates(Interface):
    """Anything that answers expressions."""

    def evaluate(self, expression: str) -> Result:
        """The result, or a `CalculatorError`."""
        ...


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


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call comes to: an answer, or an error."""

    call: Call
    answer: Answer | None
    error: CurtaError | None
    microseconds: float

    @property
    def brief(self) -> str:
        """What the model is told of an error."""
        return str(getattr(self.error, "brief", "error"))


def answered(call: Call, tools: Mapping[str, Tool]) -> Outcome:
    """Execute a call."""
    begun = time.perf_counter()
    answer: Answer | None = None
    error: CurtaError | None = None
    try:
        answer = answer_of(call, tools)
    except CurtaError as raised:
        error = raised
    return Outcome(call, answer, error, (time.perf_counter() - begun) * 1e6)


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
