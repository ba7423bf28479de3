"""Schemes that look at the distance of two tokens: RoPE, ALiBi, T5's buckets, FIRE."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from curta.errors import ExperimentError
from curta.learn.positions.base import Parameters, Positions, Shape, table


@dataclass(frozen=True)
class Rope(Positions):
    """Queries and keys turned by angles proportional to the place, pair by pair.

    Pair i of a head turns by p * base^(-2i/d), so a score depends on the difference of places. For
    the same reason a random offset would change nothing; `randomised(of="rope")` does.
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


@dataclass(frozen=True)
class Buckets(Positions):
    """One trained number for each head and bucket of distances, as in T5.

    The first half of the buckets hold one distance each; the others grow geometrically up to
    `furthest`, and all that lies beyond is in the last one.
    """

    name = "t5"
    about = "a trained number for each head and bucket of distances, as in T5"
    buckets: int = 32
    furthest: int = 128

    def __post_init__(self) -> None:
        if self.buckets < 2 or self.furthest <= self.buckets // 2:
            raise ExperimentError(
                f"positions t5(buckets={self.buckets}, furthest={self.furthest}): at least 2 "
                "buckets, and furthest above half their number"
            )

    def init(self, shape: Shape, *, key: Array) -> Parameters:
        return {"table": table(self.buckets, shape.heads, key=key)}

    def bucket(self, distance: Int[Array, "*shape"]) -> Int[Array, "*shape"]:
        """Which bucket a distance lies in: counted off at the buckets' least distances."""
        exact = self.buckets // 2
        wide = self.buckets - exact
        steps = np.arange(1, wide) / wide
        least = np.ceil(exact * (self.furthest / exact) ** steps - 1e-6)
        bounds = np.concatenate([np.arange(1, exact + 1), least]).astype(np.int32)
        return jnp.searchsorted(bounds, distance, side="right")

    def bias(
        self,
        parameters: Parameters,
        query_places: Int[Array, "batch queries"],
        key_places: Int[Array, "batch keys"],
    ) -> Float[Array, "batch heads queries keys"]:
        distance = query_places[:, :, None] - key_places[:, None, :]
        return jnp.moveaxis(parameters["table"][self.bucket(distance)], -1, 1)


@dataclass(frozen=True)
class Fire(Positions):
    """Functional interpolation for relative positions: a small network of a distance in [0, 1].

    For query place i and key place j, with psi(x) = log(c x + 1) and trained c and L:
    bias = f(psi(i - j) / psi(max(L, i))), f one hidden layer of `hidden` rectified units. Below
    the threshold L only the distance counts; above it, distances are relative to i, so places
    never seen in training lie within the range that was.
    """

    name = "fire"
    about = "a small network of the distance, relative to the place beyond a trained threshold"
    hidden: int = 32
    scale: float = 0.1
    threshold: float = 512.0

    def init(self, shape: Shape, *, key: Array) -> Parameters:
        inner_key, outer_key, bias_key = jax.random.split(key, 3)
        spread = self.hidden**-0.5
        return {
            "scale": jnp.array(self.scale),
            "threshold": jnp.array(self.threshold),
            "inner": jax.random.normal(inner_key, (self.hidden,)),
            "inner_bias": jax.random.uniform(bias_key, (self.hidden,), minval=-1.0),
            "outer": spread * jax.random.normal(outer_key, (self.hidden, shape.heads)),
            "outer_bias": jnp.zeros((shape.heads,)),
        }

    def distance(
        self,
        parameters: Parameters,
        query_places: Int[Array, "batch queries"],
        key_places: Int[Array, "batch keys"],
    ) -> Float[Array, "batch queries keys"]:
        """From 0 (the token itself, or what is masked) to 1 (the first of a long row)."""
        # In full precision: places above 256 are not numbers of bfloat16.
        scale, threshold = (
            jnp.abs(parameters[name].astype(jnp.float32)) for name in ("scale", "threshold")
        )
        queries = query_places[:, :, None]
        apart = jnp.maximum(queries - key_places[:, None, :], 0)
        whole = jnp.maximum(jnp.maximum(threshold, queries), 1)
        # The scale may pass through 0 in training: no distance then, rather than 0 / 0.
        return jnp.log1p(scale * apart) / jnp.maximum(jnp.log1p(scale * whole), 1e-20)

    def bias(
        self,
        parameters: Parameters,
        query_places: Int[Array, "batch queries"],
        key_places: Int[Array, "batch keys"],
    ) -> Float[Array, "batch heads queries keys"]:
        inner = parameters["inner"]
        distance = self.distance(parameters, query_places, key_places).astype(inner.dtype)
        hidden = jax.nn.relu(distance[..., None] * inner + parameters["inner_bias"])
        return jnp.moveaxis(hidden @ parameters["outer"] + parameters["outer_bias"], -1, 1)
