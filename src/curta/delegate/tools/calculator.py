"""The calculator as a tool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from curta.delegate.calculator import Calculator
from curta.delegate.tools.schemas import arguments_schema, checked_arguments
from curta.delegate.tools.tool import Answer, refused
from curta.errors import CalculatorError, ToolError

PARAMETERS = arguments_schema(
    {"expression": {"type": "string"}},
    {"expression": "numbers with operators and functions between them"},
)


@dataclass(frozen=True)
class CalculatorTool:
    """Expressions in, exact numbers out; `calculator` is anything that evaluates them."""

    calculator: Any = field(default_factory=Calculator)
    name: str = "calculate"
    description: str = (
        "The exact value of an expression: whole numbers, decimals, + - * / // % ^, parentheses, "
        "comparisons and functions such as sqrt, gcd, factorial. A result that is rounded says so."
    )
    parameters: Mapping[str, Any] = field(default_factory=lambda: PARAMETERS)
    sandboxed: bool = True

    def call(self, arguments: Mapping[str, Any]) -> Answer:
        try:
            return self.evaluate(arguments)
        except (CalculatorError, ToolError) as error:
            return refused(error)

    def evaluate(self, arguments: Any) -> Answer:
        result = self.calculator.evaluate(checked_arguments(PARAMETERS, arguments)["expression"])
        return Answer(result.text, result.value, result.exact)
