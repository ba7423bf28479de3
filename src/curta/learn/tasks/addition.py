"""a+b=c and a-b=c."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Array

from curta.learn.numbers import Number, add, subtract
from curta.learn.problem import Problem, operand, symbol
from curta.learn.tasks.base import Task


@dataclass(frozen=True)
class Addition(Task):
    """The sum of two numbers."""

    name = "addition"
    about = "a+b, two numbers that are not negative"
    symbols = ("+", "=")

    def problem(self, operands: Number, *, base: int, key: Array) -> Problem:
        a, b = operand(operands, 0), operand(operands, 1)
        return Problem((a, symbol("+"), b, symbol("=")), (add(a, b, base),))


@dataclass(frozen=True)
class Subtraction(Task):
    """The difference of two numbers; it may be negative."""

    name = "subtraction"
    about = "a-b, which may be negative"
    symbols = ("-", "=")

    def problem(self, operands: Number, *, base: int, key: Array) -> Problem:
        a, b = operand(operands, 0), operand(operands, 1)
        return Problem((a, symbol("-"), b, symbol("=")), (subtract(a, b, base),))
