"""Comparing numbers: which is larger, the largest, the smallest, all in order."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from curta.learn.numbers import Number, compare
from curta.learn.problem import Piece, Problem, Symbol, operand, separated, symbol
from curta.learn.tasks.base import Task, check_at_least, check_share
from curta.learn.turing_machines import Machine, comparer

VERDICTS = ("=", ">", "<")
"""By the sign of a - b."""


@dataclass(frozen=True)
class Comparison(Task):
    """Whether a number is less than, equal to or greater than another.

    Two numbers at random differ in their lengths or in their first digits, and are hardly ever
    equal. So a share of the problems is made of numbers of one length, of which a third are equal
    and a third have their first digits in common.

    near: that share
    """

    name = "comparison"
    about = "a?b: one of < = >; near=0.5 of them are hard"
    symbols = ("?", ":", *VERDICTS)
    workings = ("machine",)
    sentences = ("how do {} compare?", "compare {}.", "which sign is between {}?")
    near: float = 0.5

    def __post_init__(self) -> None:
        check_share(self, "near")

    @property
    def alike(self) -> float:
        return self.near

    def problem(self, operands: Number, *, base: int, key: Array) -> Problem:
        a, b = operand(operands, 0), operand(operands, 1)
        b = nearer(a, b, key=key)
        verdict = compare(a, b) % 3
        return Problem((a, symbol("?"), b, symbol(":")), (Symbol(VERDICTS, verdict),))

    def machine(self, base: int) -> Machine:
        return comparer(base)


def nearer(a: Number, b: Number, *, key: Array) -> Number:
    """Of numbers of one length: b, or b with the first digits of a, or a; each a third."""
    kind_key, common_key = jax.random.split(key)
    kind = jax.random.randint(kind_key, (), 0, 3)
    common = jax.random.randint(common_key, (), 0, jnp.maximum(a.length, 1))
    common = jnp.where(kind == 2, a.length, jnp.where(kind == 1, common, 0))
    first = jnp.arange(a.places) >= a.length - common
    taken = first & (a.length == b.length)
    return Number(
        jnp.where(taken, a.digits, b.digits), b.length, b.negative, b.fraction, b.signed, b.pointed
    )


@dataclass(frozen=True)
class Several(Task):
    """Tasks about two or more numbers, separated by commas.

    numbers: how many at most; `operands` of the sampling may narrow it
    """

    symbols = (",", ":")
    numbers: int = 4

    def __post_init__(self) -> None:
        check_at_least(self, 2, "numbers")

    @property
    def operands(self) -> tuple[int, int]:
        return (2, self.numbers)

    def problem(self, operands: Number, *, base: int, key: Array) -> Problem:
        return Problem((*separated(operands, ","), symbol(":")), self.answer(operands))

    def answer(self, operands: Number) -> tuple[Piece, ...]:
        """What is said about the numbers."""
        raise NotImplementedError

    def answer_digits(
        self, longest: Int[Array, "*batch"] | int
    ) -> Int[Array, "*batch"] | int | None:
        return longest


@dataclass(frozen=True)
class Sorting(Several):
    """Numbers in ascending order; equal ones as often as they were given."""

    name = "sorting"
    about = "57,24,9: in ascending order; numbers=4 at most"
    sentences = ("sort {}.", "what is the order of {}?", "put {} in order.")

    def answer(self, operands: Number) -> tuple[Piece, ...]:
        return separated(taken(operands, jnp.argsort(ranks(operands))), ",")


@dataclass(frozen=True)
class Maximum(Several):
    """The largest of several numbers."""

    name = "max"
    about = "the largest of 57,24,9; numbers=4 at most"
    sentences = ("what is the largest of {}?", "the maximum of {} is", "find the largest of {}.")

    @property
    def commutative(self) -> bool:
        return True

    def answer(self, operands: Number) -> tuple[Piece, ...]:
        last = (operands.length > 0).sum() - 1
        return (operand(taken(operands, jnp.argsort(ranks(operands))), last),)


@dataclass(frozen=True)
class Minimum(Several):
    """The smallest of several numbers."""

    name = "min"
    about = "the smallest of 57,24,9; numbers=4 at most"
    sentences = ("what is the smallest of {}?", "the minimum of {} is", "find the smallest of {}.")

    @property
    def commutative(self) -> bool:
        return True

    def answer(self, operands: Number) -> tuple[Piece, ...]:
        return (operand(taken(operands, jnp.argsort(ranks(operands))), 0),)


def ranks(operands: Number) -> Int[Array, " operands"]:
    """The place of each number in ascending order, equal ones as given, absent ones last.

    The rank of a number is how many others come before it.
    """

    def sign(a: Number, b: Number) -> Int[Array, ""]:
        return compare(a, b)

    order = jax.vmap(jax.vmap(sign, in_axes=(None, 0)), in_axes=(0, None))(operands, operands)
    absent = operands.length == 0
    order = jnp.where(absent[:, None] == absent, order, jnp.where(absent[:, None], 1, -1))
    order = jnp.where(absent[:, None] & absent, 0, order)
    index = jnp.arange(len(absent))
    first_given = (order == 0) & (index < index[:, None])
    return ((order > 0) | first_given).sum(axis=1)


def taken(operands: Number, order: Int[Array, " operands"]) -> Number:
    """Numbers in another order."""
    moved: Number = jax.tree.map(lambda leaf: leaf[order], operands)
    return moved
