"""Training of one design on a problem: every seed and every operation in one compiled step.

The networks of all seeds and operations are stacked, seeds first, and the step is mapped over
both axes. A chunk of steps is one `lax.scan`, so the interpreter is met once per evaluation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import optax
from jaxtyping import Array, Int, PRNGKeyArray, PyTree

from curta.errors import ExperimentError
from curta.learn.units.layers import Scalar
from curta.learn.units.networks import Design, Network
from curta.learn.units.problem import Answers, Examples, Inputs, PerOperation, Problem

Curves = npt.NDArray[np.float64]
Step = Int[Array, ""]


@dataclass(frozen=True)
class TrainingOptions:
    """How long and how to train; the learning rate is Adam's published default."""

    seeds: int
    steps: int
    evaluate_every: int
    hidden: int = 2
    learning_rate: float = 1e-3

    def __post_init__(self) -> None:
        for option in ("seeds", "steps", "evaluate_every", "hidden"):
            if getattr(self, option) < 1:
                raise ExperimentError(f"{option} is {getattr(self, option)}: choose at least 1")
        if self.steps % self.evaluate_every:
            raise ExperimentError(
                f"steps {self.steps} is not a multiple of evaluate_every {self.evaluate_every}; "
                "choose a multiple, so that the last step is evaluated"
            )


@dataclass(frozen=True)
class Evaluation:
    """What progress is told: where training is, and the test errors [seeds, operations]."""

    design: str
    step: int
    steps: int
    test_error: Curves


@dataclass(frozen=True)
class History:
    """The evaluations of a training; each curve is [evaluations, seeds, operations]."""

    steps: npt.NDArray[np.int64]
    validation: Curves
    test: Curves
    sparsity: Curves
    networks: Network
    """The trained networks, stacked [seeds, operations]."""


class _State(NamedTuple):
    """Networks and their optimisers, stacked [seeds, operations]."""

    networks: Network
    optimisers: PyTree


class _Metrics(NamedTuple):
    """One evaluation: [operations] for one seed, [seeds, operations] for all."""

    validation: PerOperation
    test: PerOperation
    sparsity: PerOperation


@dataclass(frozen=True)
class _Training:
    """Everything that a compiled chunk of training depends on."""

    problem: Problem
    design: Design
    options: TrainingOptions

    @property
    def optimiser(self) -> optax.GradientTransformation:
        return optax.adam(self.options.learning_rate)

    @property
    def inputs_axis(self) -> int | None:
        return None if self.problem.shares_inputs else 0


def train(
    problem: Problem,
    design: Design,
    options: TrainingOptions,
    *,
    key: PRNGKeyArray,
    progress: Callable[[Evaluation], None] | None = None,
) -> History:
    """Trains the design from `options.seeds` initialisations of its own on each operation."""
    training = _Training(problem, design, options)
    state, fixed, data_keys = _start(training, key)
    steps: list[int] = []
    metrics: list[tuple[Curves, ...]] = []
    for first in range(0, options.steps, options.evaluate_every):
        state, evaluated = _chunk(training, state, fixed, data_keys, jnp.asarray(first))
        steps.append(first + options.evaluate_every)
        metrics.append(tuple(np.asarray(part, dtype=np.float64) for part in evaluated))
        if progress is not None:
            _, test_error, _ = metrics[-1]
            progress(Evaluation(design.name, steps[-1], options.steps, test_error))
    validation, test, sparsity = (np.stack(curves) for curves in zip(*metrics, strict=True))
    return History(np.asarray(steps), validation, test, sparsity, state.networks)


@partial(jax.jit, static_argnums=0)
def _start(training: _Training, key: PRNGKeyArray) -> tuple[_State, PyTree, PRNGKeyArray]:
    """Fresh networks and optimisers; for each seed, what its problem fixes and its data's key."""
    problem_key, network_key, data_key = jax.random.split(key, 3)
    seeds = training.options.seeds
    fixed = jax.vmap(training.problem.prepare)(jax.random.split(problem_key, seeds))

    def build(key: PRNGKeyArray) -> Network:
        hidden = training.options.hidden
        return training.design.build(training.problem.input_size, hidden, key=key)

    shape = (seeds, len(training.problem.operations))
    networks = jax.vmap(jax.vmap(build))(jax.random.split(network_key, shape))
    state = _State(networks, jax.vmap(jax.vmap(training.optimiser.init))(networks))
    return state, fixed, jax.random.split(data_key, seeds)


@partial(jax.jit, static_argnums=0, donate_argnums=1)
def _chunk(
    training: _Training, state: _State, fixed: PyTree, keys: PRNGKeyArray, first: Step
) -> tuple[_State, _Metrics]:
    """`evaluate_every` steps of all networks, then an evaluation."""
    update = partial(_update, training)
    over_operations = jax.vmap(update, in_axes=(0, training.inputs_axis, 0, None))
    over_seeds = jax.vmap(over_operations, in_axes=(0, 0, 0, None))

    def step(state: _State, index: Step) -> tuple[_State, None]:
        step_keys = jax.vmap(jax.random.fold_in, in_axes=(0, None))(keys, index)
        batch = jax.vmap(training.problem.batch)(fixed, step_keys)
        strength = training.design.schedule.at(index)
        return over_seeds(state, batch.inputs, batch.targets, strength), None

    state, _ = jax.lax.scan(step, state, first + jnp.arange(training.options.evaluate_every))
    return state, jax.vmap(partial(_evaluate, training))(state.networks, fixed)


def _update(
    training: _Training, state: _State, inputs: Inputs, targets: Answers, strength: Scalar
) -> _State:
    """One step of one network: the gradient of loss + λR, Adam, and the units' constraints."""

    def objective(network: Network) -> Scalar:
        fit = training.problem.loss(_answers(network, inputs), targets)
        return fit + strength * network.regulariser()

    gradients = jax.grad(objective)(state.networks)
    updates, optimisers = training.optimiser.update(gradients, state.optimisers)
    moved: Network = optax.apply_updates(state.networks, updates)
    return _State(moved.constrained(), optimisers)


def _evaluate(training: _Training, networks: Network, fixed: PyTree) -> _Metrics:
    """The two errors and the sparsity of one seed's networks."""
    problem = training.problem

    def measured(measure: Callable[[Answers, Answers], Scalar], examples: Examples) -> PerOperation:
        answer = jax.vmap(_answers, in_axes=(0, training.inputs_axis))
        return jax.vmap(measure)(answer(networks, examples.inputs), examples.targets)

    return _Metrics(
        validation=measured(problem.loss, problem.validation(fixed)),
        test=measured(problem.error, problem.test(fixed)),
        sparsity=jax.vmap(_sparsity_error)(networks),
    )


def _sparsity_error(network: Network) -> Scalar:
    return network.sparsity_error()


def _answers(network: Network, inputs: Inputs) -> Answers:
    return jax.vmap(network)(inputs)[:, 0]
