"""Exact numbers: integers and dyadic fractions, the only numbers that a graph may hold.

A float64 holds n * 2**e exactly while |n| <= 2**53, a float32 while |n| <= 2**24. So the compiler
keeps, for every value, an interval and a *step exponent* e (the value is a multiple of 2**e), and
asks one question again and again: does the largest magnitude divided by 2**e stay within that?
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from operator import index

import numpy as np

from curta.errors import GraphError, UserError

Number = int | Fraction

LARGEST = 2**1024
LARGEST_DENOMINATOR = 2**1074
STEP_OF_ZERO = 64
"""Zero is a multiple of every step; this stands for "as coarse as you like"."""


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """The floating-point numbers that weights are, and that a transformer computes with."""

    name: str
    """As in NumPy and PyTorch."""
    mantissa_bits: int
    largest_exponent: int
    """Powers of two that it holds, with some to spare for the scaling of scores."""

    def holds(self, magnitude: Number, step: int) -> bool:
        """Whether every multiple of 2**step up to the magnitude is one of them."""
        return magnitude <= power_of_two(self.mantissa_bits + step)


FLOAT64 = Arithmetic("float64", 53, 900)
FLOAT32 = Arithmetic("float32", 24, 100)
ARITHMETICS = {arithmetic.name: arithmetic for arithmetic in (FLOAT64, FLOAT32)}


def exact(value: object) -> Number:
    """The given number as an exact dyadic one: an int, float or Fraction, or NumPy's."""
    if type(value) is int and abs(value) < LARGEST:
        return value
    if isinstance(value, int | np.integer | np.bool_):
        number: Number = int(value)
    elif isinstance(value, float | np.floating | Fraction):
        if value != value or value in (float("inf"), float("-inf")):
            raise GraphError(f"{value} is not a number that a graph can hold; use finite values")
        number = simplify(Fraction(*value.as_integer_ratio()))
    else:
        raise GraphError(
            f"{short(value)} is a {type(value).__name__}; expected an int, float or Fraction"
        )
    numerator, denominator = number.numerator, number.denominator
    if denominator & (denominator - 1):
        raise GraphError(
            f"{short(value)} is not dyadic (its denominator is no power of two), so float64 "
            "cannot hold it; scale the graph so that its coefficients are integers"
        )
    if abs(numerator) >= LARGEST * denominator or denominator > LARGEST_DENOMINATOR:
        raise GraphError(
            f"a number of {numerator.bit_length()} bits, divided by "
            f"2**{denominator.bit_length() - 1}, is out of reach of float64 (below 2**1024, in "
            "steps of 2**-1074); scale the graph"
        )
    return number


def integer(value: object, what: str, error: type[UserError] = GraphError) -> int:
    """The given integer of any integer type; `what` names it in the error."""
    try:
        return index(value)  # type: ignore[arg-type]
    except TypeError:
        raise error(f"{what}={short(value)}: expected an integer") from None


def short(value: object) -> str:
    """The value in a few words, on one line, for errors."""
    if isinstance(value, int) and value.bit_length() > 256:
        return f"an integer of {value.bit_length()} bits"
    if isinstance(value, Fraction):
        return f"{short(value.numerator)}/{short(value.denominator)}"
    return " ".join(reprlib.repr(value).split())


def simplify(value: Number) -> Number:
    """An int where the value is one."""
    if type(value) is int or value.denominator != 1:
        return value
    return value.numerator


def divided(a: Number, b: Number) -> Number:
    if b == 1:
        return a
    if isinstance(a, int) and isinstance(b, int) and a % b == 0:
        return a // b
    return simplify(Fraction(a) / b)


def step_of(value: Number) -> int:
    """The largest e such that the value is a multiple of 2**e."""
    if value == 0:
        return STEP_OF_ZERO
    if isinstance(value, int):
        return (value & -value).bit_length() - 1
    return -(value.denominator.bit_length() - 1)


def common_factor(numbers: Iterable[Number]) -> Number:
    """What divides all of the numbers, with the sign of the first: quotients are whole."""
    ratios = [number.as_integer_ratio() for number in numbers]
    numerators, denominators = zip(*ratios, strict=True)
    factor = Fraction(gcd(*numerators), lcm(*denominators))
    return simplify(factor if numerators[0] > 0 else -factor)


def power_of_two(exponent: int) -> Number:
    return 1 << exponent if exponent >= 0 else Fraction(1, 1 << -exponent)


def distance(a: Number, b: Number) -> Number:
    """|a - b|, for values of either type."""
    return a - b if a >= b else b - a


def ceil_log2(value: Number) -> int:
    """The smallest e >= 0 with 2**e >= value."""
    whole = -(-value.numerator // value.denominator)
    return max(whole - 1, 0).bit_length()


@dataclass(frozen=True, slots=True)
class Range:
    """All that is known of a value: low <= value <= high, and 2**step divides it."""

    low: Number
    high: Number
    step: int

    @staticmethod
    def constant(value: Number) -> Range:
        return Range(value, value, step_of(value))

    @property
    def magnitude(self) -> Number:
        return self.high if self.high >= -self.low else -self.low

    @property
    def is_constant(self) -> bool:
        return self.low == self.high

    @property
    def is_integer(self) -> bool:
        return self.step >= 0

    def __add__(self, other: Range) -> Range:
        return Range(
            simplify(self.low + other.low),
            simplify(self.high + other.high),
            min(self.step, other.step),
        )

    def scaled(self, factor: Number) -> Range:
        if factor == 0:
            return Range.constant(0)
        ends = (simplify(self.low * factor), simplify(self.high * factor))
        return Range(min(ends), max(ends), min(self.step + step_of(factor), STEP_OF_ZERO))

    def times(self, other: Range) -> Range:
        ends = [simplify(a * b) for a in (self.low, self.high) for b in (other.low, other.high)]
        return Range(min(ends), max(ends), min(self.step + other.step, STEP_OF_ZERO))

    def rectified(self) -> Range:
        return Range(max(self.low, 0), max(self.high, 0), self.step)

    def union(self, other: Range) -> Range:
        return Range(
            min(self.low, other.low), max(self.high, other.high), min(self.step, other.step)
        )

    def contains(self, value: Number) -> bool:
        return self.low <= value <= self.high and value % power_of_two(self.step) == 0

    def inside(self, low: Number, high: Number) -> tuple[Number, Number]:
        """The least and the greatest value that lies in [low, high]; none if they cross."""
        unit = power_of_two(self.step)
        least, most = -(-Fraction(low) // unit) * unit, (Fraction(high) // unit) * unit
        return simplify(max(self.low, least)), simplify(min(self.high, most))

    def __str__(self) -> str:
        return f"[{self.low}, {self.high}] in steps of {power_of_two(self.step)}"
