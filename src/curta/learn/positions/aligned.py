"""Distances in significance rather than in tokens."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from curta.errors import ExperimentError
from curta.learn.language import Language
from curta.learn.positions.absolute import check_significance
from curta.learn.positions.base import Parameters, Positions, Shape
from curta.learn.reading import Reading


@dataclass(frozen=True)
class Aligned(Positions):
    """Attention sees digits of nearby significance, and knows how far away they are.

    Places are those of `coupled`, but only their differences count: a trained number for each head
    and each difference up to `reach`, and nothing beyond. A digit in the middle of a long number
    then sees what it would see in a short one. Without the end of sight, far digits would have to
    be told apart by small weights, and there are more of them in longer numbers.
    """

    name = "aligned"
    about = "sees digits up to reach=2 places of significance away, wherever they are written"
    of_index = False
    reach: int = 2

    def __post_init__(self) -> None:
        if self.reach < 0:
            raise ExperimentError(f"positions aligned: reach = {self.reach}: at least 0")

    def check(self, language: Language) -> None:
        check_significance(self.name, language)

    def init(self, shape: Shape, *, key: Array) -> Parameters:
        return {"bias": jnp.zeros((shape.heads, 2 * self.reach + 1))}

    def places(self, reading: Reading, *, key: Array | None = None) -> Int[Array, "batch width"]:
        return reading.significance

    def bias(
        self,
        parameters: Parameters,
        query_places: Int[Array, "batch queries"],
        key_places: Int[Array, "batch keys"],
    ) -> Float[Array, "batch heads queries keys"]:
        distance = key_places[:, None, :] - query_places[:, :, None]
        known = jnp.clip(distance, -self.reach, self.reach) + self.reach
        bias = jnp.moveaxis(parameters["bias"].T[known], -1, 1)
        return jnp.where(jnp.abs(distance)[:, None] <= self.reach, bias, -jnp.inf)
