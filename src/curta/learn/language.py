"""A task in a format: rows of tokens.

A row is question, pauses, answer and end token, filled up with end tokens to a fixed width. The
loss counts from the last token of the prompt, which has to predict the first of the answer, up to
the prediction of the end token.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from curta.learn.alphabet import PAUSE, Alphabet
from curta.learn.formats.base import Format
from curta.learn.keys import new_key
from curta.learn.numbers import Number
from curta.learn.problem import Difficulty, Problem, difficulty
from curta.learn.tasks.base import Task
from curta.learn.text import compact, join, literal


class Rows(eqx.Module):
    """Problems as tokens; one row, or a batch of them."""

    tokens: Int[Array, "*batch width"]
    prompt_length: Int[Array, "*batch"]
    """Up to and with the last token before the answer."""
    length: Int[Array, "*batch"]
    """Up to and with the end token."""
    valid: Bool[Array, "*batch"]
    """Whether the row is one of those that were asked for; others do not count."""
    difficulty: Difficulty | None = None
    """Of the problem, where the row was written from one."""


@dataclass(frozen=True)
class Language:
    """Writes a task's problems in a format."""

    task: Task
    format: Format
    pauses: int = 0

    def __post_init__(self) -> None:
        self.format.check(self.task)

    @cached_property
    def alphabet(self) -> Alphabet:
        """The symbols of task and format, and the pause if there is one."""
        plain = self.format.alphabet(self.task)
        if not self.pauses:
            return plain
        others = dict.fromkeys((*plain.others, PAUSE))
        return replace(plain, others=tuple(others))

    def problem(self, operands: Number, *, key: Array) -> Problem:
        """The task's problem about these operands."""
        return self.task.problem(operands, base=self.format.base, key=key)

    def row(self, problem: Problem, width: int | None = None, *, key: Array | None = None) -> Rows:
        """One problem as a row of tokens; the key is for formats with several ways to write it."""
        key = new_key(0) if key is None else key
        question, answer = self.format.write(self.task, problem, self.alphabet, key=key)
        pauses = literal(self.alphabet, *[PAUSE] * self.pauses)
        prompt = join([question, pauses])
        end = jnp.array([self.alphabet.end], jnp.int32)
        text = join([prompt, answer, end])
        tokens, length = compact(text, width or text.shape[0], self.alphabet.end)
        told = difficulty(problem, self.format.base)
        return Rows(tokens, (prompt >= 0).sum(), length, jnp.array(True), told)

    def width(self, operands: int, places: int) -> int:
        """The longest row that `operands` numbers with room for `places` digits can make."""

        def written() -> Array:
            none = jnp.zeros((operands,), jnp.int32)
            digits = jnp.zeros((operands, places), jnp.int32)
            given = Number(digits, none, none.astype(bool), none)
            return self.row(self.problem(given, key=new_key(0))).tokens

        slack = self.format.slack(self.task, operands, places)
        return int(jax.eval_shape(written).shape[0]) - slack
