"""Digits in company or in disguise: index hints, other symbols, random spaces."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from curta.errors import ExperimentError
from curta.learn.alphabet import Alphabet, alphabet, letters
from curta.learn.formats.base import Directed
from curta.learn.problem import Piece, Problem, Symbol
from curta.learn.tasks.base import Task
from curta.learn.text import HOLE, Text, join, only_if, write_number, write_symbol


@dataclass(frozen=True)
class Hints(Directed):
    """A letter before each digit, the same one for equal significance in all numbers of a row.

    Letters follow one another from the last digit; where they begin is drawn for each row, so that
    letters which only long numbers need are trained with short ones.

    hints:  how many letters there are; numbers have at most so many digits
    offset: whether they begin anywhere; if not, the last digit always has the first letter
    """

    name = "hints"
    about = "B5A7+B2A4=B8A1: letters for significance; hints=64 of them, offset=True"
    side_by_side = False
    hints: int = 64
    offset: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.hints, int) or self.hints < 1:
            raise ExperimentError(
                f"format hints: hints = {self.hints!r}: must be an integer of at least 1"
            )

    def alphabet(self, task: Task) -> Alphabet:
        return alphabet(self.base, (*letters(self.hints), *task.symbols))

    def write(
        self, task: Task, problem: Problem, symbols: Alphabet, *, key: Array
    ) -> tuple[Text, Text]:
        pieces = (*problem.question, *problem.answer)
        longest = max(piece.places for piece in pieces if not isinstance(piece, Symbol))
        if longest > self.hints:
            raise ExperimentError(
                f"format hints: numbers of up to {longest} digits, but hints = {self.hints}: "
                f"set hints={longest} or more, or draw shorter operands"
            )
        offset = jax.random.randint(key, (), 0, self.hints - longest + 1) if self.offset else 0
        first = symbols.token(letters(1)[0]) + offset

        def hinted(pieces: tuple[Piece, ...], reversed_digits: bool) -> Text:
            texts = []
            for piece in pieces:
                if isinstance(piece, Symbol):
                    texts.append(write_symbol(piece, symbols))
                    continue
                # From the last digit, whichever way it will be written.
                text = write_number(piece, symbols, reversed_digits=True)
                digit = is_digit(text, symbols)
                hints = only_if(digit, first + jnp.cumsum(digit) - 1)
                pair = jnp.stack([hints, text], axis=1)
                texts.append((pair if reversed_digits else pair[::-1]).reshape(-1))
            return join(texts)

        return (
            hinted(problem.question, self.question_reversed),
            hinted(problem.answer, self.answer_reversed),
        )


@dataclass(frozen=True)
class Symbolic(Directed):
    """Digits shown as letters, in all rows or in a share of them.

    The letters are a permutation of the first ones of the alphabet. The alphabet always has digits
    and letters, so a model that is trained with some share can be tested with another.

    share: of the rows that have letters, the others have digits
    seed:  of the permutation; 0 for A to J in order
    """

    name = "symbolic"
    about = "FH+CE=IB: digits as letters, in a share=1.0 of the rows; seed=0 chooses which"
    share: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.share <= 1:
            raise ExperimentError(f"format symbolic: share = {self.share!r}: must be from 0 to 1")

    def alphabet(self, task: Task) -> Alphabet:
        names = letters(self.base)
        order = np.arange(self.base)
        if self.seed:
            order = np.random.default_rng(self.seed).permutation(self.base)
        return alphabet(self.base, task.symbols, tuple(names[which] for which in order))

    def write(
        self, task: Task, problem: Problem, symbols: Alphabet, *, key: Array
    ) -> tuple[Text, Text]:
        as_letters = jax.random.bernoulli(key, self.share)
        texts = super().write(task, problem, symbols, key=key)
        question, answer = (
            jnp.where(is_digit(text, symbols) & as_letters, text + self.base, text)
            for text in texts
        )
        return question, answer


@dataclass(frozen=True)
class Spaces(Directed):
    """Spaces between the tokens of questions, at random.

    The index of a digit then says little about its significance. Answers have none: nobody could
    foresee them.

    share: of the tokens that have a space before them
    """

    name = "spaces"
    about = "5 7+ 24 =81: random spaces in the question, before a share=0.3 of its tokens"
    side_by_side = False
    symbols = (" ",)
    share: float = 0.3

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.share <= 1:
            raise ExperimentError(f"format spaces: share = {self.share!r}: must be from 0 to 1")

    def write(
        self, task: Task, problem: Problem, symbols: Alphabet, *, key: Array
    ) -> tuple[Text, Text]:
        question, answer = super().write(task, problem, symbols, key=key)
        if not self.share:
            return question, answer
        spaced = (question != HOLE) & jax.random.bernoulli(key, self.share, question.shape)
        space = jnp.full_like(question, symbols.token(" "))
        return jnp.stack([only_if(spaced, space), question], axis=1).reshape(-1), answer


def is_digit(text: Text, symbols: Alphabet) -> Bool[Array, " width"]:
    """Which tokens of a text are digits."""
    return (text >= symbols.first_digit) & (text < symbols.first_digit + symbols.base)
