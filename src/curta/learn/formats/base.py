"""What every format is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Array, Int

from curta.learn.alphabet import Alphabet, alphabet
from curta.learn.problem import Problem
from curta.learn.tasks.base import Task
from curta.learn.text import Text, join, write_piece


@dataclass(frozen=True)
class Format:
    """How a problem is written as tokens.

    A new format is a frozen dataclass with a name, a line about it, and `write`; whatever
    symbols it adds are in `symbols`.
    """

    name: ClassVar[str]
    about: ClassVar[str]
    symbols: ClassVar[tuple[str, ...]] = ()
    question_reversed: ClassVar[bool] = False
    """Whether numbers of the question begin with their last digit."""
    answer_reversed: ClassVar[bool] = False
    """Whether numbers of the answer do. Positions by significance rely on it."""

    base: int = 10

    def alphabet(self, task: Task) -> Alphabet:
        """All symbols that occur when this task is written in this format."""
        return alphabet(self.base, (*task.symbols, *self.symbols))

    def write(self, task: Task, problem: Problem, symbols: Alphabet) -> tuple[Text, Text]:
        """Question and answer, with holes; without the end token."""
        question = [
            write_piece(piece, symbols, reversed_digits=self.question_reversed)
            for piece in problem.question
        ]
        answer = [
            write_piece(piece, symbols, reversed_digits=self.answer_reversed)
            for piece in problem.answer
        ]
        return join(question), join(answer)

    def answer_width(
        self, task: Task, longest: Int[Array, "*batch"]
    ) -> Int[Array, "*batch"] | int | None:
        """How many digits the answer has, where the prompt tells; its longest number is given."""
        return None
