"""The training loop: one pure step, a compiled scan over steps, all seeds at once."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array

from curta.errors import DivergedError
from curta.learn.experiment import Setup
from curta.learn.language import Rows
from curta.learn.models.transformer import Transformer
from curta.learn.training.devices import Devices
from curta.learn.training.objective import Counts, in_precision, objective
from curta.learn.training.optimiser import optimiser
from curta.learn.training.state import TrainingState, new_state, seed_keys


@dataclass(frozen=True)
class Report:
    """What a chunk of steps came to: means over its steps, for each seed."""

    step: int
    seconds: float
    """Since the run began or was resumed."""
    steps_per_second: float
    loss: tuple[float, ...]
    exact: tuple[float, ...]
    token: tuple[float, ...]


def train(
    setup: Setup,
    state: TrainingState | None = None,
    *,
    on_report: Callable[[Report, TrainingState], None] = lambda report, state: None,
) -> TrainingState:
    """Train up to the experiment's number of steps, from where the state is."""
    config = setup.experiment.training
    devices = Devices(config)
    state = devices.placed(new_state(setup) if state is None else state)
    keys = seed_keys(setup)
    compiled: dict[int, Callable[..., tuple[TrainingState, Counts]]] = {}
    begun = time.perf_counter()
    while (step := int(state.step)) < config.steps:
        # Chunks end at their multiples, so that a resumed run has the same ones.
        size = min(config.chunk - step % config.chunk, config.steps - step)
        if size not in compiled:
            compiled[size] = compile_chunk(setup, devices, size)
        before = time.perf_counter()
        state, counts = compiled[size](state, keys)
        losses = np.asarray(counts.loss)
        now = time.perf_counter()
        check_finite(losses, step, config.seed, config.learning_rate)
        report = Report(
            step=step + size,
            seconds=now - begun,
            steps_per_second=size / (now - before),
            loss=means(counts.loss),
            exact=means(counts.exact),
            token=means(counts.token),
        )
        on_report(report, state)
    return state


def compile_chunk(
    setup: Setup, devices: Devices, steps: int
) -> Callable[[TrainingState, Array], tuple[TrainingState, Counts]]:
    """A function that does so many steps of all seeds."""

    def one(
        model: Transformer, held: optax.OptState, key: Array, step: Array
    ) -> tuple[Transformer, optax.OptState, Counts]:
        return training_step(setup, model, held, key=key, step=step, divided=devices.divided)

    # A vmap over a single seed would only cost.
    single = setup.experiment.training.seeds == 1
    over_seeds = one if single else eqx.filter_vmap(one, in_axes=(0, 0, 0, None))

    @eqx.filter_jit(donate="all-except-first")
    def chunk(keys: Array, state: TrainingState) -> tuple[TrainingState, Counts]:
        arrays, static = eqx.partition(state, eqx.is_array)
        if single:
            keys = keys[0]
            arrays = squeezed(arrays)

        def step(arrays: TrainingState, _: None) -> tuple[TrainingState, Counts]:
            now = eqx.combine(arrays, static)
            model, held, counts = over_seeds(now.model, now.optimiser, keys, now.step)
            after = TrainingState(model, held, now.step + 1)
            return eqx.filter(after, eqx.is_array), counts

        arrays, counts = jax.lax.scan(step, arrays, None, length=steps)
        if single:
            arrays = unsqueezed(arrays)
            counts = jax.tree.map(lambda leaf: leaf[:, None], counts)
        return eqx.combine(arrays, static), counts

    return lambda state, keys: chunk(keys, state)


def training_step(
    setup: Setup,
    model: Transformer,
    held: optax.OptState,
    *,
    key: Array,
    step: Array,
    divided: Callable[[Rows], Rows] = lambda rows: rows,
) -> tuple[Transformer, optax.OptState, Counts]:
    """One update of one model: pure, a function of model, seed and step."""
    config = setup.experiment.training
    parts = config.accumulate
    keys = jax.random.split(jax.random.fold_in(key, step), parts)

    def loss(model: Transformer, key: Array) -> tuple[Array, Counts]:
        data_key, key = jax.random.split(key)
        rows = setup.sampler.rows(config.batch // parts, key=data_key, step=step)
        return objective(in_precision(model, config), setup, divided(rows), key=key)

    differentiated = eqx.filter_value_and_grad(loss, has_aux=True)
    if parts == 1:
        (_, counts), gradients = differentiated(model, keys[0])
    else:

        def add_part(total: Transformer, key: Array) -> tuple[Transformer, Counts]:
            (_, counts), gradients = differentiated(model, key)
            return jax.tree.map(jnp.add, total, gradients), counts

        none = jax.tree.map(jnp.zeros_like, eqx.filter(model, eqx.is_inexact_array))
        total, all_counts = jax.lax.scan(add_part, none, keys)
        gradients = jax.tree.map(lambda leaf: leaf / parts, total)
        counts = jax.tree.map(jnp.mean, all_counts)
    trained = eqx.filter(model, eqx.is_inexact_array)
    updates, held = optimiser(config).update(gradients, held, trained)
    return eqx.apply_updates(model, updates), held, counts


def squeezed(state: TrainingState) -> TrainingState:
    """Without the axis of seeds, where there is one seed."""
    model, held = jax.tree.map(lambda leaf: leaf[0], (state.model, state.optimiser))
    return TrainingState(model, held, state.step)


def unsqueezed(state: TrainingState) -> TrainingState:
    """With the axis of seeds again."""
    model, held = jax.tree.map(lambda leaf: leaf[None], (state.model, state.optimiser))
    return TrainingState(model, held, state.step)


def means(values: Array) -> tuple[float, ...]:
    """Over the steps of a chunk, for each seed."""
    return tuple(float(mean) for mean in np.asarray(values).mean(axis=0))


def check_finite(losses: np.ndarray, step: int, first_seed: int, learning_rate: float) -> None:
    """Stop where a loss is no longer a number."""
    broken = ~np.isfinite(losses)
    if broken.any():
        when, which = np.argwhere(broken)[0]
        raise DivergedError(
            f"the loss of seed {first_seed + which} is {losses[when, which]} at step "
            f"{step + when}: lower learning_rate (it is {learning_rate}), or set clip or warmup"
        )
