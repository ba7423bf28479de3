"""Training of one design on a problem: every seed and every operation in one compiled step.

The networks of all seeds and operations are stacked, seeds first, and the step is mapped over
both axes. A chunk of steps is one `lax.scan`, so the interpreter is met once per evaluation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import optax
from jaxtyping import Array, Int, PRNGKeyArray, PyTree

from curta.errors import UserError
from curta.learn.units.layers import Scalar
from curta.learn.units.networks import Design, Network, Schedule
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
                raise UserError(f"{option} is {getattr(self, option)}: choose at least 1")
        if self.steps % self.evaluate_every:
            raise UserError(
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
    parameters: PyTree
    optimiser: PyTree


class _Metrics(NamedTuple):
    """One evaluation: [operations] for one seed, [seeds, operations] for all."""

    validation: PerOperation
    test: PerOperation
    sparsity: PerOperation


def train(
    problem: Problem,
    design: Design,
    options: TrainingOptions,
    *,
    key: PRNGKeyArray,
    progress: Callable[[Evaluation], None] | None = None,
    schedule: Schedule | None = None,
) -> History:
    """Trains the design from `options.seeds` initialisations of its own on each operation."""
    trainer = _Trainer(problem, design, options, schedule or design.schedule)
    problem_key, network_key, data_key = jax.random.split(key, 3)
    fixed = jax.vmap(problem.prepare)(jax.random.split(problem_key, options.seeds))
    state, static = trainer.start(network_key)
    data_keys = jax.random.split(data_key, options.seeds)
    advance = jax.jit(trainer.chunk(static), donate_argnums=0)
    steps: list[int] = []
    metrics: list[tuple[Curves, ...]] = []
    for first in range(0, options.steps, options.evaluate_every):
        state, evaluated = advance(state, fixed, data_keys, jnp.asarray(first))
        steps.append(first + options.evaluate_every)
        metrics.append(tuple(np.asarray(part, dtype=np.float64) for part in evaluated))
        if progress is not None:
            _, test_error, _ = metrics[-1]
            progress(Evaluation(design.name, steps[-1], options.steps, test_error))
    validation, test, sparsity = (np.stack(curves) for curves in zip(*metrics, strict=True))
    networks: Network = eqx.combine(state.parameters, static)
    return History(np.asarray(steps), validation, test, sparsity, networks)


@dataclass(frozen=True)
class _Trainer:
    problem: Problem
    design: Design
    options: TrainingOptions
    schedule: Schedule

    @property
    def optimiser(self) -> optax.GradientTransformation:
        return optax.adam(self.options.learning_rate)

    def start(self, key: PRNGKeyArray) -> tuple[_State, PyTree]:
        """Fresh networks and optimisers [seeds, operations], and their static part."""
        shape = (self.options.seeds, len(self.problem.operations))

        def build(key: PRNGKeyArray) -> Network:
            return self.design.build(self.problem.input_size, self.options.hidden, key=key)

        networks = eqx.filter_vmap(eqx.filter_vmap(build))(jax.random.split(key, shape))
        parameters, static = eqx.partition(networks, eqx.is_array)
        optimisers = jax.vmap(jax.vmap(self.optimiser.init))(parameters)
        return _State(parameters, optimisers), static

    def chunk(
        self, static: PyTree
    ) -> Callable[[_State, PyTree, PRNGKeyArray, Step], tuple[_State, _Metrics]]:
        """The function of one chunk: `evaluate_every` steps of all networks, then an evaluation."""
        inputs_axis = None if self.problem.shares_inputs else 0

        def update(state: _State, inputs: Inputs, targets: Answers, strength: Scalar) -> _State:
            return self._update(static, state, inputs, targets, strength)

        over_operations = jax.vmap(update, in_axes=(0, inputs_axis, 0, None))
        over_seeds = jax.vmap(over_operations, in_axes=(0, 0, 0, None))

        def step(state: _State, index: Step, fixed: PyTree, keys: PRNGKeyArray) -> _State:
            step_keys = jax.vmap(jax.random.fold_in, in_axes=(0, None))(keys, index)
            batch = jax.vmap(self.problem.batch)(fixed, step_keys)
            return over_seeds(state, batch.inputs, batch.targets, self.schedule.at(index))

        def evaluate(parameters: PyTree, fixed: PyTree) -> _Metrics:
            return self._evaluate(static, parameters, fixed)

        def chunk(
            state: _State, fixed: PyTree, keys: PRNGKeyArray, first: Step
        ) -> tuple[_State, _Metrics]:
            indices = first + jnp.arange(self.options.evaluate_every)
            state, _ = jax.lax.scan(lambda s, i: (step(s, i, fixed, keys), None), state, indices)
            return state, jax.vmap(evaluate)(state.parameters, fixed)

        return chunk

    def _update(
        self, static: PyTree, state: _State, inputs: Inputs, targets: Answers, strength: Scalar
    ) -> _State:
        """One step of one network: the gradient of loss + λR, Adam, and the units' constraints."""

        def objective(parameters: PyTree) -> Scalar:
            network: Network = eqx.combine(parameters, static)
            fit = self.problem.loss(_answers(network, inputs), targets)
            return fit + strength * network.regulariser()

        gradients = jax.grad(objective)(state.parameters)
        updates, optimiser = self.optimiser.update(gradients, state.optimiser)
        network: Network = eqx.combine(optax.apply_updates(state.parameters, updates), static)
        return _State(eqx.filter(network.constrained(), eqx.is_array), optimiser)

    def _evaluate(self, static: PyTree, parameters: PyTree, fixed: PyTree) -> _Metrics:
        """The two errors and the sparsity of one seed's networks, an entry per operation."""
        inputs_axis = None if self.problem.shares_inputs else 0
        network: Network = eqx.combine(parameters, static)

        def measured(
            measure: Callable[[Answers, Answers], Scalar], examples: Examples
        ) -> PerOperation:
            answers = jax.vmap(_answers, in_axes=(0, inputs_axis))(network, examples.inputs)
            return jax.vmap(measure)(answers, examples.targets)

        return _Metrics(
            validation=measured(self.problem.loss, self.problem.validation(fixed)),
            test=measured(self.problem.error, self.problem.test(fixed)),
            sparsity=jax.vmap(_sparsity_error)(network),
        )


def _sparsity_error(network: Network) -> Scalar:
    return network.sparsity_error()


def _answers(network: Network, inputs: Inputs) -> Answers:
    return jax.vmap(network)(inputs)[:, 0]
