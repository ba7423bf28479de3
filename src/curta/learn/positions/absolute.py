"""Vectors added to the embedding: none, sinusoidal, learned, abacus, coupled."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from curta.errors import ExperimentError
from curta.learn.language import Language
from curta.learn.positions.base import Parameters, Positions, Shape, table
from curta.learn.reading import Reading


@dataclass(frozen=True)
class NoPositions(Positions):
    """Nothing: causal attention alone tells earlier from later."""

    name = "none"
    about = "nothing; the causal mask tells earlier from later"


@dataclass(frozen=True)
class Sinusoidal(Positions):
    """Fixed waves: sin(p / b^(2i/d)) and cos(p / b^(2i/d)) for place p and feature i."""

    name = "sinusoidal"
    about = "fixed sine and cosine waves of the place"
    base: float = 10_000.0

    def init(self, shape: Shape, *, key: Array) -> Parameters:
        # Not trained, but it carries the width to `embed`.
        return {"width": jnp.zeros((0, shape.width))}

    def embed(
        self, parameters: Parameters, places: Int[Array, "batch width"]
    ) -> Float[Array, "batch width features"]:
        width = parameters["width"].shape[1]
        half = (width + 1) // 2
        angles = places[..., None] * self.base ** (-jnp.arange(half) / half)
        waves = jnp.stack([jnp.sin(angles), jnp.cos(angles)], axis=-1)
        return waves.reshape(*places.shape, 2 * half)[..., :width]


@dataclass(frozen=True)
class Tabled(Positions):
    """One trained vector for each place, those that only an offset reaches included."""

    offset: int = 0

    def __post_init__(self) -> None:
        if self.offset < 0:
            raise ExperimentError(f"positions {self.name}: offset = {self.offset}: at least 0")

    def init(self, shape: Shape, *, key: Array) -> Parameters:
        return {"table": table(shape.longest + self.offset, shape.width, key=key)}

    def embed(
        self, parameters: Parameters, places: Int[Array, "batch width"]
    ) -> Float[Array, "batch width features"]:
        return parameters["table"][places]

    def longest_place(self, parameters: Parameters) -> int | None:
        return int(parameters["table"].shape[0]) - 1


@dataclass(frozen=True)
class Learned(Tabled):
    """One trained vector for each index; with an offset, rows begin anywhere up to it."""

    name = "learned"
    about = "a trained vector for each index; offset=K begins anywhere up to K in training"

    def places(self, reading: Reading, *, key: Array | None = None) -> Int[Array, "batch width"]:
        if key is None or not self.offset:
            return reading.index
        rows = (reading.tokens.shape[0], 1)
        return reading.index + jax.random.randint(key, rows, 0, self.offset + 1)


@dataclass(frozen=True)
class Abacus(Tabled):
    """Digits numbered within their number, in the order in which they are written.

    The convention here: the first digit written has place 1, all other tokens 0. In training each
    row draws one offset from 0 to `offset` for all its digits, so that places which only long
    numbers reach are trained with short ones. In a test the offset is 0.
    """

    name = "abacus"
    about = "digits numbered within each number, a random offset in training"
    of_index = False
    offset: int = 100

    def check(self, language: Language) -> None:
        check_digits(self.name, language)

    def places(self, reading: Reading, *, key: Array | None = None) -> Int[Array, "batch width"]:
        return shifted(reading.place, self.offset, key)


@dataclass(frozen=True)
class Coupled(Tabled):
    """Digits of the same significance have the same place, in all numbers of the row.

    The convention here: the least significant digit has place 1, the next one 2, and so on; all
    other tokens, operators and the end among them, have the place beside the least significant
    digit, 0. (The paper counts the other way, which makes no difference to a trained table.) In
    training each row draws one offset from 0 to `offset`, which moves all its places, those of
    operators too; in a test the offset is 0.
    """

    name = "coupled"
    about = "digits of equal significance share a place, a random offset in training"
    of_index = False
    offset: int = 100

    def check(self, language: Language) -> None:
        check_significance(self.name, language)

    def places(self, reading: Reading, *, key: Array | None = None) -> Int[Array, "batch width"]:
        places = reading.significance
        if key is None:
            return places
        rows = (reading.tokens.shape[0], 1)
        return places + jax.random.randint(key, rows, 0, self.offset + 1)


def check_significance(name: str, language: Language) -> None:
    """Raise an error if the significance of a digit is not known when it is written."""
    check_digits(name, language)
    written = language.format
    if not written.answer_reversed and written.answer_width(language.task, jnp.array(1)) is None:
        raise ExperimentError(
            f"positions {name}: in format {written.name} the significance of an answer's "
            "first digit is not known when it is written; use reversed, reversed_both or padded"
        )


def check_digits(name: str, language: Language) -> None:
    """Raise an error if numbers are not written digit by digit."""
    if language.alphabet.number_places:
        raise ExperimentError(
            f"positions {name}: in format {language.format.name} a number is one token, so there "
            "are no digits to count; use rope, learned, none, or another format"
        )
    if not language.format.side_by_side:
        raise ExperimentError(
            f"positions {name}: in format {language.format.name} the digits of a number do not "
            "follow each other, so they cannot be counted; use rope, learned, none, or another "
            "format"
        )


def shifted(
    places: Int[Array, "batch width"], offset: int, key: Array | None
) -> Int[Array, "batch width"]:
    """All places but 0 moved by one random number per row, if there is a key."""
    if key is None or not offset:
        return places
    drawn = jax.random.randint(key, (places.shape[0], 1), 0, offset + 1)
    return jnp.where(places > 0, places + drawn, 0)
