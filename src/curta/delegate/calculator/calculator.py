"""Expressions in, results out, whichever backend computes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from curta.delegate.calculator.backends import Backend, Outcome, backend
from curta.delegate.calculator.budget import Budget
from curta.delegate.calculator.operations import Program
from curta.delegate.calculator.parser import parse
from curta.delegate.calculator.printing import Near, printed
from curta.delegate.calculator.reals import Rational
from curta.errors import CalculatorError, UserError


class Result(NamedTuple):
    """What an expression comes to.

    exact: whether the text says exactly what the expression is worth
    """

    expression: str
    value: Rational | float | bool
    text: str
    exact: bool


class Calculator:
    """Evaluates expressions within a budget; by rationals, unless another backend is asked for."""

    def __init__(self, computes: str | Backend = "exact", budget: Budget | None = None) -> None:
        self.budget = budget or Budget()
        self.backend = backend(computes, self.budget) if isinstance(computes, str) else computes

    def evaluate(self, expression: str) -> Result:
        """The result, or a `CalculatorError` that says why there is none."""
        program = parse(expression, self.budget)
        (outcome,) = self.backend.evaluate([program])
        result = self.result(program, outcome)
        if isinstance(result, CalculatorError):
            raise result
        return result

    def number(self, expression: str) -> Rational | float | None:
        """The value, if there is one that is a number."""
        try:
            value = self.evaluate(expression).value
        except CalculatorError:
            return None
        return None if isinstance(value, bool) else value

    def evaluate_all(self, expressions: Sequence[str]) -> list[Result | CalculatorError]:
        """The result of each, or why there is none; the backend gets all of them at once."""
        if isinstance(expressions, str):
            raise UserError("one expression where a list of them is wanted: put it in brackets")
        parsed = [self.parsed(expression) for expression in expressions]
        outcomes = iter(self.backend.evaluate([e for e in parsed if isinstance(e, Program)]))
        return [
            self.result(each, next(outcomes)) if isinstance(each, Program) else each
            for each in parsed
        ]

    def parsed(self, expression: str) -> Program | CalculatorError:
        """The program, or why there is none."""
        try:
            return parse(expression, self.budget)
        except CalculatorError as error:
            return error

    def result(self, program: Program, outcome: Outcome) -> Result | CalculatorError:
        """An outcome with its text; the value of what is not rational is a float."""
        if isinstance(outcome, CalculatorError):
            return outcome
        if isinstance(outcome, Near):
            return Result(program.text, *outcome, False)
        return Result(program.text, outcome, *printed(outcome, self.budget))
