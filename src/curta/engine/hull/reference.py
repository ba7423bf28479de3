"""What a hull cache answers, by definition: compare every key, in exact arithmetic.

The *score* of a key under a query is the exact real dot product of the float64 numbers; keys tie
when their scores are equal as real numbers, not when roundings agree. Positions count insertions
from 0. Everything works in any number of dimensions.

`latest`:  the value of the most recently inserted key among those with the highest score.
`average`: the mean of the values of all inserted keys with the highest score: the exact sum,
           rounded, over their number. The C adds in pairs of doubles: its sum of m values is off
           by less than m * 2^-100 times the sum of sizes. Sums of integers below 2^53 are exact.
`top_k`:   the k best by (score, position), higher and later first.
`attend`:  the mean of their values, weighted by exp(scale * score).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from sys import float_info
from typing import Literal, NamedTuple

from curta.engine.hull.admission import Floats, Positions, empty_error

Ties = Literal["latest", "average"]
Vector = Sequence[float]
LOWEST = -Fraction(float_info.max)


class Found(NamedTuple):
    """The answer to a query; `position` is that of the latest key that ties for the maximum."""

    value: tuple[float, ...]
    position: int


class Attended(NamedTuple):
    """Softmax over the winners of one query, best first."""

    value: tuple[float, ...]
    positions: tuple[int, ...]
    weights: tuple[float, ...]


class AttendedMany(NamedTuple):
    """Answers to n queries: values [n, value_width]; positions and weights [n, k], best first.

    While there are fewer than k keys, the last positions are -1 and their weights 0.
    """

    values: Floats
    positions: Positions
    weights: Floats


def score(key: Vector, query: Vector) -> Fraction:
    products = (Fraction(k) * Fraction(q) for k, q in zip(key, query, strict=True))
    return sum(products, Fraction(0))


def scores(keys: Sequence[Vector], query: Vector) -> list[Fraction]:
    """Equal keys are looked at once."""
    known = {key: score(key, query) for key in set(map(tuple, keys))}
    return [known[tuple(key)] for key in keys]


def hard_maximum(
    keys: Sequence[Vector], values: Sequence[Vector], query: Vector, ties: Ties = "latest"
) -> Found:
    """The definition of `HullCache` and `HullCache3D`."""
    if not keys:
        raise empty_error()
    ranked = scores(keys, query)
    best = max(ranked)
    winners = [position for position, s in enumerate(ranked) if s == best]
    if ties == "latest":
        return Found(tuple(values[winners[-1]]), winners[-1])
    columns = zip(*(values[position] for position in winners), strict=True)
    return Found(tuple(math.fsum(column) / len(winners) for column in columns), winners[-1])


def top_k(keys: Sequence[Vector], query: Vector, k: int) -> list[int]:
    """Positions, best first."""
    ranked = scores(keys, query)
    by_score = sorted(range(len(keys)), key=lambda position: (ranked[position], position))
    return by_score[::-1][:k]


def attend(
    keys: Sequence[Vector], values: Sequence[Vector], query: Vector, k: int, scale: float
) -> Attended:
    """The definition of `TopKCache`."""
    positions = top_k(keys, query, k)
    ranked = scores([keys[position] for position in positions], query)
    below = [float(max(s - ranked[0], LOWEST)) for s in ranked]
    shares = [math.exp(scale * difference) for difference in below]
    weights = tuple(share / sum(shares) for share in shares)
    columns = zip(*(values[position] for position in positions), strict=True)
    value = tuple(math.fsum(map(float.__mul__, weights, column)) for column in columns)
    return Attended(value, tuple(positions), weights)
