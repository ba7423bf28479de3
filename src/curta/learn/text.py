"""Rows of tokens with holes.

A piece of text is written at its largest width, with a hole wherever a token is absent: digits
beyond a number's length, a sign that isn't there. Pieces are joined side by side, and `compact`
closes the holes, once, at the end. No piece needs to know where it will come to lie.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from curta.learn.alphabet import Alphabet
from curta.learn.numbers import Number, widened
from curta.learn.problem import Piece, Symbol

HOLE = -1

Text = Int[Array, " width"]


def join(texts: Iterable[Text]) -> Text:
    """One text after the other."""
    return jnp.concatenate([jnp.zeros((0,), jnp.int32), *texts])


def literal(alphabet: Alphabet, *symbols: str) -> Text:
    """Symbols that are always there."""
    return jnp.array([alphabet.token(name) for name in symbols], jnp.int32)


def only_if(condition: Bool[Array, ""], text: Text) -> Text:
    """The text where the condition holds, holes elsewhere."""
    return jnp.where(condition, text, HOLE)


def write_symbol(piece: Symbol, alphabet: Alphabet) -> Text:
    """The symbol that was chosen."""
    tokens = jnp.array([alphabet.token(name) for name in piece.names], jnp.int32)
    choice = piece.choice.reshape(-1)
    return only_if(choice >= 0, tokens[jnp.maximum(choice, 0)])


def write_number(
    given: Number,
    alphabet: Alphabet,
    *,
    reversed_digits: bool = False,
    width: Int[Array, ""] | int = 0,
    room: int = 0,
) -> Text:
    """Sign, digits and point; padded with zeros to at least `width` digits, at most `room`.

    Reversed, the number is written from its last digit, the sign last. A number without digits is
    absent, and so is its padding.
    """
    places = jnp.arange(max(given.places, room))
    length = jnp.where(given.length > 0, jnp.maximum(given.length, width), 0)
    tokens = widened(given.digits, len(places)) + alphabet.first_digit
    digits = jnp.where(places < length, tokens, HOLE)
    if given.pointed:
        digits = with_point(digits, given.fraction, alphabet)
    parts = [digits]
    if given.signed:
        parts.append(only_if(given.negative & (given.length > 0), literal(alphabet, "-")))
    text = jnp.concatenate(parts)
    return text if reversed_digits else text[::-1]


def with_point(digits: Text, fraction: Int[Array, ""], alphabet: Alphabet) -> Text:
    """Digits, least significant first, with the point before the first one that is whole."""
    places = jnp.arange(digits.shape[0] + 1)
    pointed = fraction > 0
    source = places - (pointed & (places > fraction))
    points = jnp.where(pointed, alphabet.token("."), HOLE)
    moved = jnp.pad(digits, (0, 1), constant_values=HOLE)[source]
    return jnp.where(pointed & (places == fraction), points, moved)


def steps(write: Callable[..., Text], *rows: Array, count: Int[Array, ""]) -> Text:
    """One text after the other for each of the first `count` entries of rows."""
    texts = jax.vmap(write)(*rows)
    present = jnp.arange(texts.shape[0])[:, None] < count
    return only_if(present, texts).reshape(-1)


def write_piece(piece: Piece, alphabet: Alphabet, *, reversed_digits: bool = False) -> Text:
    """A piece as it is, without padding."""
    if isinstance(piece, Symbol):
        return write_symbol(piece, alphabet)
    return write_number(piece, alphabet, reversed_digits=reversed_digits)


def compact(text: Text, width: int, fill: int) -> tuple[Int[Array, " tokens"], Int[Array, ""]]:
    """The tokens of a text without its holes, filled up to a width; and how many they are."""
    present = text != HOLE
    target = jnp.where(present, jnp.cumsum(present) - 1, width)
    tokens = jnp.full((width,), fill, jnp.int32).at[target].set(text, mode="drop")
    return tokens, present.sum()
