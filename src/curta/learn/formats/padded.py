"""Numbers padded with zeros, so that their lengths tell nothing, or all that is needed."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array, Int

from curta.errors import ExperimentError
from curta.learn.alphabet import Alphabet
from curta.learn.formats.base import Directed
from curta.learn.numbers import Number
from curta.learn.problem import Piece, Problem, numbers_in
from curta.learn.tasks.base import Task
from curta.learn.text import Text, join, write_number, write_piece


@dataclass(frozen=True)
class Padded(Directed):
    """All numbers of a question are as long as its longest one.

    Numbers of the answer are as long as they can become for such operands, so that the place of
    each digit is known when it is written, from whichever end.
    """

    name = "padded"
    about = "57+04=061, zeros up to the longest operand; reversed=True for 57+04=160"
    pads = True

    def check(self, task: Task) -> None:
        super().check(task)
        if task.answer_digits(1) is None:
            self.refuse(task, "the digits of its operands do not tell those of its answer")

    def write(
        self, task: Task, problem: Problem, symbols: Alphabet, *, key: Array
    ) -> tuple[Text, Text]:
        numbers = numbers_in(problem.question)
        longest = jnp.stack([each.length for each in numbers]).max()
        room = max(each.places for each in numbers)
        return (
            padded(problem.question, symbols, longest, room),
            padded(
                problem.answer,
                symbols,
                task.answer_digits(longest),
                room_of(task.answer_digits(room)),
                reversed_digits=self.answer_reversed,
            ),
        )

    def answer_width(
        self, task: Task, longest: Int[Array, "*batch"]
    ) -> Int[Array, "*batch"] | int | None:
        return task.answer_digits(longest)


@dataclass(frozen=True)
class Fixed(Padded):
    """All numbers of all questions are equally long.

    width: digits of every number of a question; answers are as long as they can become for those
    """

    name = "fixed"
    about = "057+004=0061, zeros up to width=3 digits; reversed=True for the answer from its end"
    width: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.width, int) or self.width < 1:
            raise ExperimentError(
                f"format fixed: width = {self.width!r}: must be an integer of at least 1"
            )

    def write(
        self, task: Task, problem: Problem, symbols: Alphabet, *, key: Array
    ) -> tuple[Text, Text]:
        room = max(each.places for each in numbers_in(problem.question))
        if room > self.width:
            raise ExperimentError(
                f"format fixed: numbers of up to {room} digits, but width = {self.width}: "
                f"set width={room} or more, or draw shorter operands"
            )
        answer = room_of(task.answer_digits(self.width))
        return (
            padded(problem.question, symbols, self.width, self.width),
            padded(problem.answer, symbols, answer, answer, reversed_digits=self.answer_reversed),
        )

    def answer_width(
        self, task: Task, longest: Int[Array, "*batch"]
    ) -> Int[Array, "*batch"] | int | None:
        return task.answer_digits(self.width)


def room_of(digits: Int[Array, ""] | int | None) -> int:
    """A number of digits that is known before anything is drawn."""
    assert digits is not None
    return int(digits)


def padded(
    pieces: tuple[Piece, ...],
    symbols: Alphabet,
    width: Int[Array, ""] | int | None,
    room: int,
    *,
    reversed_digits: bool = False,
) -> Text:
    """Pieces whose numbers have zeros before them."""
    assert width is not None
    return join(
        write_number(piece, symbols, reversed_digits=reversed_digits, width=width, room=room)
        if isinstance(piece, Number)
        else write_piece(piece, symbols)
        for piece in pieces
    )
