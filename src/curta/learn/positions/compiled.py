"""Compiled attention: some heads fetch what a rule says, and the rest of the model is trained."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from curta.errors import ExperimentError
from curta.learn import catalogue
from curta.learn.language import Language
from curta.learn.positions.absolute import check_significance
from curta.learn.positions.base import Parameters, Positions, Shape
from curta.learn.positions.compose import own
from curta.learn.positions.retrievals import Retrieval, retrievals
from curta.learn.reading import Reading

OTHERS = "others_"


@dataclass(frozen=True)
class Compiled(Positions):
    """The first heads of every layer attend by rules; what they do with it is trained.

    Each of these heads fetches one token (`retrievals.py`): all of its attention lies there. Where
    there is no such token, it lies on the last token of the prompt, which is no digit (in the
    prompt, on the token itself). Frozen, nothing can move it. Otherwise the fetched token has a
    trained number, at first `sharpness`, added to its score, beside that of query and key: a
    compiled beginning, which training can sharpen, blur or leave.

    Other heads are free, and told by another scheme where tokens are.

    heads:     what they fetch, one after the other
    others:    the scheme of the other heads; a vector that it adds to embeddings is there for all
    frozen:    attention stays as it is compiled
    sharpness: of attention that is not frozen: a score of s is exp(s) times as heavy
    """

    name = "compiled"
    about = "heads that fetch by rule: compiled(heads='first second first-1', others='none')"
    of_index = False
    heads: str = "first second first-1 second-1"
    others: str = "none"
    frozen: bool = True
    sharpness: float = 10.0

    def __post_init__(self) -> None:
        if not self.fetching:
            raise ExperimentError("positions compiled: heads = '': at least one, as in 'first'")
        if self.scheme.place_shape:
            raise ExperimentError(
                f"positions compiled: others = {self.others!r}: its tokens have several places "
                "each; name a simple scheme"
            )

    @cached_property
    def fetching(self) -> tuple[Retrieval, ...]:
        """What each compiled head fetches."""
        return retrievals(self.heads)

    @cached_property
    def scheme(self) -> Positions:
        """What the other heads are told."""
        return catalogue.positions(self.others)

    @property
    def place_shape(self) -> tuple[int, ...]:
        """A token's index, the index that each head fetches, the place by the other scheme."""
        return (len(self.fetching) + 2,)

    def check(self, language: Language) -> None:
        check_significance(self.name, language)
        self.scheme.check(language)

    def init(self, shape: Shape, *, key: Array) -> Parameters:
        count = len(self.fetching)
        if shape.heads < count:
            raise ExperimentError(
                f"positions compiled: heads = {self.heads!r} are {count}, the model has "
                f"{shape.heads}: set heads={count} or more, or compile fewer"
            )
        inner = self.scheme.init(shape, key=key)
        parameters = {OTHERS + name: value for name, value in inner.items()}
        # Without a number in it, it carries how many heads there are to `bias`.
        parameters["heads"] = jnp.zeros((shape.heads, 0))
        if not self.frozen:
            parameters["sharpness"] = jnp.full((count,), self.sharpness)
        return parameters

    def places(
        self, reading: Reading, *, key: Array | None = None
    ) -> Int[Array, "batch width kinds"]:
        shape = reading.tokens.shape
        index = jnp.broadcast_to(reading.index, shape)
        behind = jnp.broadcast_to(reading.prompt_length[:, None] - 1, shape)
        nowhere = jnp.where(behind <= index, behind, index)
        fetched = [retrieval.fetched(reading) for retrieval in self.fetching]
        found = [jnp.where(target >= 0, target, nowhere) for target in fetched]
        others = jnp.broadcast_to(self.scheme.places(reading, key=key), shape)
        return jnp.stack([index, *found, others], axis=-1)

    def embed(
        self, parameters: Parameters, places: Int[Array, "batch width kinds"]
    ) -> Float[Array, "batch width features"] | None:
        return self.scheme.embed(own(parameters, OTHERS), places[..., -1])

    def turn(
        self,
        parameters: Parameters,
        vectors: Float[Array, "batch width heads head_width"],
        places: Int[Array, "batch width kinds"],
    ) -> Float[Array, "batch width heads head_width"]:
        free = slice(len(self.fetching), None)
        turned = self.scheme.turn(own(parameters, OTHERS), vectors, places[..., -1])
        return vectors.at[:, :, free].set(turned[:, :, free])

    def bias(
        self,
        parameters: Parameters,
        query_places: Int[Array, "batch queries kinds"],
        key_places: Int[Array, "batch keys kinds"],
    ) -> Float[Array, "batch heads queries keys"]:
        fetched = jnp.moveaxis(query_places[..., 1:-1], -1, 1)
        is_fetched = fetched[..., None] == key_places[:, None, None, :, 0]
        if self.frozen:
            compiled = jnp.where(is_fetched, 0.0, -jnp.inf)
        else:
            compiled = parameters["sharpness"][:, None, None] * is_fetched
        heads, count = parameters["heads"].shape[0], len(self.fetching)
        others = self.scheme.bias(
            own(parameters, OTHERS), query_places[..., -1], key_places[..., -1]
        )
        if others is None:
            others = jnp.zeros((1, heads, 1, 1))
        free = others[:, count:]
        free = jnp.broadcast_to(free, (len(compiled), heads - count, *compiled.shape[2:]))
        return jnp.concatenate([compiled.astype(free.dtype), free], axis=1)

    def longest_place(self, parameters: Parameters) -> int | None:
        return self.scheme.longest_place(own(parameters, OTHERS))

    def fit(
        self, parameters: Parameters, places: Int[Array, "batch width kinds"]
    ) -> Bool[Array, ""]:
        return self.scheme.fit(own(parameters, OTHERS), places[..., -1])
