"""Greedy decoding, token by token, with a cache of keys and values."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from curta.learn.experiment import Setup
from curta.learn.language import Rows
from curta.learn.models.transformer import Cache, Transformer
from curta.learn.reading import read


class Generating(eqx.Module):
    """Rows that are being written."""

    tokens: Int[Array, "batch width"]
    length: Int[Array, " batch"]
    logits: Float[Array, "batch symbols"]
    """Of the next token."""
    cache: Cache
    ended: Bool[Array, " batch"]


@eqx.filter_jit
def generate(
    model: Transformer, setup: Setup, rows: Rows, *, loops: int | None = None
) -> Int[Array, "batch width"]:
    """Prompts with what the model says after them, up to the end token or the rows' width."""
    width = rows.tokens.shape[1]
    places = Places(setup, rows.prompt_length)
    state = prefilled(model, rows, places, loops)

    def going_on(state: Generating) -> Bool[Array, ""]:
        return ~state.ended.all()

    def say(state: Generating) -> Generating:
        said = model.most_likely(state.logits)
        chosen = jnp.where(state.ended, setup.language.alphabet.end, said)
        row = jnp.arange(len(chosen))
        tokens = state.tokens.at[row, state.length].set(chosen, mode="drop")
        place = places.of(tokens)[row, jnp.minimum(state.length, width - 1)][:, None]
        logits, cache = model.step(chosen[:, None], place, state.length, state.cache)
        length = jnp.where(state.ended, state.length, state.length + 1)
        ended = state.ended | (chosen == setup.language.alphabet.end) | (length >= width)
        return Generating(tokens, length, logits[:, 0], cache, ended)

    return jax.lax.while_loop(going_on, say, state).tokens


class Places:
    """Where the tokens of half-written rows are."""

    def __init__(self, setup: Setup, prompt_length: Int[Array, " batch"]) -> None:
        self.setup = setup
        self.prompt_length = prompt_length

    def of(self, tokens: Int[Array, "batch width"]) -> Int[Array, "batch width *kinds"]:
        """Those of every row, also where all rows have the same."""
        reading = read(tokens, self.prompt_length, self.setup.language)
        positions = self.setup.positions
        shape = (*tokens.shape, *positions.place_shape)
        return jnp.broadcast_to(positions.places(reading), shape)


def prefilled(model: Transformer, rows: Rows, places: Places, loops: int | None) -> Generating:
    """The prompts, read all at once."""
    batch, width = rows.tokens.shape
    index = jnp.arange(width)
    # What is behind the prompts lies in the cache, too, but is overwritten before it is seen.
    tokens = jnp.where(index < rows.prompt_length[:, None], rows.tokens, 0)
    cache = model.empty_cache(batch, width, loops)
    nothing = jnp.zeros((batch,), jnp.int32)
    logits, cache = model.step(tokens, places.of(tokens), nothing, cache)
    last = jnp.take_along_axis(logits, rows.prompt_length[:, None, None] - 1, axis=1)[:, 0]
    return Generating(tokens, rows.prompt_length, last, cache, rows.prompt_length >= width)
