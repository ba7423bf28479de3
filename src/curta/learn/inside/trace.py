"""Everything that happens in one forward pass."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from curta.learn.experiment import Setup
from curta.learn.language import Rows
from curta.learn.models.transformer import Transformer
from curta.learn.reading import read


class Trace(eqx.Module):
    """Of a batch of rows; layers of all loops one after the other."""

    states: Float[Array, "depth+1 batch width features"]
    """The residual stream before the first layer and behind each."""
    attention: Float[Array, "depth batch heads queries keys"]
    logits: Float[Array, "batch width symbols"]


def trace(model: Transformer, setup: Setup, rows: Rows) -> Trace:
    """Walk through the model as `Transformer.hidden` does, and keep everything."""
    reading = read(rows.tokens, rows.prompt_length, setup.language)
    places = setup.positions.places(reading)
    start = model.embed(rows.tokens, places)
    context = model.context(places, rows.tokens.shape[1])
    injected = model.config.injection and model.config.loops > 1
    state = jnp.zeros_like(start) if injected else start
    states, weights = [start], []
    for _ in range(model.config.loops):
        state = state + start if injected else state
        for block in model.blocks:
            seen = block.normed(state, block.attention_scale)
            query, held = block.projected(seen, context)
            weights.append(block.attention(query, held, context))
            state = block(state, context, key=None)
            states.append(state)
    attention = jnp.stack([jnp.broadcast_to(w, weights[0].shape) for w in weights])
    return Trace(jnp.stack(states), attention, model.logits(state))


def without_head(model: Transformer, layer: int, head: int) -> Transformer:
    """The model with one head silenced: what it would add is zero."""
    size = model.config.features_per_head
    rows = slice(head * size, (head + 1) * size)
    output = model.blocks[layer].output.at[rows].set(0.0)
    silenced: Transformer = eqx.tree_at(lambda m: m.blocks[layer].output, model, output)
    return silenced
