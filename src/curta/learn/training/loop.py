"""The training loop: one pure step, a compiled scan over steps, all seeds at once."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

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
from curta.learn.training.config import TrainingConfig
from curta.learn.training.devices import Devices
from curta.learn.training.objective import BatchMetrics, in_precision, objective
from curta.learn.training.optimiser import optimiser
from curta.learn.training.state import (
    TrainingState,
    divided_by_seed,
    joined_by_seed,
    new_state,
    seed_keys,
)

Chunk = Callable[[TrainingState, Array], tuple[TrainingState, BatchMetrics]]
"""Some steps: from a state and the keys of its seeds to the next state, and what was counted."""


@dataclass(frozen=True)
class ChunkMetrics:
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
    on_chunk: Callable[[ChunkMetrics, TrainingState], None] = lambda chunk, state: None,
) -> TrainingState:
    """Train up to the experiment's number of steps, from where the state is."""
    config = setup.experiment.training
    devices = Devices(config)
    state = devices.placed(new_state(setup) if state is None else state)
    keys = seed_keys(setup)
    compiled: dict[int, Chunk] = {}
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
        check_finite(losses, step, config)
        if step + size == config.steps:
            check_models(state, config)
        chunk = ChunkMetrics(
            step=step + size,
            seconds=now - begun,
            steps_per_second=size / (now - before),
            loss=means(counts.loss),
            exact=means(counts.exact),
            token=means(counts.token),
        )
        on_chunk(chunk, state)
    return state


def compile_chunk(setup: Setup, devices: Devices, steps: int) -> Chunk:
    """A function that does so many steps of all seeds.

    On accelerators the seeds are one program, by vmap. On a CPU each is a program of its own, in
    a thread of its own: vmap costs as much there as the seeds one after the other, and a single
    program leaves cores idle between its larger operations.
    """

    def chunk(key: Array, state: TrainingState) -> tuple[TrainingState, BatchMetrics]:
        arrays, static = eqx.partition(state, eqx.is_array)

        def step(arrays: TrainingState, _: None) -> tuple[TrainingState, BatchMetrics]:
            now = eqx.combine(arrays, static)
            model, held, counts = training_step(
                setup, now.model, now.optimiser, key=key, step=now.step, divided=devices.divided
            )
            after = TrainingState(model, held, now.step + 1)
            return eqx.filter(after, eqx.is_array), counts

        arrays, counts = jax.lax.scan(step, arrays, None, length=steps)
        return eqx.combine(arrays, static), counts

    if devices.threads:
        return in_threads(eqx.filter_jit(chunk, donate="all-except-first"), devices.threads)
    by_seed: Any = TrainingState(eqx.if_array(0), eqx.if_array(0), None)  # type: ignore[arg-type]
    over_seeds = eqx.filter_vmap(chunk, in_axes=(0, by_seed), out_axes=(by_seed, 1))
    compiled = eqx.filter_jit(over_seeds, donate="all-except-first")
    return lambda state, keys: compiled(keys, state)


def in_threads(chunk: Any, threads: int) -> Chunk:
    """Every seed by itself, so many at a time."""
    program: Callable[[Array, TrainingState], tuple[TrainingState, BatchMetrics]] | None = None

    def run(state: TrainingState, keys: Array) -> tuple[TrainingState, BatchMetrics]:
        nonlocal program
        states = divided_by_seed(state)
        if program is None:  # compiled here: threads would each do it
            program = chunk.lower(keys[0], states[0]).compile()
        with ThreadPoolExecutor(threads) as pool:
            ended, counts = zip(*pool.map(program, list(keys), states), strict=True)
        over_seeds = jax.tree.map(lambda *leaves: jnp.stack(leaves, axis=1), *counts)
        return joined_by_seed(ended), over_seeds

    return run


def training_step(
    setup: Setup,
    model: Transformer,
    held: optax.OptState,
    *,
    key: Array,
    step: Array,
    divided: Callable[[Rows], Rows] = lambda rows: rows,
) -> tuple[Transformer, optax.OptState, BatchMetrics]:
    """One update of one model: pure, a function of model, seed and step."""
    config = setup.experiment.training
    parts = config.accumulate
    keys = jax.random.split(jax.random.fold_in(key, step), parts)

    def loss(model: Transformer, key: Array) -> tuple[Array, BatchMetrics]:
        data_key, key = jax.random.split(key)
        rows = setup.sampler.rows(config.batch // parts, key=data_key, step=step)
        return objective(in_precision(model, config), setup, divided(rows), key=key)

    differentiated = eqx.filter_value_and_grad(loss, has_aux=True)
    if parts == 1:
        (_, counts), gradients = differentiated(model, keys[0])
    else:

        def add_part(total: Transformer, key: Array) -> tuple[Transformer, BatchMetrics]:
            (_, counts), gradients = differentiated(model, key)
            # The loss of a part is a mean over what counts there: as heavy as that is much.
            weigh = partial(jnp.multiply, counts.counted)
            return jax.tree.map(jnp.add, total, jax.tree.map(weigh, gradients)), counts

        none = jax.tree.map(jnp.zeros_like, eqx.filter(model, eqx.is_inexact_array))
        total, each = jax.lax.scan(add_part, none, keys)
        everything = jnp.maximum(each.counted.sum(), 1)
        gradients = jax.tree.map(lambda leaf: leaf / everything, total)
        counts = jax.tree.map(jnp.mean, each)
    trained = eqx.filter(model, eqx.is_inexact_array)
    updates, held = optimiser(config).update(gradients, held, trained)
    return eqx.apply_updates(model, updates), held, counts


def means(values: Array) -> tuple[float, ...]:
    """Over the steps of a chunk, for each seed."""
    return tuple(float(mean) for mean in np.asarray(values).mean(axis=0))


def check_finite(losses: np.ndarray, step: int, config: TrainingConfig) -> None:
    """Stop where a loss is no longer a number."""
    broken = ~np.isfinite(losses)
    if broken.any():
        when, which = np.argwhere(broken)[0]
        raise diverged(
            f"the loss of seed {config.seed + which} is {losses[when, which]} at step "
            f"{step + when}",
            config,
        )


def check_models(state: TrainingState, config: TrainingConfig) -> None:
    """The same behind the last step, which no loss follows."""
    for index, one in enumerate(divided_by_seed(state)):
        arrays = jax.tree.leaves(eqx.filter(one.model, eqx.is_inexact_array))
        if not all(np.isfinite(np.asarray(array)).all() for array in arrays):
            raise diverged(
                f"the model of seed {config.seed + index} has parameters that are not numbers "
                "behind the last step",
                config,
            )


def diverged(what: str, config: TrainingConfig) -> DivergedError:
    """What happened, and what to change."""
    return DivergedError(
        f"{what}: lower learning_rate (it is {config.learning_rate}), "
        f"{f'lower clip (it is {config.clip})' if config.clip else 'set clip'}, "
        f"or raise warmup (it is {config.warmup})"
    )
