"""What a sampler draws: lengths, carries, repeats; and whether its split can be.

The number of problems that can be drawn is counted from the sizes of operands alone. What a task
draws beside them, an operator or a tree, makes more.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from curta.errors import ExperimentError
from curta.learn.keys import new_key
from curta.learn.sampling import Sampler, Split, fingerprint, in_test

SAFE = 50.0
"""So many problems expected on a side leave it empty with a probability of e^-50."""

MOST_DRAWN = 1 << 16
"""Draws with which a small space is searched for both sides of its split."""


@dataclass(frozen=True)
class Statistics:
    """Of a number of rows that were drawn.

    rows:     how many were drawn
    valid:    the share of them that lie in the part that was asked for
    repeats:  the share of them whose question was drawn before
    problems: how many different choices of operands there are
    tokens:   rows by their length with the end token
    digits:   numbers of questions by how many digits they have
    carries:  rows that ask a+b by how often that carries
    test:     the share of rows that belong to the test part
    """

    rows: int
    valid: float
    repeats: float
    problems: int
    tokens: dict[int, int]
    digits: dict[int, int]
    carries: dict[int, int]
    test: float


def statistics(sampler: Sampler, count: int, *, key: Array, split: Split = "train") -> Statistics:
    """Draw rows and count."""

    @jax.jit
    def drawn(key: Array) -> tuple[Array, ...]:
        rows, problems = sampler.drawn(count, key=key, split=split)
        prints = jax.vmap(fingerprint)(problems)
        tested = jax.vmap(lambda each: in_test(each, sampler.sampling))(problems)
        assert rows.difficulty is not None
        told = rows.difficulty.digits, rows.difficulty.carries
        return rows.valid, rows.length, prints, tested, *told

    valid, tokens, prints, tested, digits, carries = map(np.asarray, drawn(key))
    return Statistics(
        rows=count,
        valid=float(valid.mean()),
        repeats=1 - len(np.unique(prints)) / count,
        problems=problems_in(sampler),
        tokens=histogram(tokens),
        digits=histogram(digits[digits > 0]),
        carries=histogram(carries[carries >= 0]),
        test=float(tested.mean()),
    )


def histogram(values: np.ndarray) -> dict[int, int]:
    """How often each value occurs, in ascending order."""
    return {int(value): int(times) for value, times in sorted(Counter(values.tolist()).items())}


def problems_in(sampler: Sampler) -> int:
    """How many different choices of operands can be drawn without priming."""
    task, base, sampling = sampler.language.task, sampler.language.format.base, sampler.sampling
    least, most = sampler.operand_range
    if sampling.values is not None:
        values = sampling.values[1] - sampling.values[0] + 1
        return sum(values**count for count in range(least, most + 1))
    low, high = sampling.digits
    by_operand = []
    for which in range(most):
        # What the task makes of the lengths drawn, which it may limit.
        lengths = {
            int(task.sizes(jnp.full((most,), length))[which]) for length in range(low, high + 1)
        }
        by_operand.append(
            {length: numbers_of(length, base, task.leading_zeros) for length in lengths}
        )
    total = 0
    for count in range(least, most + 1):
        if sampling.equal:
            total += sum(
                math.prod(by_operand[which].get(length, 0) for which in range(count))
                for length in set().union(*by_operand)
            )
        else:
            total += math.prod(sum(each.values()) for each in by_operand[:count])
    return total


def numbers_of(length: int, base: int, leading_zeros: bool) -> int:
    """How many numbers have so many digits; zero has one."""
    if leading_zeros or length == 1:
        return int(base**length)
    return int((base - 1) * base ** (length - 1))


def check_split(sampler: Sampler) -> None:
    """Raise an error if all problems that can be drawn lie on one side of the split.

    Large spaces need no look: each problem goes to the test part with the probability that is its
    share. Of small ones so many problems are drawn that none is likely to be missed.
    """
    share = sampler.sampling.test_share
    if share == 0:
        return
    problems = problems_in(sampler)
    if problems * min(share, 1 - share) >= SAFE:
        return
    count = min(32 * problems, MOST_DRAWN)

    @jax.jit
    @jax.vmap
    def side(key: Array) -> Array:
        return in_test(sampler.problem(key=key, step=sampler.sampling.curriculum), sampler.sampling)

    tested = np.asarray(side(jax.random.split(new_key(0), count)))
    for missing, there in (("test", tested.any()), ("training", not tested.all())):
        if not there:
            raise ExperimentError(
                f"test_share = {share}: none of the {problems} problems with "
                f"{described(sampler)} belongs to the {missing} part; "
                f"choose a {'larger' if missing == 'test' else 'smaller'} test_share, "
                "or draw from more digits"
            )


def described(sampler: Sampler) -> str:
    """The range that operands are drawn from, as it is written."""
    name = "digits" if sampler.sampling.values is None else "values"
    low, high = getattr(sampler.sampling, name)
    return f"{name} = {low}..{high}"
