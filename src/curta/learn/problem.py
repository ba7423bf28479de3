"""What a task states and what it answers, before anybody decides how that is written.

A problem is a question and an answer, each a row of pieces: numbers, symbols and choices among
symbols. Which pieces there are is static, what they hold is drawn on the device. Pieces may be
absent, so that problems of one shape can have different numbers of operands.
"""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from curta.learn.numbers import Number, carried, fixed


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


class Difficulty(eqx.Module):
    """What statistics count of a question, whichever way it is written."""

    digits: Int[Array, "*batch numbers"]
    """Of each number, 0 for those that are absent."""
    carries: Int[Array, "*batch"]
    """How many places of a+b carry into the next; -1 for questions that are not a+b."""


def difficulty(problem: Problem, base: int) -> Difficulty:
    """Of one problem."""
    lengths = [each.length for each in numbers_in(problem.question)]
    return Difficulty(jnp.array(lengths, jnp.int32), sum_carries(problem, base))


def sum_carries(problem: Problem, base: int) -> Int[Array, ""]:
    """How often a+b carries, aligned at the point; -1 if the question is not a+b."""
    numbers = numbers_in(problem.question)
    signs = [
        piece.choice == piece.names.index("+")
        for piece in problem.question
        if isinstance(piece, Symbol) and "+" in piece.names
    ]
    if len(numbers) < 2 or not signs:
        return jnp.array(-1)
    there = jnp.stack([each.length > 0 for each in numbers])
    negative = jnp.stack([each.negative for each in numbers])
    pluses = jnp.stack([sign.sum() for sign in signs]).sum()
    is_sum = (there.sum() == 2) & (pluses == 1) & ~negative.any()
    places = max(each.places for each in numbers)
    point = places if any(each.pointed for each in numbers) else 0
    columns = jnp.stack([fixed(each, places + point, point) for each in numbers])
    _, carries = carried(jnp.where(there[:, None], columns, 0).sum(axis=0), base)
    return jnp.where(is_sum, carries.sum(), -1)


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
