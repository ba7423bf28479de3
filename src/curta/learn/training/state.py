"""What a training run is at a given step; and how it is kept in a file.

Everything random is a function of the seed and the step, so parameters, the optimiser's state and
the step are all there is. A file is written whole and renamed: after a kill there is either the
old one or the new one. Arrays are written as they are, so a resumed run goes on bit for bit.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Int
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from curta.errors import ExperimentError, FileError
from curta.learn.experiment import Setup
from curta.learn.files import whole
from curta.learn.keys import new_key
from curta.learn.models.fourier import Numbers
from curta.learn.models.transformer import Transformer
from curta.learn.training.optimiser import optimiser


class TrainingState(eqx.Module):
    """Of several seeds at once: all arrays but the step have them as their first axis."""

    model: Transformer
    optimiser: optax.OptState
    step: Int[Array, ""]


def new_state(setup: Setup) -> TrainingState:
    """Freshly initialised models."""
    config = setup.experiment.training

    def one(key: Array) -> tuple[Transformer, optax.OptState]:
        model = new_model(setup, key=key)
        return model, optimiser(config).init(eqx.filter(model, eqx.is_inexact_array))

    def arrays(key: Array) -> tuple[Transformer, optax.OptState]:
        filtered: tuple[Transformer, optax.OptState] = eqx.filter(one(key), eqx.is_array)
        return filtered

    # One program, because the many small ones of an eager start take longer than training; and one
    # seed after the other, because random numbers of several keys take three times as long to
    # compile.
    keys = seed_keys(setup)
    shapes = eqx.filter_eval_shape(one, keys[0])
    rest = eqx.filter(shapes, lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct), inverse=True)
    model, state = eqx.combine(jax.jit(lambda keys: jax.lax.map(arrays, keys))(keys), rest)
    return TrainingState(model, state, jnp.array(0))


def new_model(setup: Setup, *, key: Array) -> Transformer:
    """One model, as the experiment describes it."""
    alphabet = setup.language.alphabet
    numbers = Numbers(alphabet.first_number, alphabet.base, alphabet.number_places)
    return Transformer(
        setup.experiment.model,
        setup.positions,
        alphabet.size,
        setup.longest,
        numbers=numbers if alphabet.number_places else None,
        key=key,
    )


def seed_keys(setup: Setup) -> Array:
    """One key for each seed."""
    config = setup.experiment.training
    return jax.vmap(new_key)(jnp.arange(config.seed, config.seed + config.seeds))


def of_seed(state: TrainingState, index: int) -> Transformer:
    """One of the models."""
    return picked(state.model, index)


def picked(models: Transformer, index: int) -> Transformer:
    """The model of one seed."""
    arrays, rest = eqx.partition(models, eqx.is_array)
    model: Transformer = eqx.combine(jax.tree.map(lambda leaf: leaf[index], arrays), rest)
    return model


def divided_by_seed(state: TrainingState) -> list[TrainingState]:
    """A state of each seed, without the axis of seeds."""
    arrays, rest = eqx.partition((state.model, state.optimiser), eqx.is_array)
    seeds = jax.tree.leaves(arrays)[0].shape[0]

    def one(index: int) -> TrainingState:
        own = jax.tree.map(lambda leaf: leaf[index], arrays)
        model, held = eqx.combine(own, rest)
        return TrainingState(model, held, jnp.array(state.step))

    return [one(index) for index in range(seeds)]


def joined_by_seed(states: Sequence[TrainingState]) -> TrainingState:
    """The state that `divided_by_seed` divides into these."""
    kept = [eqx.partition((state.model, state.optimiser), eqx.is_array) for state in states]
    joined = jax.tree.map(lambda *leaves: jnp.stack(leaves), *(arrays for arrays, _ in kept))
    model, held = eqx.combine(joined, kept[0][1])
    return TrainingState(model, held, states[0].step)


def save_state(state: TrainingState, path: Path) -> None:
    """Write a checkpoint, all of it or nothing."""
    written = save(named_arrays(state))
    with whole(path) as partial, partial.open("wb") as file:
        file.write(written)
        file.flush()
        os.fsync(file.fileno())


def load_state(setup: Setup, path: Path) -> TrainingState:
    """Read a checkpoint of this experiment."""
    like = eqx.filter_eval_shape(new_state, setup)
    try:
        arrays = load_file(path)
    except (OSError, SafetensorError) as error:
        raise FileError(f"{path}: not a checkpoint that can be read ({error})") from error
    flat, tree = jax.tree_util.tree_flatten_with_path(like)
    leaves = []
    for where, leaf in flat:
        if not hasattr(leaf, "shape"):
            leaves.append(leaf)
            continue
        found = arrays.get(jax.tree_util.keystr(where))
        if found is None or found.shape != leaf.shape:
            shape = None if found is None else found.shape
            raise ExperimentError(
                f"{path}: {jax.tree_util.keystr(where)} is {shape}, the experiment needs "
                f"{leaf.shape}: the checkpoint is of another experiment"
            )
        leaves.append(jnp.asarray(found))
    state: TrainingState = jax.tree_util.tree_unflatten(tree, leaves)
    return state


def named_arrays(tree: Any) -> dict[str, np.ndarray]:
    """The arrays of a tree by their path in it."""
    flat, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {
        jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in flat if eqx.is_array(leaf)
    }
