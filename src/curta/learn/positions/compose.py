"""Schemes made of other schemes: two at once, and any one on random places."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from curta.errors import ExperimentError
from curta.learn import catalogue
from curta.learn.language import Language
from curta.learn.positions.base import Parameters, Positions, Shape
from curta.learn.reading import Reading

LIMIT = 1 << 15
"""Places of either part of a combination are below this, so that two fit in 31 bits."""


@dataclass(frozen=True)
class Combined(Positions):
    """Two schemes at once: one says which digit a token is, say, the other how far away it is.

    What they add is added up, queries and keys are turned by both. The place of a token is the
    pair of its places, written as one number: first * 2^15 + second.
    """

    name = "combined"
    about = 'two schemes at once: combined(first="abacus", second="fire")'
    of_index = False
    first: str = "abacus"
    second: str = "fire"

    def __post_init__(self) -> None:
        for part in self.parts:
            if isinstance(part, Combined):
                raise ExperimentError(
                    f"positions combined(first={self.first!r}, second={self.second!r}): a part "
                    "is itself a combination; name two simple schemes"
                )
            if part.place_shape:
                raise ExperimentError(
                    f"positions combined(first={self.first!r}, second={self.second!r}): tokens "
                    f"have several places each in {part.name}; write "
                    f"{part.name}(others=...), or name two simple schemes"
                )

    @cached_property
    def parts(self) -> tuple[Positions, Positions]:
        """The two schemes."""
        return catalogue.positions(self.first), catalogue.positions(self.second)

    def check(self, language: Language) -> None:
        for part in self.parts:
            part.check(language)

    def init(self, shape: Shape, *, key: Array) -> Parameters:
        parameters = {}
        for part, name, part_key in zip(self.parts, PREFIXES, jax.random.split(key), strict=True):
            own = part.init(shape, key=part_key)
            most = part.longest_place(own) or shape.longest
            if most >= LIMIT:
                raise ExperimentError(
                    f"positions {part.name} has places up to {most}: in a combination they are "
                    f"below {LIMIT}; lower its offset or range"
                )
            parameters.update({name + inner: value for inner, value in own.items()})
        return parameters

    def places(self, reading: Reading, *, key: Array | None = None) -> Int[Array, "batch width"]:
        keys = (None, None) if key is None else jax.random.split(key)
        first, second = (
            part.places(reading, key=part_key)
            for part, part_key in zip(self.parts, keys, strict=True)
        )
        return first * LIMIT + second

    def embed(
        self, parameters: Parameters, places: Int[Array, "batch width"]
    ) -> Float[Array, "batch width features"] | None:
        first, second = (
            part.embed(own(parameters, name), places_of)
            for part, name, places_of in zip(self.parts, PREFIXES, unpacked(places), strict=True)
        )
        return added(first, second)

    def turn(
        self,
        parameters: Parameters,
        vectors: Float[Array, "batch width heads head_width"],
        places: Int[Array, "batch width"],
    ) -> Float[Array, "batch width heads head_width"]:
        for part, name, places_of in zip(self.parts, PREFIXES, unpacked(places), strict=True):
            vectors = part.turn(own(parameters, name), vectors, places_of)
        return vectors

    def bias(
        self,
        parameters: Parameters,
        query_places: Int[Array, "batch queries"],
        key_places: Int[Array, "batch keys"],
    ) -> Float[Array, "batch heads queries keys"] | None:
        both = zip(unpacked(query_places), unpacked(key_places), strict=True)
        first, second = (
            part.bias(own(parameters, name), queries, keys)
            for part, name, (queries, keys) in zip(self.parts, PREFIXES, both, strict=True)
        )
        return added(first, second)

    def longest_place(self, parameters: Parameters) -> int | None:
        limits = [
            part.longest_place(own(parameters, name))
            for part, name in zip(self.parts, PREFIXES, strict=True)
        ]
        return min((limit for limit in limits if limit is not None), default=None)

    def fit(self, parameters: Parameters, places: Int[Array, "batch width"]) -> Bool[Array, ""]:
        first, second = (
            part.fit(own(parameters, name), its)
            for part, name, its in zip(self.parts, PREFIXES, unpacked(places), strict=True)
        )
        return first & second


PREFIXES = ("first_", "second_")


def unpacked(places: Int[Array, "*shape"]) -> tuple[Int[Array, "*shape"], Int[Array, "*shape"]]:
    """The two places that a combination's place stands for."""
    return places // LIMIT, places % LIMIT


def own(parameters: Parameters, prefix: str) -> Parameters:
    """The parameters of one part."""
    return {
        name.removeprefix(prefix): value
        for name, value in parameters.items()
        if name.startswith(prefix)
    }


def added(first: Array | None, second: Array | None) -> Array | None:
    """The sum of what there is."""
    if first is None or second is None:
        return second if first is None else first
    return first + second


@dataclass(frozen=True)
class Randomised(Positions):
    """Another scheme, on an ordered random subset of a larger range of places.

    In training each row draws as many of the places 0 .. range-1 as it has tokens, in order. So
    all places, and distances of many sizes, are trained with short rows. In a test the places are
    spread evenly: token i of a row with room for n has place floor(i * range / n).
    """

    name = "randomised"
    about = 'a scheme on an ordered random subset of a range: randomised(of="rope", range=512)'
    of_index = False
    of: str = "learned"
    range: int = 512

    def __post_init__(self) -> None:
        if not self.scheme.of_index or getattr(self.scheme, "offset", 0) != 0:
            raise ExperimentError(
                f"positions randomised(of={self.of!r}): places of {self.scheme.name} are not "
                "indices; there are none, sinusoidal, learned, rope, alibi, t5, fire, without "
                "an offset"
            )

    @cached_property
    def scheme(self) -> Positions:
        """The scheme that is told these places."""
        return catalogue.positions(self.of)

    def check(self, language: Language) -> None:
        self.scheme.check(language)

    def init(self, shape: Shape, *, key: Array) -> Parameters:
        self.check_range(shape.longest)
        return self.scheme.init(
            Shape(shape.width, shape.heads, shape.head_width, self.range), key=key
        )

    def check_range(self, width: int) -> None:
        """Raise an error if there are fewer places than tokens."""
        if width > self.range:
            raise ExperimentError(
                f"positions randomised(range={self.range}): rows have {width} tokens; a range "
                f"of {4 * width} leaves room for random places"
            )

    def places(self, reading: Reading, *, key: Array | None = None) -> Int[Array, "batch width"]:
        batch, width = reading.tokens.shape
        self.check_range(width)
        if key is None:
            return reading.index * self.range // width
        _, drawn = jax.lax.top_k(jax.random.uniform(key, (batch, self.range)), width)
        return jnp.sort(drawn, axis=1)

    def embed(
        self, parameters: Parameters, places: Int[Array, "batch width"]
    ) -> Float[Array, "batch width features"] | None:
        return self.scheme.embed(parameters, places)

    def turn(
        self,
        parameters: Parameters,
        vectors: Float[Array, "batch width heads head_width"],
        places: Int[Array, "batch width"],
    ) -> Float[Array, "batch width heads head_width"]:
        return self.scheme.turn(parameters, vectors, places)

    def bias(
        self,
        parameters: Parameters,
        query_places: Int[Array, "batch queries"],
        key_places: Int[Array, "batch keys"],
    ) -> Float[Array, "batch heads queries keys"] | None:
        return self.scheme.bias(parameters, query_places, key_places)

    def longest_place(self, parameters: Parameters) -> int | None:
        return self.range - 1
