"""What every format is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Int

from curta.errors import ExperimentError
from curta.learn.alphabet import Alphabet, alphabet
from curta.learn.problem import Piece, Problem
from curta.learn.tasks.base import Task
from curta.learn.text import Text, join, write_piece


@dataclass(frozen=True)
class Format:
    """How a problem is written as tokens.

    A new format is a frozen dataclass with a name, a line about it, and `write` or, if it only
    writes numbers and symbols in its own way, `write_piece`; whatever symbols it adds are in
    `symbols`. A format that needs more than question and answer says so in `workings`.

    base: of all numbers; a digit is a token, whatever the base
    """

    name: ClassVar[str]
    about: ClassVar[str]
    symbols: ClassVar[tuple[str, ...]] = ()
    workings: ClassVar[tuple[str, ...]] = ()
    """What the task must have worked out, one of these: columns, partials, quotients, machine."""
    pads: ClassVar[bool] = False
    """Whether numbers are written longer than they are."""
    side_by_side: ClassVar[bool] = True
    """Whether the digits of a number follow each other, with nothing between them."""

    base: int = 10

    def __post_init__(self) -> None:
        if not isinstance(self.base, int) or not 2 <= self.base <= 32768:
            raise ExperimentError(
                f"format {self.name}: base = {self.base!r}: must be an integer from 2 to 32768"
            )

    @property
    def question_reversed(self) -> bool:
        """Whether numbers of the question begin with their last digit."""
        return False

    @property
    def answer_reversed(self) -> bool:
        """Whether numbers of the answer do. Positions by significance rely on it."""
        return False

    def check(self, task: Task) -> None:
        """Raise an `ExperimentError` if the task cannot be written in this format."""
        task.check_base(self.base)
        if self.workings and not self.working(task):
            self.refuse(task, f"it needs a task with {' or '.join(self.workings)}")

    def working(self, task: Task) -> str:
        """Which of the task's workings is written; none if it has none that would do."""
        return next((each for each in self.workings if each in task.workings), "")

    def refuse(self, task: Task, why: str) -> None:
        """Say that the task cannot be written, and what it can be written in."""
        raise ExperimentError(
            f"task {task.name} cannot be written in format {self.name}: {why}; formats for "
            f"{task.name}: {', '.join(formats_for(task))}"
        )

    def alphabet(self, task: Task) -> Alphabet:
        """All symbols that occur when this task is written in this format."""
        return alphabet(self.base, (*task.symbols, *self.symbols))

    def write(
        self, task: Task, problem: Problem, symbols: Alphabet, *, key: Array
    ) -> tuple[Text, Text]:
        """Question and answer, with holes; without the end token.

        The key is for formats that write one problem in several ways.
        """
        return (
            self.write_pieces(problem.question, symbols, reversed_digits=self.question_reversed),
            self.write_pieces(problem.answer, symbols, reversed_digits=self.answer_reversed),
        )

    def write_pieces(
        self, pieces: tuple[Piece, ...], symbols: Alphabet, *, reversed_digits: bool
    ) -> Text:
        """One piece behind the other."""
        return join(
            write_piece(piece, symbols, reversed_digits=reversed_digits) for piece in pieces
        )

    def slack(self, task: Task, operands: int, places: int) -> int:
        """By how many tokens rows stay below the widths of all their pieces."""
        return 0 if self.pads else task.slack(operands, places, self.base)

    def answer_width(
        self, task: Task, longest: Int[Array, "*batch"]
    ) -> Int[Array, "*batch"] | int | None:
        """How many digits the answer has, where the prompt tells; its longest number is given."""
        return None


@dataclass(frozen=True)
class Directed(Format):
    """A format whose answers are written either way.

    reversed: the answer begins with its last digit
    """

    reversed: bool = False

    @property
    def answer_reversed(self) -> bool:
        return self.reversed


def formats_for(task: Task) -> tuple[str, ...]:
    """The formats that come with curta in which a task can be written."""
    from curta.learn.catalogue import parts

    fitting = []
    for name, made in parts(Format).items():
        if not made.workings or set(made.workings) & set(task.workings):
            padded = made.pads and task.answer_digits(jnp.array(1)) is None
            fitting.extend([] if padded else [name])
    return tuple(sorted(fitting))
