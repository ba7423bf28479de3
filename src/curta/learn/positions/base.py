"""What every position scheme is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from curta.learn.language import Language
from curta.learn.reading import Reading

Parameters = dict[str, Array]


@dataclass(frozen=True)
class Shape:
    """What a scheme has to fit."""

    width: int
    heads: int
    head_width: int
    longest: int
    """The longest row that the model is made for."""


@dataclass(frozen=True)
class Positions:
    """Where a token is, and what the model is told about it.

    A scheme says where tokens are (`places`) and does any of three things with it: add a vector to
    the embedding (`embed`), turn queries and keys (`turn`), add to the scores (`bias`). What it
    leaves out does nothing. A new scheme is a frozen dataclass with a name, a line about it, and
    whichever of these it wants; trained parameters come from `init` and are passed to all three.
    """

    name: ClassVar[str]
    about: ClassVar[str]
    of_index: ClassVar[bool] = True
    """Whether places are indices of tokens in the row, rather than places within numbers."""

    @property
    def place_shape(self) -> tuple[int, ...]:
        """Of the place of one token: () for a number, (k,) for k numbers."""
        return ()

    def check(self, language: Language) -> None:
        """Raise an `ExperimentError` if the scheme makes no sense for the language."""

    def init(self, shape: Shape, *, key: Array) -> Parameters:
        """Trained parameters."""
        return {}

    def places(
        self, reading: Reading, *, key: Array | None = None
    ) -> Int[Array, "batch width *kinds"]:
        """Where each token is; one row for all if it is the same for all.

        There is a key in training only: for offsets that are drawn anew for every row. Behind the
        prompt, places depend on earlier tokens only.
        """
        return reading.index

    def embed(
        self, parameters: Parameters, places: Int[Array, "batch width *kinds"]
    ) -> Float[Array, "batch width features"] | None:
        """What is added to the embedding of the tokens."""
        return None

    def turn(
        self,
        parameters: Parameters,
        vectors: Float[Array, "batch width heads head_width"],
        places: Int[Array, "batch width *kinds"],
    ) -> Float[Array, "batch width heads head_width"]:
        """Queries or keys, turned by their place."""
        return vectors

    def bias(
        self,
        parameters: Parameters,
        query_places: Int[Array, "batch queries *kinds"],
        key_places: Int[Array, "batch keys *kinds"],
    ) -> Float[Array, "batch heads queries keys"] | None:
        """What is added to the scores."""
        return None

    def longest_place(self, parameters: Parameters) -> int | None:
        """The largest place that there are parameters for; None if there is no limit."""
        return None

    def fit(
        self, parameters: Parameters, places: Int[Array, "batch width *kinds"]
    ) -> Bool[Array, ""]:
        """Whether there are parameters for all of these places."""
        longest = self.longest_place(parameters)
        return jnp.array(True) if longest is None else (places <= longest).all()


def table(rows: int, width: int, *, key: Array) -> Array:
    """Vectors to be trained, one for each place; small, like those of tokens."""
    return 0.02 * jax.random.normal(key, (rows, width))
