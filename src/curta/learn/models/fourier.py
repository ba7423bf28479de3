"""Numbers as single tokens: Fourier features in, one choice for each digit out (FoNE).

A number v is embedded as the vector of its token's symbol plus a linear map of

    cos(2 pi v / b^(i+1)), sin(2 pi v / b^(i+1))        for every digit place i, b the base:

two features a digit, each pair a hand of a clock that turns once in b^(i+1). To say a number the
model says the symbol of numbers, and for each place the digit j whose point on the circle,
(cos(2 pi j / b), sin(2 pi j / b)), has the largest product with a pair of numbers that a linear
map reads off the residual stream. The published model reads and writes the first features of the
stream, which is one of these maps; trained maps let the model choose.
"""

from __future__ import annotations

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int


@dataclass(frozen=True)
class Numbers:
    """Tokens that are numbers: from `first`, which is 0 and the last symbol, upwards."""

    first: int
    base: int
    places: int

    def digits(self, tokens: Int[Array, "*shape"]) -> Int[Array, "*shape places"]:
        """The digits of numbers, least significant first; those of 0 for other tokens."""
        value = jnp.maximum(tokens - self.first, 0)
        return value[..., None] // self.base ** jnp.arange(self.places) % self.base

    def features(self, tokens: Int[Array, "*shape"]) -> Float[Array, "*shape features"]:
        """Two for each place; zeros for other tokens."""
        value = jnp.maximum(tokens - self.first, 0)
        # Remainders of integers are exact, and b^places is below 2^31.
        periods = self.base ** jnp.arange(1, self.places + 1)
        turns = (value[..., None] % periods) / periods
        return self.on_circle(turns) * (tokens >= self.first)[..., None]

    def on_circle(self, turns: Float[Array, "*shape places"]) -> Float[Array, "*shape features"]:
        """Cosine and sine of each, side by side."""
        angles = 2 * jnp.pi * turns
        pairs = jnp.stack([jnp.cos(angles), jnp.sin(angles)], axis=-1)
        return pairs.reshape(*turns.shape[:-1], -1)


class FourierNumbers(eqx.Module):
    """The two maps."""

    numbers: Numbers = eqx.field(static=True)
    embedding: Float[Array, "features width"]
    readout: Float[Array, "width features"]

    def __init__(self, numbers: Numbers, width: int, *, key: Array) -> None:
        embed_key, read_key = jax.random.split(key)
        features = 2 * numbers.places
        self.numbers = numbers
        self.embedding = jax.random.normal(embed_key, (features, width)) * width**-0.5
        self.readout = jax.random.normal(read_key, (width, features)) * width**-0.5

    def embed(self, tokens: Int[Array, "*shape"]) -> Float[Array, "*shape width"]:
        """What is added to the vectors of tokens."""
        return self.numbers.features(tokens).astype(self.embedding.dtype) @ self.embedding

    def logits(self, hidden: Float[Array, "*shape width"]) -> Float[Array, "*shape choices"]:
        """Of every digit at every place, one place after the other."""
        base = self.numbers.base
        pairs = (hidden @ self.readout).reshape(*hidden.shape[:-1], self.numbers.places, 2)
        circle = self.numbers.on_circle(jnp.arange(base)[:, None] / base).astype(pairs.dtype)
        return (pairs @ circle.T).reshape(*hidden.shape[:-1], -1)

    def split(self, logits: Float[Array, "*shape choices"]) -> tuple[Array, Array]:
        """Those of symbols; those of digits [*shape, places, base]."""
        symbols = self.numbers.first + 1
        digits = logits[..., symbols:]
        shape = (*logits.shape[:-1], self.numbers.places, self.numbers.base)
        return logits[..., :symbols], digits.reshape(shape)

    def log_probability(
        self, logits: Float[Array, "*shape choices"], tokens: Int[Array, "*shape"]
    ) -> Float[Array, "*shape"]:
        """Of the symbol; for numbers also of all digits."""
        symbols, digits = self.split(logits)
        symbol = picked(symbols, jnp.minimum(tokens, self.numbers.first))
        each = picked(digits, self.numbers.digits(tokens))
        return symbol + jnp.where(tokens >= self.numbers.first, each.sum(axis=-1), 0)

    def most_likely(self, logits: Float[Array, "*shape choices"]) -> Int[Array, "*shape"]:
        """The likeliest symbol; where it is that of numbers, the likeliest digits make one."""
        symbols, digits = self.split(logits)
        symbol = symbols.argmax(axis=-1)
        weights = self.numbers.base ** jnp.arange(self.numbers.places)
        value = (digits.argmax(axis=-1) * weights).sum(axis=-1)
        return jnp.where(symbol == self.numbers.first, self.numbers.first + value, symbol)


def picked(
    logits: Float[Array, "*shape choices"], chosen: Int[Array, "*shape"]
) -> Float[Array, "*shape"]:
    """The logarithm of the probability of what was chosen."""
    score = jnp.take_along_axis(logits, chosen[..., None], axis=-1)[..., 0]
    return score - jax.nn.logsumexp(logits, axis=-1)
