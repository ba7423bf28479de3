"""What every task is made of."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Array, Int

from curta.errors import ExperimentError
from curta.learn.numbers import Number
from curta.learn.problem import Piece, Problem


@dataclass(frozen=True)
class Task:
    """A family of problems: operands in, a question and its answer out.

    A new task is a frozen dataclass with a name, a line about it, its symbols, and `problem`. All
    its options are fields. `problem` is traced by JAX for one problem at a time: numbers are arrays
    of digits (`learn.numbers` computes with them), and Python's `if` cannot depend on them.
    """

    name: ClassVar[str]
    about: ClassVar[str]
    symbols: ClassVar[tuple[str, ...]]
    """What questions and answers consist of, beside digits."""
    operands: ClassVar[tuple[int, int]] = (2, 2)
    """How many numbers a problem is made of, at least and at most."""
    leading_zeros: ClassVar[bool] = False
    """Whether operands are strings of digits rather than numbers."""
    digits_at_most: ClassVar[int | None] = None
    """The longest operands that `problem` can take (it may compute with machine integers)."""

    @abstractmethod
    def problem(self, operands: Number, *, base: int, key: Array) -> Problem:
        """The problem about these operands: a row of numbers, those not needed without digits.

        The key is for whatever else is random: an operator, a tree.
        """

    def sizes(self, drawn: Int[Array, " operands"]) -> Int[Array, " operands"]:
        """The digits of each operand, if the task wants them otherwise than they were drawn."""
        return drawn

    def scratchpad(self, problem: Problem, *, base: int, detailed: bool) -> tuple[Piece, ...]:
        """Intermediate results, to be written between question and answer."""
        raise ExperimentError(
            f"{self.name} has no scratchpad; formats without one: plain, reversed, padded, fixed"
        )
