"""Expressions in, results out, whichever backend computes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from curta.delegate.calculator.backends import Backend, Outcome, backend
from curta.delegate.calculator.budget import Budget
from curta.delegate.calculator.exact import Value
from curta.delegate.calculator.parser import parse
from curta.delegate.calculator.printing import printed
from curta.delegate.calculator.program import Program
from curta.errors import CalculatorError


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
    """Evaluates expressions within a budget; exactly, unless another backend is asked for."""

    def __init__(self, computes: str | Backend = "exact", budget: Budget | None = None) -> None:
        self.budget = budget or Budget()
        self.backend = backend(computes, self.budget) if isinstance(computes, str) else computes

    def evaluate(self, expression: str) -> Result:
        """The result, or a `CalculatorError` that says why there is none."""
        (outcome,) = self.backend.evaluate([parse(expression, self.budget)])
        result = self.result(expression, outcome)
        if isinstance(result, CalculatorError):
            raise result
        return result

    def evaluate_all(self, expressions: Sequence[str]) -> list[Result | CalculatorError]:
        """The result of each, or why there is none; the backend gets all of them at once."""
        parsed = [self.parsed(expression) for expression in expressions]
        programs = [each for each in parsed if isinstance(each, Program)]
        outcomes = iter(self.backend.evaluate(programs))
        return [
            self.result(expression, next(outcomes)) if isinstance(each, Program) else each
            for expression, each in zip(expressions, parsed, strict=True)
        ]

    def parsed(self, expression: str) -> Program | CalculatorError:
        """The program, or why there is none."""
        try:
            return parse(expression, self.budget)
        except CalculatorError as error:
            return error

    def result(self, expression: str, outcome: Outcome) -> Result | CalculatorError:
        """An outcome with its text."""
        if isinstance(outcome, CalculatorError):
            return outcome
        text, is_exact = printed(outcome, self.budget)
        return Result(expression, outcome, text, is_exact)
