"""The arithmetic task: an operation on the sums of two overlapping subsets of a vector.

    a = Σ x[k : k+s],  b = Σ x[k+s−o : k+2s−o],  t = a ∘ b

of Trask et al. 2018, with the parameters, the ranges and the criterion of Madsen & Johansen 2019
("Measuring Arithmetic Extrapolation Performance"). Inputs are uniform; training sees one range,
the test another. A network that found the two subsets and the operation is right on both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jaxtyping import Array, PRNGKeyArray

from curta.errors import ExperimentError
from curta.learn.units.layers import Scalar, Vector
from curta.learn.units.problem import Answers, Examples, Inputs, Targets
from curta.learn.units.sampling import uniform

Numbers = npt.NDArray[np.float64]


class _Operation(NamedTuple):
    on_device: Callable[[Array, Array], Array]
    in_double: Callable[[Numbers, Numbers], Numbers]


OPERATIONS: Mapping[str, _Operation] = MappingProxyType(
    {
        "add": _Operation(lambda a, b: a + b, lambda a, b: a + b),
        "sub": _Operation(lambda a, b: a - b, lambda a, b: a - b),
        "mul": _Operation(lambda a, b: a * b, lambda a, b: a * b),
        "div": _Operation(lambda a, b: a / b, lambda a, b: a / b),
        "square": _Operation(lambda a, _: a * a, lambda a, _: a * a),
        "sqrt": _Operation(lambda a, _: jnp.sqrt(a), lambda a, _: np.sqrt(a)),
    }
)
"""The operations of the NALU paper; the last two use only the first subset."""

NEARLY_PERFECT = 1e-5
"""ε of the criterion: how far off each first-layer weight of the nearly perfect solution is."""

VALIDATION_SEED = 1
TEST_SEED = 2
"""The evaluation sets are the same for all seeds and all runs, so that their errors compare."""

_THRESHOLD_BLOCK = 10_000


@dataclass(frozen=True)
class ArithmeticTask:
    """The parameters of the task; the defaults are the published ones."""

    input_size: int = 100
    subset_ratio: float = 0.25
    overlap_ratio: float = 0.5
    interpolation: tuple[float, float] = (1.0, 2.0)
    extrapolation: tuple[float, float] = (2.0, 6.0)

    def __post_init__(self) -> None:
        if not 0 < self.subset_ratio <= 1 or not 0 <= self.overlap_ratio <= 1:
            raise ExperimentError(
                f"subset_ratio {self.subset_ratio:g}, overlap_ratio {self.overlap_ratio:g}: "
                "both are parts of a whole; choose them between 0 and 1"
            )
        if self.subset_size < 1:
            raise ExperimentError(
                f"input_size {self.input_size} with subset_ratio {self.subset_ratio:g} leaves "
                f"empty subsets; choose an input_size of at least {1 / self.subset_ratio:g}"
            )
        if self.span > self.input_size:
            raise ExperimentError(
                f"two subsets of {self.subset_size} that share {self.overlap_size} need "
                f"{self.span} inputs, and input_size is {self.input_size}; choose a smaller "
                "subset_ratio or a larger overlap_ratio"
            )

    @property
    def subset_size(self) -> int:
        return int(self.subset_ratio * self.input_size)

    @property
    def overlap_size(self) -> int:
        """How many inputs are in both subsets: `overlap_ratio` of a subset."""
        return int(self.overlap_ratio * self.subset_size)

    @property
    def span(self) -> int:
        return 2 * self.subset_size - self.overlap_size


class Subsets(NamedTuple):
    """Which inputs the sums a and b take, as 0 and 1."""

    first: Vector
    second: Vector


@dataclass(frozen=True)
class ArithmeticProblem:
    """The task as something to train on: all chosen operations on the same random vectors."""

    task: ArithmeticTask
    operations: tuple[str, ...]
    batch_size: int
    evaluation_size: int

    def __post_init__(self) -> None:
        for name in self.operations:
            if name not in OPERATIONS:
                raise ExperimentError(
                    f"operations: there is no operation {name!r}; "
                    f"choose from {', '.join(OPERATIONS)}"
                )

    @property
    def input_size(self) -> int:
        return self.task.input_size

    @property
    def shares_inputs(self) -> bool:
        return True

    def prepare(self, key: PRNGKeyArray) -> Subsets:
        """Two subsets at a random offset k."""
        offset = jax.random.randint(key, (), 0, self.task.input_size - self.task.span + 1)
        return subsets(self.task, offset)

    def batch(self, fixed: Subsets, key: PRNGKeyArray) -> Examples:
        return self._examples(fixed, key, self.batch_size, self.task.interpolation)

    def validation(self, fixed: Subsets) -> Examples:
        key = jax.random.key(VALIDATION_SEED)
        return self._examples(fixed, key, self.evaluation_size, self.task.interpolation)

    def test(self, fixed: Subsets) -> Examples:
        key = jax.random.key(TEST_SEED)
        return self._examples(fixed, key, self.evaluation_size, self.task.extrapolation)

    def loss(self, answers: Answers, targets: Answers) -> Scalar:
        """Mean squared error."""
        return jnp.mean((answers - targets) ** 2)

    def error(self, answers: Answers, targets: Answers) -> Scalar:
        return self.loss(answers, targets)

    def _examples(
        self, fixed: Subsets, key: PRNGKeyArray, count: int, interval: tuple[float, float]
    ) -> Examples:
        low, high = interval
        inputs = uniform(key, (count, self.input_size), low=low, high=high)
        return Examples(inputs, self._targets(fixed, inputs))

    def _targets(self, fixed: Subsets, inputs: Inputs) -> Targets:
        precision = jax.lax.Precision.HIGHEST
        a = jnp.matmul(inputs, fixed.first, precision=precision)
        b = jnp.matmul(inputs, fixed.second, precision=precision)
        return jnp.stack([OPERATIONS[name].on_device(a, b) for name in self.operations])


def subsets(task: ArithmeticTask, offset: int | Array) -> Subsets:
    """The two subsets that begin at that offset."""
    positions = jnp.arange(task.input_size) - offset
    second_start = task.subset_size - task.overlap_size
    return Subsets(
        first=jnp.where((positions >= 0) & (positions < task.subset_size), 1.0, 0.0),
        second=jnp.where((positions >= second_start) & (positions < task.span), 1.0, 0.0),
    )


def success_threshold(
    task: ArithmeticTask,
    operation: str,
    *,
    samples: int,
    key: PRNGKeyArray,
    epsilon: float = NEARLY_PERFECT,
) -> float:
    """The extrapolation MSE of the nearly perfect solution, simulated in double precision.

    Its first layer has weights 1 − ε inside the subsets and ε outside; what follows is exact:

        threshold = mean of (op(x·W^ε) − op(x·W*))²  over x ~ U[extrapolation]
    """
    chosen = subsets(task, 0)
    exact = np.stack([np.asarray(part, dtype=np.float64) for part in chosen], axis=1)
    nearly = np.where(exact == 1.0, 1.0 - epsilon, epsilon)
    apply = OPERATIONS[operation].in_double
    random = np.random.default_rng(np.asarray(jax.random.bits(key, (4,))))
    total = 0.0
    for start in range(0, samples, _THRESHOLD_BLOCK):
        count = min(_THRESHOLD_BLOCK, samples - start)
        inputs = random.uniform(*task.extrapolation, size=(count, task.input_size))
        approximate, correct = inputs @ nearly, inputs @ exact
        errors = apply(approximate[:, 0], approximate[:, 1]) - apply(correct[:, 0], correct[:, 1])
        total += float(np.sum(errors**2))
    return total / samples
