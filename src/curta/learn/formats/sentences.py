"""Questions as short sentences, with characters as tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from curta.learn.alphabet import Alphabet, alphabet
from curta.learn.formats.base import Directed
from curta.learn.problem import Problem, Symbol
from curta.learn.tasks.base import Task
from curta.learn.text import HOLE, Text, join, literal, only_if, write_number

WORDS: dict[str, tuple[str, ...]] = {
    "+": (" plus ", " + ", "+"),
    "-": (" minus ", " less ", " - ", "-"),
    "*": (" times ", " by ", " * ", "*"),
    "/": (" divided by ", " over ", "/"),
    "%": (" modulo ", " mod ", "%"),
    "|": (" or ", "|"),
    "?": (" and ", " to ", " with "),
    ",": (", ", " and ", ","),
    "max": ("the larger of ", "the maximum of "),
    "min": ("the smaller of ", "the minimum of "),
    "compare": ("the order of ", "the comparison of "),
    "digit": ("the digit of number and place ",),
    "length": ("the number of digits of ", "the length of "),
    "count": ("the occurrences in number of digit ",),
    "to_float": ("the decimal form of ",),
    "to_scientific": ("the scientific form of ",),
    "=": ("",),
    ":": ("",),
}
"""How symbols of a question can be said. Sentences end by themselves."""


@dataclass(frozen=True)
class Sentences(Directed):
    """The task's sentences with the question in them, its symbols in words; a bare answer.

    Which sentence it is and which word for each symbol is drawn for each row.
    """

    name = "sentences"
    about = "what is 57 plus 24?81: one of several sentences, characters as tokens"

    def alphabet(self, task: Task) -> Alphabet:
        said = [*task.sentences]
        for name in task.symbols:
            said.extend(WORDS.get(name, (name,)))
        characters = "".join(said).replace("{}", "")
        return alphabet(self.base, (*task.symbols, *characters))

    def write(
        self, task: Task, problem: Problem, symbols: Alphabet, *, key: Array
    ) -> tuple[Text, Text]:
        frame_key, key = jax.random.split(key)
        frames = [frame.split("{}") for frame in task.sentences]
        frame = jax.random.randint(frame_key, (), 0, len(frames))
        texts = [characters([before for before, _ in frames], symbols)[frame]]
        keys = jax.random.split(key, len(problem.question))
        for piece, piece_key in zip(problem.question, keys, strict=True):
            if isinstance(piece, Symbol):
                texts.append(said(piece, symbols, key=piece_key))
            else:
                texts.append(write_number(piece, symbols))
        texts.append(characters([after for _, after in frames], symbols)[frame])
        answer = self.write_pieces(problem.answer, symbols, reversed_digits=self.answer_reversed)
        return join(texts), answer


def characters(texts: Sequence[str], symbols: Alphabet) -> Int[Array, "texts width"]:
    """Several texts as tokens, with holes behind the shorter ones."""
    longest = max(map(len, texts))
    rows = [
        jnp.pad(literal(symbols, *text), (0, longest - len(text)), constant_values=HOLE)
        for text in texts
    ]
    return jnp.stack(rows)


def said(piece: Symbol, symbols: Alphabet, *, key: Array) -> Text:
    """One of the words for the symbol that was chosen."""
    words = [WORDS.get(name, (name,)) for name in piece.names]
    table = characters([word for each in words for word in each], symbols)
    counts = jnp.array([len(each) for each in words])
    firsts = jnp.cumsum(counts) - counts
    choice = jnp.maximum(piece.choice, 0)
    drawn = jax.random.uniform(key, piece.choice.shape)
    which = firsts[choice] + (drawn * counts[choice]).astype(jnp.int32)
    present = piece.choice[..., None] >= 0
    return only_if(present, table[which]).reshape(-1)
