"""What every task is made of."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Array, Int

from curta.errors import ExperimentError
from curta.learn.numbers import Number
from curta.learn.problem import Problem
from curta.learn.turing_machines import Machine
from curta.learn.workings import Columns, Partials, Quotients


@dataclass(frozen=True)
class Task:
    """A family of problems: operands in, a question and its answer out.

    A new task is a frozen dataclass with a name, a line about it, its symbols, and `problem`. All
    its options are fields. `problem` is traced by JAX for one problem at a time: numbers are arrays
    of digits (`learn.numbers` computes with them), and Python's `if` cannot depend on them.

    The rest is there to be left out: formats that need what a task doesn't say refuse it.
    """

    name: ClassVar[str]
    about: ClassVar[str]
    symbols: ClassVar[tuple[str, ...]]
    """What questions and answers consist of, beside digits."""
    leading_zeros: ClassVar[bool] = False
    """Whether operands are strings of digits rather than numbers."""
    workings: ClassVar[tuple[str, ...]] = ()
    """Which of `columns`, `partials`, `quotients`, `machine` it has."""
    sentences: ClassVar[tuple[str, ...]] = ("what is {}?", "{} is", "please work out {}.")
    """Ways to ask, with the question for {}."""

    @property
    def operands(self) -> tuple[int, int]:
        """How many numbers a problem is made of, at least and at most."""
        return (2, 2)

    @property
    def commutative(self) -> bool:
        """Whether the first two operands may be exchanged, and the answer stays."""
        return False

    @property
    def alike(self) -> float:
        """The share of problems for which operands are drawn with equal numbers of digits."""
        return 0.0

    @abstractmethod
    def problem(self, operands: Number, *, base: int, key: Array) -> Problem:
        """The problem about these operands: a row of numbers, those not needed without digits.

        The key is for whatever else is random: an operator, a tree.
        """

    def check_base(self, base: int) -> None:
        """Raise an `ExperimentError` if the task makes no sense in this base."""

    def sizes(self, drawn: Int[Array, " operands"]) -> Int[Array, " operands"]:
        """The digits of each operand, if the task wants them otherwise than they were drawn."""
        return drawn

    def digits_at_most(self, base: int) -> int | None:
        """The longest operands that `problem` can take (it may compute with machine integers)."""
        return None

    def slack(self, operands: int, places: int, base: int) -> int:
        """By how many tokens question and answer stay below the widths of all their pieces.

        A long divisor has a short quotient: then rows need not have room for both.
        """
        return 0

    def answer_digits(
        self, longest: Int[Array, "*batch"] | int
    ) -> Int[Array, "*batch"] | int | None:
        """How many digits numbers of the answer have at most, by the longest of the question.

        None where that says nothing about it.
        """
        return None

    def columns(self, problem: Problem, base: int) -> Columns:
        """The problem worked out place by place, from the right."""
        raise NotImplementedError(self.name)

    def partials(self, problem: Problem, base: int) -> Partials:
        """The problem as a sum of simpler products."""
        raise NotImplementedError(self.name)

    def quotients(self, problem: Problem, base: int) -> Quotients:
        """The problem as a row of subtractions."""
        raise NotImplementedError(self.name)

    def machine(self, base: int) -> Machine:
        """A Turing machine that solves the problem, with a tape for each number."""
        raise NotImplementedError(self.name)


def check_at_least(task: Task, least: int, *options: str) -> None:
    """Raise an error if an integer option is below what it may be."""
    for option in options:
        value = getattr(task, option)
        if not isinstance(value, int) or value < least:
            raise ExperimentError(
                f"task {task.name}: {option} = {value!r}: must be an integer of at least {least}"
            )


def check_one_of(task: Task, option: str, allowed: tuple[str, ...]) -> None:
    """Raise an error if a named choice is none of those there are."""
    value = getattr(task, option)
    if value not in allowed:
        raise ExperimentError(
            f"task {task.name}: {option} = {value!r}: must be one of {', '.join(allowed)}"
        )


def check_share(task: Task, *options: str) -> None:
    """Raise an error if a share is not between 0 and 1."""
    for option in options:
        value = getattr(task, option)
        if not 0 <= value <= 1:
            raise ExperimentError(f"task {task.name}: {option} = {value!r}: must be from 0 to 1")
