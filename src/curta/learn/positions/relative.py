"""Schemes that look at the distance of two tokens: RoPE, ALiBi."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from curta.learn.positions.base import Parameters, Positions, Shape


@dataclass(frozen=True)
class Rope(Positions):
    """Queries and keys turned by angles proportional to the place, pair by pair.

    Pair i of a head turns by p * base^(-2i/d), so a score depends on the difference of places.
    """

    name = "rope"
    about = "queries and keys turned by their place"
    base: float = 10_000.0

    def turn(
        self,
        parameters: Parameters,
        vectors: Float[Array, "batch width heads head_width"],
        places: Int[Array, "batch width"],
    ) -> Float[Array, "batch width heads head_width"]:
        half = vectors.shape[-1] // 2
        angles = places[..., None, None] * self.base ** (-jnp.arange(half) / half)
        cos, sin = jnp.cos(angles).astype(vectors.dtype), jnp.sin(angles).astype(vectors.dtype)
        first, second, rest = jnp.split(vectors, [half, 2 * half], axis=-1)
        return jnp.concatenate(
            [first * cos - second * sin, first * sin + second * cos, rest], axis=-1
        )


@dataclass(frozen=True)
class Alibi(Positions):
    """Scores fall linearly with the distance, with a slope 2^(-8h/H) for head h of H."""

    name = "alibi"
    about = "scores fall linearly with distance"

    def init(self, shape: Shape, *, key: Array) -> Parameters:
        return {"heads": jnp.zeros((shape.heads, 0))}

    def bias(
        self,
        parameters: Parameters,
        query_places: Int[Array, "batch queries"],
        key_places: Int[Array, "batch keys"],
    ) -> Float[Array, "batch heads queries keys"]:
        heads = parameters["heads"].shape[0]
        slopes = 2.0 ** (-8 * jnp.arange(1, heads + 1) / heads)
        distance = query_places[:, None, :, None] - key_places[:, None, None, :]
        return -slopes[:, None, None] * distance
