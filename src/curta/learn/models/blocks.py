"""One layer: attention and feed-forward, each added to the residual stream."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from curta.learn.models.config import ModelConfig
from curta.learn.positions.base import Parameters, Positions

EPSILON = 1e-5


class Context(eqx.Module):
    """What attention has to know beside the residual stream; the same for all layers."""

    positions: Positions = eqx.field(static=True)
    parameters: Parameters
    query_places: Int[Array, "batch queries *kinds"]
    key_places: Int[Array, "batch keys *kinds"]
    mask: Bool[Array, "batch queries keys"]
    """Which keys a query may see."""
    slots: Int[Array, "batch queries"] | None = None
    """With a cache: where the new keys go."""


class KeysAndValues(eqx.Module):
    """Of one layer."""

    keys: Float[Array, "batch room heads head_width"]
    values: Float[Array, "batch room heads head_width"]


class Block(eqx.Module):
    """Attention and feed-forward."""

    config: ModelConfig = eqx.field(static=True)
    projection: Float[Array, "width 3*heads*head_width"]
    output: Float[Array, "heads*head_width width"]
    expand: Float[Array, "width hidden"]
    expand_bias: Float[Array, " hidden"]
    contract: Float[Array, "hidden width"]
    contract_bias: Float[Array, " width"]
    attention_scale: Float[Array, " width"]
    feedforward_scale: Float[Array, " width"]

    def __init__(self, config: ModelConfig, *, key: Array) -> None:
        project_key, output_key, expand_key, contract_key = jax.random.split(key, 4)
        width, hidden = config.width, config.feedforward
        heads = config.heads * config.features_per_head
        # What a layer adds shrinks with depth, so that the sum of all layers does not grow.
        depth = (2 * config.layers * config.loops) ** -0.5
        inner = 2 * hidden if config.activation in ("gated", "bilinear") else hidden
        self.config = config
        self.projection = matrix(project_key, width, 3 * heads)
        self.output = matrix(output_key, heads, width) * depth
        self.expand = matrix(expand_key, width, inner)
        self.expand_bias = jnp.zeros((inner,))
        self.contract = matrix(contract_key, hidden, width) * depth
        self.contract_bias = jnp.zeros((width,))
        scales = 0 if config.norm == "none" else width
        self.attention_scale = jnp.ones((scales,))
        self.feedforward_scale = jnp.ones((scales,))

    def __call__(
        self, state: Float[Array, "batch width features"], context: Context, *, key: Array | None
    ) -> Float[Array, "batch width features"]:
        """The residual stream behind this layer."""
        keys = (None, None) if key is None else jax.random.split(key)
        query, held = self.projected(self.normed(state, self.attention_scale), context)
        state = self.added(
            state, self.attended(query, held, context), self.attention_scale, keys[0]
        )
        fed = self.fed(self.normed(state, self.feedforward_scale))
        return self.added(state, fed, self.feedforward_scale, keys[1])

    def with_cache(
        self, state: Float[Array, "batch new features"], context: Context, cache: KeysAndValues
    ) -> tuple[Float[Array, "batch new features"], KeysAndValues]:
        """The same for further tokens; also the cache with them in it."""
        query, new = self.projected(self.normed(state, self.attention_scale), context)
        rows = jnp.arange(state.shape[0])[:, None]
        held = KeysAndValues(
            cache.keys.at[rows, context.slots].set(new.keys, mode="drop"),
            cache.values.at[rows, context.slots].set(new.values, mode="drop"),
        )
        state = self.added(state, self.attended(query, held, context), self.attention_scale, None)
        fed = self.fed(self.normed(state, self.feedforward_scale))
        return self.added(state, fed, self.feedforward_scale, None), held

    def projected(self, state: Array, context: Context) -> tuple[Array, KeysAndValues]:
        """Queries, and keys and values, of these tokens."""
        config = self.config
        shape = (*state.shape[:2], 3, config.heads, config.features_per_head)
        query, key, value = jnp.moveaxis(product(state, self.projection).reshape(shape), 2, 0)
        place = context.query_places
        query = context.positions.turn(context.parameters, query, place)
        key = context.positions.turn(context.parameters, key, place)
        return query, KeysAndValues(key, value)

    def attended(self, query: Array, held: KeysAndValues, context: Context) -> Array:
        """What attention adds: the weighted values through the output matrix."""
        weights = self.attention(query, held, context)
        mixed = jnp.einsum("bhqk,bkhd->bqhd", weights, held.values)
        return product(mixed.reshape(*mixed.shape[:2], -1), self.output)

    def attention(
        self, query: Array, held: KeysAndValues, context: Context
    ) -> Float[Array, "batch heads queries keys"]:
        """softmax(q k / sqrt(d) + bias)."""
        scores = jnp.einsum("bqhd,bkhd->bhqk", query, held.keys) * query.shape[-1] ** -0.5
        bias = context.positions.bias(context.parameters, context.query_places, context.key_places)
        if bias is not None:
            scores = scores + bias.astype(scores.dtype)
        return jax.nn.softmax(jnp.where(context.mask[:, None], scores, -jnp.inf), axis=-1)

    def fed(self, state: Array) -> Array:
        """What the feed-forward part adds."""
        inner = product(state, self.expand) + self.expand_bias
        match self.config.activation:
            case "gelu":
                inner = jax.nn.gelu(inner)
            case "relu":
                inner = jax.nn.relu(inner)
            case "gated":
                gate, value = jnp.split(inner, 2, axis=-1)
                inner = jax.nn.silu(gate) * value
            case "bilinear":
                left, right = jnp.split(inner, 2, axis=-1)
                inner = left * right
        return product(inner, self.contract) + self.contract_bias

    def normed(self, state: Array, scale: Array) -> Array:
        """What a half layer reads."""
        return layer_norm(state, scale) if self.config.norm == "pre" else state

    def added(self, state: Array, update: Array, scale: Array, key: Array | None) -> Array:
        """The residual stream with what a half layer adds to it."""
        if key is not None and self.config.dropout:
            update = dropped(update, self.config.dropout, key=key)
        state = state + update
        return layer_norm(state, scale) if self.config.norm == "post" else state


def layer_norm(state: Float[Array, "*batch features"], scale: Float[Array, " features"]) -> Array:
    """(x - mean) / sqrt(variance) * scale."""
    centred = state - state.mean(axis=-1, keepdims=True)
    variance = jnp.square(centred).mean(axis=-1, keepdims=True)
    return centred * jax.lax.rsqrt(variance + EPSILON) * scale


def product(state: Float[Array, "*batch rows"], weights: Array) -> Float[Array, "*batch columns"]:
    """state @ weights, as a product of two matrices.

    The gradient of the weights then sums over one axis. Over several, XLA first makes transposed
    copies of both factors on a CPU, which takes longer than the product.
    """
    flat = state.reshape(-1, state.shape[-1]) @ weights
    shaped: Array = flat.reshape(*state.shape[:-1], weights.shape[-1])
    return shaped


def dropped(update: Array, rate: float, *, key: Array) -> Array:
    """Each number is zero with probability `rate`; others grow to match."""
    kept = jax.random.bits(key, update.shape) >= jnp.uint32(int(rate * 2**32))
    return jnp.where(kept, update / (1 - rate), 0)


def matrix(key: Array, rows: int, columns: int) -> Float[Array, "rows columns"]:
    """Normal, of variance 1 / rows."""
    return jax.random.normal(key, (rows, columns)) / jnp.sqrt(rows)
