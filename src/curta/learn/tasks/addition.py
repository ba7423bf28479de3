"""Sums and differences."""

from __future__ import annotations

from dataclasses import dataclass

import jax
from jaxtyping import Array, Int

from curta.errors import ExperimentError
from curta.learn.numbers import Number, add, choose, multiply, places_of, subtract, total
from curta.learn.problem import Problem, Symbol, numbers_in, operand, separated, symbol
from curta.learn.tasks.base import Task, check_at_least
from curta.learn.turing_machines import Machine, adder, subtractor
from curta.learn.workings import Columns, difference_columns, stacked, sum_columns

Digits = Int[Array, "*batch"] | int
"""How many, for each problem of a batch or for all."""


@dataclass(frozen=True)
class Addition(Task):
    """The sum of two numbers."""

    name = "addition"
    about = "a+b, two numbers that are not negative"
    symbols = ("+", "=")
    workings = ("columns", "machine")

    @property
    def commutative(self) -> bool:
        return True

    def problem(self, operands: Number, *, base: int, key: Array) -> Problem:
        a, b = operand(operands, 0), operand(operands, 1)
        return Problem((a, symbol("+"), b, symbol("=")), (add(a, b, base),))

    def answer_digits(self, longest: Digits) -> Digits:
        return longest + 1

    def columns(self, problem: Problem, base: int) -> Columns:
        return sum_columns(stacked(numbers_in(problem.question)), base)

    def machine(self, base: int) -> Machine:
        return adder(base)


@dataclass(frozen=True)
class Subtraction(Task):
    """The difference of two numbers; it may be negative."""

    name = "subtraction"
    about = "a-b, which may be negative"
    symbols = ("-", "=")
    workings = ("columns", "machine")

    def problem(self, operands: Number, *, base: int, key: Array) -> Problem:
        a, b = operand(operands, 0), operand(operands, 1)
        return Problem((a, symbol("-"), b, symbol("=")), (subtract(a, b, base),))

    def answer_digits(self, longest: Digits) -> Digits:
        return longest

    def columns(self, problem: Problem, base: int) -> Columns:
        a, b = numbers_in(problem.question)
        return difference_columns(a, b, base)

    def machine(self, base: int) -> Machine:
        return subtractor(base)


@dataclass(frozen=True)
class MultiAddition(Task):
    """The sum of several numbers.

    numbers: how many at most; `operands` of the sampling may narrow it
    """

    name = "multi_addition"
    about = "a+b+c+..., from two to numbers=4 of them"
    symbols = ("+", "=")
    workings = ("columns",)
    numbers: int = 4

    def __post_init__(self) -> None:
        check_at_least(self, 2, "numbers")

    @property
    def operands(self) -> tuple[int, int]:
        return (2, self.numbers)

    @property
    def commutative(self) -> bool:
        return True

    def problem(self, operands: Number, *, base: int, key: Array) -> Problem:
        return Problem((*separated(operands, "+"), symbol("=")), (total(operands, base),))

    def answer_digits(self, longest: Digits) -> Digits:
        # n numbers below base^d have a sum below 2^ceil(log2 n) base^d, in any base.
        return longest + (self.numbers - 1).bit_length()

    def columns(self, problem: Problem, base: int) -> Columns:
        return sum_columns(stacked(numbers_in(problem.question)), base)


@dataclass(frozen=True)
class Mixed(Task):
    """One of several operations, drawn for each problem.

    operations: those that occur, of + - *
    """

    name = "mixed"
    about = "a+b, a-b or a*b, drawn per problem; operations='+-*'"
    symbols = ("+", "-", "*", "=")
    operations: str = "+-*"

    def __post_init__(self) -> None:
        unknown = set(self.operations) - set("+-*")
        if not self.operations or unknown or len(set(self.operations)) < len(self.operations):
            raise ExperimentError(
                f"task mixed: operations = {self.operations!r}: write each of + - * that is wanted "
                "once, as '+-*'"
            )

    def problem(self, operands: Number, *, base: int, key: Array) -> Problem:
        a, b = operand(operands, 0), operand(operands, 1)
        choice = jax.random.randint(key, (), 0, len(self.operations))
        known = {"+": add, "-": subtract, "*": multiply}
        results = [known[operation](a, b, base) for operation in self.operations]
        answer = results[0]
        for which, result in enumerate(results[1:], start=1):
            answer = choose(choice == which, result, answer)
        return Problem((a, Symbol(tuple(self.operations), choice), b, symbol("=")), (answer,))

    def slack(self, operands: int, places: int, base: int) -> int:
        # Only a difference has a sign, and it is shorter than a sum or a product.
        widths = {"+": places_of(2 * base**places - 2, base), "-": places + 1, "*": 2 * places}
        room = max(widths[each] - (each == "-") for each in self.operations)
        signed = "-" in self.operations
        return room + signed - max(widths[each] for each in self.operations)

    def answer_digits(self, longest: Digits) -> Digits:
        return 2 * longest if "*" in self.operations else longest + 1
