"""The transformer: embedding, blocks, readout; once over a whole row, or token by token."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from curta.learn.models.blocks import Block, Context, KeysAndValues, layer_norm, product
from curta.learn.models.config import ModelConfig
from curta.learn.models.fourier import FourierNumbers, Numbers, picked
from curta.learn.positions.base import Parameters, Positions, Shape


class Cache(eqx.Module):
    """Keys and values of all tokens so far, for each loop and layer; and where they are."""

    layers: tuple[tuple[KeysAndValues, ...], ...]
    places: Int[Array, "batch room *kinds"]


class Transformer(eqx.Module):
    """A decoder-only transformer with the options of `ModelConfig`."""

    config: ModelConfig = eqx.field(static=True)
    positions: Positions = eqx.field(static=True)
    embedding: Float[Array, "tokens width"]
    position_parameters: Parameters
    blocks: tuple[Block, ...]
    final_scale: Float[Array, " width"]
    readout: Float[Array, "width tokens"] | None
    numbers: FourierNumbers | None

    def __init__(
        self,
        config: ModelConfig,
        positions: Positions,
        tokens: int,
        longest: int,
        *,
        numbers: Numbers | None = None,
        key: Array,
    ) -> None:
        embed_key, position_key, readout_key, *block_keys = jax.random.split(key, 3 + config.layers)
        width = config.width
        shape = Shape(width, config.heads, config.features_per_head, longest)
        self.config, self.positions = config, positions
        self.embedding = 0.02 * jax.random.normal(embed_key, (tokens, width))
        self.position_parameters = positions.init(shape, key=position_key)
        self.blocks = tuple(Block(config, key=block_key) for block_key in block_keys)
        self.final_scale = jnp.ones((width if config.norm == "pre" else 0,))
        untied = 0.02 * jax.random.normal(readout_key, (width, tokens))
        self.readout = None if config.tied else untied
        number_key = jax.random.fold_in(embed_key, 1)
        self.numbers = None if numbers is None else FourierNumbers(numbers, width, key=number_key)

    def __call__(
        self,
        tokens: Int[Array, "batch width"],
        places: Int[Array, "#batch width *kinds"],
        *,
        key: Array | None = None,
        loops: int | None = None,
    ) -> Float[Array, "batch width symbols"]:
        """The logits of what follows each token. A key means training: dropout."""
        hidden = self.hidden(tokens, places, key=key, loops=loops)
        return self.logits(hidden[-1])

    def hidden(
        self,
        tokens: Int[Array, "batch width"],
        places: Int[Array, "#batch width *kinds"],
        *,
        key: Array | None = None,
        loops: int | None = None,
    ) -> Float[Array, "loops batch width features"]:
        """The residual stream behind each loop."""
        start = self.embed(tokens, places)
        context = self.context(places, tokens.shape[1])
        loops = loops or self.config.loops
        first = jnp.zeros_like(start) if self.config.injection else start
        if loops == 1:
            return self.once(first, start, context, key=key)[None]

        def loop(state: Array, index: Array) -> tuple[Array, Array]:
            now = None if key is None else jax.random.fold_in(key, index)
            state = self.once(state, start, context, key=now)
            return state, state

        _, states = jax.lax.scan(loop, first, jnp.arange(loops))
        return states

    def once(
        self, state: Array, start: Array, context: Context, *, key: Array | None = None
    ) -> Array:
        """All blocks, one after the other."""
        if self.config.injection:
            state = state + start
        keys = None if key is None else jax.random.split(key, len(self.blocks))
        if self.config.scan_layers:
            stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *self.blocks)

            def layer(state: Array, given: tuple[Block, Array | None]) -> tuple[Array, None]:
                block, block_key = given
                return block(state, context, key=block_key), None

            return jax.lax.scan(layer, state, (stacked, keys))[0]
        for index, block in enumerate(self.blocks):
            state = block(state, context, key=None if keys is None else keys[index])
        return state

    def embed(self, tokens: Int[Array, "batch width"], places: Array) -> Array:
        """Vectors of tokens and places."""
        if self.numbers is None:
            vectors = self.embedding[tokens]
        else:
            symbols = jnp.minimum(tokens, self.numbers.numbers.first)
            vectors = self.embedding[symbols] + self.numbers.embed(tokens)
        added = self.positions.embed(self.position_parameters, places)
        return vectors if added is None else vectors + added.astype(vectors.dtype)

    def logits(self, hidden: Float[Array, "*batch features"]) -> Float[Array, "*batch symbols"]:
        """The readout: of symbols, then of digits if numbers are tokens."""
        if self.config.norm == "pre":
            hidden = layer_norm(hidden, self.final_scale)
        readout = self.embedding.T if self.readout is None else self.readout
        symbols = product(hidden, readout)
        if self.numbers is None:
            return symbols
        return jnp.concatenate([symbols, self.numbers.logits(hidden)], axis=-1)

    def log_probability(
        self, logits: Float[Array, "*batch symbols"], tokens: Int[Array, "*batch"]
    ) -> Float[Array, "*batch"]:
        """The logarithm of the probability that the logits give to tokens."""
        if self.numbers is None:
            return picked(logits, tokens)
        return self.numbers.log_probability(logits, tokens)

    def most_likely(self, logits: Float[Array, "*batch symbols"]) -> Int[Array, "*batch"]:
        """The token that is said."""
        if self.numbers is None:
            return logits.argmax(axis=-1)
        return self.numbers.most_likely(logits)

    def context(self, places: Int[Array, "#batch width *kinds"], width: int) -> Context:
        """What the attention of every layer shares, for whole rows."""
        index = jnp.arange(width)
        return Context(
            positions=self.positions,
            parameters=self.position_parameters,
            query_places=places,
            key_places=places,
            mask=(index[:, None] >= index)[None],
        )

    def empty_cache(self, batch: int, room: int, loops: int | None = None) -> Cache:
        """A cache for so many tokens."""
        config = self.config
        shape = (batch, room, config.heads, config.features_per_head)
        empty = KeysAndValues(jnp.zeros(shape), jnp.zeros(shape))
        layers = tuple(tuple(empty for _ in self.blocks) for _ in range(loops or config.loops))
        places = (batch, room, *self.positions.place_shape)
        return Cache(layers, jnp.zeros(places, jnp.int32))

    def step(
        self,
        tokens: Int[Array, "batch new"],
        places: Int[Array, "batch new *kinds"],
        start: Int[Array, " batch"],
        cache: Cache,
    ) -> tuple[Float[Array, "batch new symbols"], Cache]:
        """Further tokens of rows of which `start` tokens are in the cache: their logits."""
        new, room = tokens.shape[1], cache.places.shape[1]
        slots = start[:, None] + jnp.arange(new)
        rows = jnp.arange(tokens.shape[0])[:, None]
        key_places = cache.places.at[rows, slots].set(places, mode="drop")
        mask: Bool[Array, "batch new room"] = slots[:, :, None] >= jnp.arange(room)
        context = Context(
            positions=self.positions,
            parameters=self.position_parameters,
            query_places=places,
            key_places=key_places,
            mask=mask,
            slots=slots,
        )
        begin = self.embed(tokens, places)
        injected = self.config.injection
        state = jnp.zeros_like(begin) if injected else begin
        layers = []
        for loop in cache.layers:
            state = state + begin if injected else state
            held = []
            for block, before in zip(self.blocks, loop, strict=True):
                state, after = block.with_cache(state, context, before)
                held.append(after)
            layers.append(tuple(held))
        return self.logits(state), Cache(tuple(layers), key_places)


def parameter_count(model: eqx.Module) -> int:
    """How many numbers are trained."""
    leaves = jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array))
    return sum(int(leaf.size) for leaf in leaves)
