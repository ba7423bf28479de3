"""Probes of what was learned: whether the order of operands matters, and which symbols do.

commuted:    b+a was never trained, a+b was (the split of the problems is by their questions). Who
             has learned the rule answers as well as elsewhere; who has learned pairs does not
relabelled:  the digits of question and answer exchanged for one another by a permutation. Who
             knows the rule only by the digits that it has seen in its place answers none of these
"""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from curta.learn.alphabet import Alphabet
from curta.learn.evaluation.problems import Problems
from curta.learn.language import Rows
from curta.learn.numbers import Number
from curta.learn.problem import Problem, numbers_in
from curta.learn.sampling import Sampler, in_test


def can_commute(problems: Problems) -> bool:
    """Whether there are such pairs: a commutative task of two operands, a split between them."""
    task, sampling = problems.setup.language.task, problems.sampling
    split = sampling.test_share > 0 and sampling.mirrored
    return split and task.operands == (2, 2) and task.commutative


def can_relabel(problems: Problems) -> bool:
    """Whether digits are tokens."""
    return not problems.setup.language.alphabet.number_places


class Commuted:
    """Questions of the test part that, with their operands exchanged, are of the training part."""

    def __init__(self, sampler: Sampler) -> None:
        self.sampler = sampler
        self.drawn = jax.jit(self.draw)

    def rows(self, sizes: np.ndarray, *, key: Array) -> Rows:
        """A row for each choice of lengths."""
        rows: Rows = self.drawn(jnp.asarray(sizes), key)
        return rows

    def draw(self, sizes: Int[Array, "rows operands"], key: Array) -> Rows:
        sampling = self.sampler.sampling

        def row(sizes: Array, key: Array) -> Rows:
            def wrong(problem: Problem) -> Bool[Array, ""]:
                return ~in_test(problem, sampling) | in_test(exchanged(problem), sampling)

            def problem(key: Array) -> Problem:
                return self.sampler.problem_of_sizes(sizes, key=key)

            return self.sampler.until(problem, wrong, key=key)[0]

        return jax.vmap(row)(sizes, jax.random.split(key, len(sizes)))


def exchanged(problem: Problem) -> Problem:
    """The question with its first two numbers exchanged; a commutative task's answer stays."""
    first, second, *rest = numbers_in(problem.question)
    numbers = iter((second, first, *rest))
    question = tuple(
        next(numbers) if isinstance(piece, Number) else piece for piece in problem.question
    )
    return Problem(question, problem.answer)


def relabelled(rows: Rows, alphabet: Alphabet, *, key: Array) -> Rows:
    """Digit d becomes p(d) throughout, for one random permutation p without fixed points.

    Where digits have second names, those are exchanged in the same way.
    """
    base = alphabet.base
    shift = jax.random.randint(jax.random.fold_in(key, 1), (), 1, base)
    order = jax.random.permutation(key, base)
    # Along a random cycle of all digits, everyone goes the same number of steps.
    image = jnp.zeros((base,), jnp.int32).at[order].set(jnp.roll(order, shift).astype(jnp.int32))
    digit = rows.tokens - alphabet.first_digit
    is_digit = (digit >= 0) & (digit < alphabet.digit_tokens)
    mapped = rows.tokens + image[digit % base] - digit % base
    return dataclasses.replace(rows, tokens=jnp.where(is_digit, mapped, rows.tokens))
