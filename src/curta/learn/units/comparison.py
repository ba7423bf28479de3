"""The comparison task of the NSR paper: two numbers, one relation, extrapolated in magnitude.

Training sees the digits 1 to 9 only; the test asks for pairs at most five apart around random
numbers of 10, 100, … up to the largest magnitude, where a relation is as sharp as it is small.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray

from curta.errors import ExperimentError
from curta.learn.units.layers import Scalar
from curta.learn.units.problem import Answers, Examples

RELATIONS: Mapping[str, Callable[[Array, Array], Array]] = MappingProxyType(
    {
        "<": lambda a, b: a < b,
        ">": lambda a, b: a > b,
        "==": lambda a, b: a == b,
        "!=": lambda a, b: a != b,
        "<=": lambda a, b: a <= b,
        ">=": lambda a, b: a >= b,
    }
)

LARGEST_DIGIT = 9
FURTHEST_APART = 5
DECISION_THRESHOLD = 0.5
TEST_SEED = 2
LARGEST_MAGNITUDE = 14
"""10¹⁴ and five digits more are exact in double precision with room for the rounding of λd."""


class Pairs(NamedTuple):
    """The training pairs of each relation, and the test pairs."""

    training: Examples
    test: Examples


@dataclass(frozen=True)
class ComparisonProblem:
    """All chosen relations, each on its own pairs; a batch is the whole training set."""

    operations: tuple[str, ...]
    largest_magnitude: int

    def __post_init__(self) -> None:
        for name in self.operations:
            if name not in RELATIONS:
                raise ExperimentError(
                    f"operations: there is no relation {name!r}; choose from {' '.join(RELATIONS)}"
                )
        if not 1 <= self.largest_magnitude <= LARGEST_MAGNITUDE:
            raise ExperimentError(
                f"largest_magnitude {self.largest_magnitude}: choose an exponent of ten from 1 "
                f"to {LARGEST_MAGNITUDE}, beyond which neighbours are no longer told apart"
            )

    @property
    def input_size(self) -> int:
        return 2

    @property
    def shares_inputs(self) -> bool:
        return False

    def prepare(self, key: PRNGKeyArray) -> Pairs:
        """Draws the unequal digits that the relations == and != are trained on."""
        ordered, balanced = _all_digits(), _balanced_digits(key)
        training = jnp.stack([balanced if _equality(o) else ordered for o in self.operations])
        test_pairs = _neighbours(jax.random.key(TEST_SEED), self.largest_magnitude)
        test = jnp.broadcast_to(test_pairs, (len(self.operations), *test_pairs.shape))
        return Pairs(self._examples(training), self._examples(test))

    def batch(self, fixed: Pairs, key: PRNGKeyArray) -> Examples:
        del key
        return fixed.training

    def validation(self, fixed: Pairs) -> Examples:
        return fixed.training

    def test(self, fixed: Pairs) -> Examples:
        return fixed.test

    def loss(self, answers: Answers, targets: Answers) -> Scalar:
        """Mean absolute error of the probability, as published."""
        return jnp.mean(jnp.abs(answers - targets))

    def error(self, answers: Answers, targets: Answers) -> Scalar:
        """The worst absolute error: below 1/2, every comparison of the test is decided rightly."""
        return jnp.max(jnp.abs(answers - targets))

    def _examples(self, pairs: Array) -> Examples:
        targets = [
            RELATIONS[name](pairs[index, :, 0], pairs[index, :, 1])
            for index, name in enumerate(self.operations)
        ]
        return Examples(pairs, jnp.stack(targets).astype(pairs.dtype))


def _equality(operation: str) -> bool:
    return operation in ("==", "!=")


def _all_digits() -> Array:
    """The 81 pairs of digits, twice: the number of rows that the balanced set has."""
    digits = jnp.arange(1.0, LARGEST_DIGIT + 1)
    first, second = jnp.meshgrid(digits, digits, indexing="ij")
    return jnp.tile(jnp.stack([first.ravel(), second.ravel()], axis=1), (2, 1))


def _balanced_digits(key: PRNGKeyArray) -> Array:
    """Each digit with itself and with another; nine times, to the rows of the other relations."""
    digits = jnp.arange(1.0, LARGEST_DIGIT + 1)
    shift = jax.random.randint(key, digits.shape, 1, LARGEST_DIGIT)
    others = (digits - 1 + shift) % LARGEST_DIGIT + 1
    unequal = jnp.stack([digits, others], axis=1)
    equal = jnp.stack([digits, digits], axis=1)
    return jnp.tile(jnp.concatenate([unequal, equal]), (9, 1))


def _neighbours(key: PRNGKeyArray, largest_magnitude: int) -> Array:
    """For each magnitude a random number, and its pairs with numbers at most five apart."""
    bases = 10.0 ** jnp.arange(1, largest_magnitude + 1)
    centres = jnp.floor(bases * jax.random.uniform(key, bases.shape, minval=1.0, maxval=10.0))
    apart = jnp.arange(-FURTHEST_APART, FURTHEST_APART + 1.0)
    first, second = jnp.broadcast_arrays(centres[:, None], centres[:, None] + apart[None, :])
    pairs = jnp.stack([first.ravel(), second.ravel()], axis=1)
    return jnp.concatenate([pairs, pairs[:, ::-1]])
