"""Two loops around a comparison, from the NSR paper: the least of a sequence, and counting.

The network in the loop sees two numbers and answers with a probability; nothing but the result
of the whole loop is supervised, so the comparison has to be discovered. Training sees sequences
of numbers from 1 to 10; the test has longer ones, of neighbours around 10, 100, and so on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple, Self

import jax
import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray

from curta.errors import ExperimentError
from curta.learn.units.comparison import FURTHEST_APART, TEST_SEED
from curta.learn.units.layers import Matrix, Scalar, Unit, Vector
from curta.learn.units.networks import Build, Design, Network
from curta.learn.units.problem import Answers, Examples

LARGEST_NUMBER = 10
TRAINING_LENGTH = 6
TEST_LENGTH = 20
TEST_SEQUENCES = 10
"""For each magnitude."""


class Loop(Unit):
    """A network of two inputs, applied along a sequence."""

    cell: Network

    def weights(self) -> tuple[Matrix, ...]:
        return tuple(matrix for layer in self.cell.layers for matrix in layer.weights())

    def regulariser(self) -> Scalar:
        return self.cell.regulariser()

    def constrained(self) -> Self:
        return type(self)(self.cell.constrained())


class Minimum(Loop):
    """m₁ = x₁, m_i = p m_{i−1} + (1 − p) x_i with p = cell(m_{i−1}, x_i)."""

    def __call__(self, x: Vector) -> Vector:
        def step(least: Scalar, value: Scalar) -> tuple[Scalar, None]:
            keep = self.cell(jnp.stack([least, value]))[0]
            return keep * least + (1 - keep) * value, None

        least, _ = jax.lax.scan(step, x[0], x[1:])
        return least[None]


class Count(Loop):
    """Σ cell(x₁, x_i) over i > 1: how often the first number comes again."""

    def __call__(self, x: Vector) -> Vector:
        pairs = jnp.stack([jnp.broadcast_to(x[0], x[1:].shape), x[1:]], axis=1)
        return jnp.sum(jax.vmap(self.cell)(pairs), axis=0)


LOOPS: Mapping[str, type[Loop]] = MappingProxyType({"minimum": Minimum, "count": Count})


@dataclass(frozen=True)
class LoopBuild:
    """Builds a design's network as the cell of a loop."""

    loop: type[Loop]
    cell: Build

    def __call__(self, inputs: int, hidden: int, *, key: PRNGKeyArray) -> Network:
        return Network((self.loop(self.cell(inputs, hidden, key=key)),))


def looped(design: Design, operation: str) -> Design:
    """The design inside of the loop that the operation needs."""
    return replace(design, build=LoopBuild(LOOPS[operation], design.build))


class Sequences(NamedTuple):
    training: Examples
    test: Examples


@dataclass(frozen=True)
class SequenceProblem:
    """One loop, with a fixed training set for each seed; a batch is all of it."""

    operation: str
    training_size: int
    largest_magnitude: int

    def __post_init__(self) -> None:
        if self.operation not in LOOPS:
            raise ExperimentError(
                f"operations: there is no loop {self.operation!r}; choose from {', '.join(LOOPS)}"
            )

    @property
    def operations(self) -> tuple[str, ...]:
        return (self.operation,)

    @property
    def input_size(self) -> int:
        """What the cell sees."""
        return 2

    @property
    def shares_inputs(self) -> bool:
        return False

    def prepare(self, key: PRNGKeyArray) -> Sequences:
        shape = (self.training_size, TRAINING_LENGTH)
        training = jax.random.randint(key, shape, 1, LARGEST_NUMBER + 1).astype(float)
        return Sequences(self._examples(training), self._examples(self._neighbours()))

    def batch(self, fixed: Sequences, key: PRNGKeyArray) -> Examples:
        del key
        return fixed.training

    def validation(self, fixed: Sequences) -> Examples:
        return fixed.training

    def test(self, fixed: Sequences) -> Examples:
        return fixed.test

    def loss(self, answers: Answers, targets: Answers) -> Scalar:
        """Mean absolute error, as published."""
        return jnp.mean(jnp.abs(answers - targets))

    def error(self, answers: Answers, targets: Answers) -> Scalar:
        """The worst absolute error: below 1/2, every answer rounds to the right number."""
        return jnp.max(jnp.abs(answers - targets))

    def _neighbours(self) -> Array:
        """Sequences around random numbers of each magnitude, all at most five from the first."""
        centre_key, apart_key = jax.random.split(jax.random.key(TEST_SEED))
        bases = 10.0 ** jnp.arange(1, self.largest_magnitude + 1)
        shape = (self.largest_magnitude, TEST_SEQUENCES, TEST_LENGTH)
        spread = jax.random.uniform(centre_key, shape[:2], minval=1.0, maxval=10.0)
        centres = jnp.floor(bases[:, None] * spread)[..., None]
        apart = jax.random.randint(apart_key, shape, -FURTHEST_APART, FURTHEST_APART + 1)
        sequences = centres + apart.at[..., 0].set(0)
        return sequences.reshape(-1, TEST_LENGTH)

    def _examples(self, sequences: Array) -> Examples:
        if self.operation == "minimum":
            targets = jnp.min(sequences, axis=1)
        else:
            targets = jnp.sum(sequences[:, 1:] == sequences[:, :1], axis=1).astype(sequences.dtype)
        return Examples(sequences[None], targets[None])
