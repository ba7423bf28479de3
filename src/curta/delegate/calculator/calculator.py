"""Expressions in, results out, whichever backend computes them."""

from __future__ import annotations

from dataclasses import dataclass

from curta.delegate.calculator.budget import Budget
from curta.delegate.calculator.exact import Arithmetic, Value
from curta.delegate.calculator.parser import parse
from curta.delegate.calculator.printing import printed


@dataclass(frozen=True, slots=True)
class Result:
    """What an expression comes to.

    exact: whether the text says exactly what the expression is worth
    """

    expression: str
    value: Value
    text: str
    exact: bool


class Calculator:
    """Evaluates one expression at a time, exactly wherever there is an exact answer."""

    def __init__(self, budget: Budget | None = None) -> None:
        self.budget = budget or Budget()
        self.arithmetic = Arithmetic(self.budget)

    def evaluate(self, expression: str) -> Result:
        """The result, or a `CalculatorError` that says why there is none."""
        value = self.arithmetic.evaluate(parse(expression, self.budget))
        text, is_exact = printed(value, self.budget)
        return Result(expression, value, text, is_exact)
