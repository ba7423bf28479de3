"""What can be seen in a row of tokens: which digit of which number each token is.

Position schemes work on this. While a row is being generated, its end is not known, so everything
here is causal behind the prompt: what is said about a token depends on the prompt and on earlier
tokens only. Within the prompt, the length of a number is known at its first digit.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from curta.learn.language import Language


class Reading(eqx.Module):
    """A batch of rows, token by token."""

    tokens: Int[Array, "batch width"]
    prompt_length: Int[Array, " batch"]
    is_digit: Bool[Array, "batch width"]
    place: Int[Array, "batch width"]
    """Digits count from 1 within their number, in the order in which they are written; 0: none."""
    number: Int[Array, "batch width"]
    """Numbers count from 1; for other tokens, the number before them."""
    number_length: Int[Array, "batch width"]
    """Digits of the token's number, 0 outside of numbers; behind the prompt, digits so far."""
    significance: Int[Array, "batch width"]
    """Digits count from 1 at the least significant one of their number; 0 outside of numbers."""
    next_significance: Int[Array, "batch width"]
    """Behind the prompt: that of the next token, if it is a digit."""
    digit: Int[Array, "batch width"]
    """What digits are worth; 0 for other tokens."""
    base: int = eqx.field(static=True)

    @property
    def index(self) -> Int[Array, "1 width"]:
        """Tokens count from 0."""
        return jnp.arange(self.tokens.shape[1])[None]


def read(
    tokens: Int[Array, "batch width"],
    prompt_length: Int[Array, " batch"],
    language: Language,
) -> Reading:
    """Find numbers and digits."""
    first = language.alphabet.first_digit
    is_digit = (tokens >= first) & (tokens < first + language.alphabet.digit_tokens)
    before = jnp.pad(is_digit[:, :-1], ((0, 0), (1, 0)))
    starts = is_digit & ~before
    index = jnp.arange(tokens.shape[1])[None]
    start = jax.lax.cummax(jnp.where(starts, index, 0), axis=1)
    place = jnp.where(is_digit, index - start + 1, 0)
    in_prompt = index < prompt_length[:, None]
    length = jnp.where(
        is_digit & in_prompt, prompt_number_length(is_digit & in_prompt, place), place
    )
    return Reading(
        tokens=tokens,
        prompt_length=prompt_length,
        is_digit=is_digit,
        place=place,
        number=jnp.cumsum(starts, axis=1),
        number_length=length,
        significance=significance(place, length, in_prompt, language),
        next_significance=jnp.maximum(
            answer_significance(place + 1, length, in_prompt, language), 0
        ),
        digit=jnp.where(is_digit, (tokens - first) % language.format.base, 0),
        base=language.format.base,
    )


def prompt_number_length(
    is_digit: Bool[Array, "batch width"], place: Int[Array, "batch width"]
) -> Int[Array, "batch width"]:
    """The place of the last digit of each number: carried back from there."""
    behind = jnp.pad(is_digit[:, 1:], ((0, 0), (0, 1)))
    index = jnp.arange(place.shape[1])[None]
    far = place.shape[1]
    last = jax.lax.cummin(jnp.where(is_digit & ~behind, index, far), axis=1, reverse=True)
    return jnp.take_along_axis(place, jnp.minimum(last, far - 1), axis=1)


def significance(
    place: Int[Array, "batch width"],
    length: Int[Array, "batch width"],
    in_prompt: Bool[Array, "batch width"],
    language: Language,
) -> Int[Array, "batch width"]:
    """Counts from the least significant digit, wherever the format begins."""
    question = place if language.format.question_reversed else length - place + 1
    answer = answer_significance(place, length, in_prompt, language)
    return jnp.where(place > 0, jnp.maximum(jnp.where(in_prompt, question, answer), 0), 0)


def answer_significance(
    place: Int[Array, "batch width"],
    length: Int[Array, "batch width"],
    in_prompt: Bool[Array, "batch width"],
    language: Language,
) -> Int[Array, "batch width"]:
    """That of the digit at a place of a number of the answer; the place, if it is not known yet."""
    written = language.format
    if written.answer_reversed:
        return place
    longest = jnp.where(in_prompt, length, 0).max(axis=1)
    width = written.answer_width(language.task, longest)
    if width is None:
        return place
    return jnp.asarray(width)[..., None] - place + 1
