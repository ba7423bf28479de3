"""Every number is one token."""

from __future__ import annotations

from dataclasses import dataclass, replace

import jax.numpy as jnp
from jaxtyping import Array

from curta.errors import ExperimentError
from curta.learn.alphabet import Alphabet
from curta.learn.formats.base import Format
from curta.learn.numbers import Number, to_integer
from curta.learn.problem import Piece, Problem
from curta.learn.tasks.base import Task
from curta.learn.text import Text, join, only_if, write_symbol


@dataclass(frozen=True)
class WholeNumbers(Format):
    """Every number is one token, embedded by Fourier features and read out digit by digit.

    `places` digits is what a number may have, question and answer alike. A sign is a token before
    its number.
    """

    name = "whole"
    about = "57+24=81, every number one token with Fourier features (FoNE)"
    places: int = 7

    def __post_init__(self) -> None:
        # Numbers lie behind the symbols in an integer of 31 bits.
        if self.places < 1 or self.base**self.places > 2_000_000_000:
            raise ExperimentError(
                f"format whole(places={self.places}, base={self.base}): a number has at least one "
                "digit, and is below 2000000000"
            )

    def alphabet(self, task: Task) -> Alphabet:
        return replace(super().alphabet(task), number_places=self.places)

    def write(
        self, task: Task, problem: Problem, symbols: Alphabet, *, key: Array
    ) -> tuple[Text, Text]:
        question = join(self.piece(task, piece, symbols) for piece in problem.question)
        return question, join(self.piece(task, piece, symbols) for piece in problem.answer)

    def piece(self, task: Task, piece: Piece, symbols: Alphabet) -> Text:
        """A number as its token, behind its sign; a symbol as it is."""
        if not isinstance(piece, Number):
            return write_symbol(piece, symbols)
        if piece.pointed or piece.places > self.places:
            what = "a point" if piece.pointed else f"{piece.places} digits"
            raise ExperimentError(
                f"format whole(places={self.places}): task {task.name} has numbers with {what}; "
                "train with fewer digits, or use a format that writes digits"
            )
        there = piece.length > 0
        size = absolute(piece)
        token = only_if(there, symbols.first_number + to_integer(size, self.base))[None]
        if not piece.signed:
            return token
        sign = only_if(there & piece.negative, jnp.array(symbols.token("-")))[None]
        return jnp.concatenate([sign, token])


def absolute(given: Number) -> Number:
    """The absolute value."""
    return Number(given.digits, given.length, jnp.zeros_like(given.negative), given.fraction)
