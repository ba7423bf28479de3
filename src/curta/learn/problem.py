"""What a task states and what it answers, before anybody decides how that is written.

A problem is a question and an answer, each a row of pieces: numbers, symbols and choices among
symbols. Which pieces there are is static, what they hold is drawn on the device. Pieces may be
absent, so that problems of one shape can have different numbers of operands.
"""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from curta.learn.numbers import Number


class Symbol(eqx.Module):
    """One symbol out of several, or none of them where `choice` is negative; or a row of such."""

    names: tuple[str, ...] = eqx.field(static=True)
    choice: Int[Array, "*slots"]


Piece = Number | Symbol


class Problem(eqx.Module):
    """A question and its answer."""

    question: tuple[Piece, ...]
    answer: tuple[Piece, ...]


def symbol(name: str, *, present: Bool[Array, ""] | bool = True) -> Symbol:
    """A symbol that is always the same, where it is present."""
    return Symbol((name,), jnp.where(present, 0, -1))


def repeated(name: str, count: Int[Array, ""], most: int) -> Symbol:
    """The same symbol several times."""
    return Symbol((name,), jnp.where(jnp.arange(most) < count, 0, -1))


def numbers_in(pieces: tuple[Piece, ...]) -> tuple[Number, ...]:
    """The numbers among pieces."""
    return tuple(piece for piece in pieces if isinstance(piece, Number))


def separated(numbers: Number, separator: str) -> tuple[Piece, ...]:
    """A row of numbers with a symbol before each but the first; absent ones have none."""
    pieces: list[Piece] = []
    for which in range(numbers.digits.shape[0]):
        each = operand(numbers, which)
        if which:
            pieces.append(symbol(separator, present=each.length > 0))
        pieces.append(each)
    return tuple(pieces)


def operand(operands: Number, which: Int[Array, ""] | int) -> Number:
    """One of a row of numbers."""
    return Number(
        digits=operands.digits[which],
        length=operands.length[which],
        negative=operands.negative[which],
        fraction=operands.fraction[which],
        signed=operands.signed,
        pointed=operands.pointed,
    )
