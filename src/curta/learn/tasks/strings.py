"""Tasks on strings of digits: copy, reverse, parity, bitwise or."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array, Int

from curta.learn.numbers import Number, number
from curta.learn.problem import Problem, operand, symbol
from curta.learn.tasks.base import Task
from curta.learn.turing_machines import Machine, bit_joiner, copier, parity_counter, reverser

Digits = Int[Array, "*batch"] | int


@dataclass(frozen=True)
class Copy(Task):
    """The same digits again."""

    name = "copy"
    about = "a string of digits again"
    symbols = (":",)
    leading_zeros = True
    workings = ("machine",)
    sentences = ("repeat {}.", "copy {}.", "say {} again.")

    @property
    def operands(self) -> tuple[int, int]:
        return (1, 1)

    def problem(self, operands: Number, *, base: int, key: Array) -> Problem:
        a = operand(operands, 0)
        return Problem((a, symbol(":")), (a,))

    def answer_digits(self, longest: Digits) -> Digits:
        return longest

    def machine(self, base: int) -> Machine:
        return copier(base)


@dataclass(frozen=True)
class Reverse(Copy):
    """The digits from the last to the first."""

    name = "reverse"
    about = "a string of digits backwards"
    sentences = ("reverse {}.", "say {} backwards.", "what is {} in reverse?")

    def problem(self, operands: Number, *, base: int, key: Array) -> Problem:
        a = operand(operands, 0)
        place = jnp.arange(a.places)
        mirrored = a.digits[jnp.maximum(a.length - 1 - place, 0)]
        return Problem(
            (a, symbol(":")), (number(jnp.where(place < a.length, mirrored, 0), a.length),)
        )

    def machine(self, base: int) -> Machine:
        return reverser(base)


@dataclass(frozen=True)
class Parity(Task):
    """Whether the number of ones is odd. Only bits occur, in any base."""

    name = "parity"
    about = "1 if a string of bits has an odd number of ones"
    symbols = (":",)
    leading_zeros = True
    workings = ("machine",)
    sentences = ("what is the parity of {}?", "the parity of {} is", "is {} odd?")

    @property
    def operands(self) -> tuple[int, int]:
        return (1, 1)

    def problem(self, operands: Number, *, base: int, key: Array) -> Problem:
        a = bits(operand(operands, 0))
        return Problem((a, symbol(":")), (number(a.digits.sum()[None] % 2),))

    def machine(self, base: int) -> Machine:
        return parity_counter(base)


@dataclass(frozen=True)
class BitwiseOr(Task):
    """Two strings of bits joined bit by bit, as long as the longer one, aligned on the right."""

    name = "bitwise_or"
    about = "a|b, two strings of bits"
    symbols = ("|", ":")
    leading_zeros = True
    workings = ("machine",)

    @property
    def commutative(self) -> bool:
        return True

    def problem(self, operands: Number, *, base: int, key: Array) -> Problem:
        a, b = bits(operand(operands, 0)), bits(operand(operands, 1))
        joined = number(a.digits | b.digits, jnp.maximum(a.length, b.length))
        return Problem((a, symbol("|"), b, symbol(":")), (joined,))

    def answer_digits(self, longest: Digits) -> Digits:
        return longest

    def machine(self, base: int) -> Machine:
        return bit_joiner(base)


def bits(given: Number) -> Number:
    """The parities of digits."""
    return number(given.digits % 2, given.length)
