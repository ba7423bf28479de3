"""What a hull cache answers, by definition: compare every key, in exact arithmetic.

The *score* of a key under a query is the exact real dot product of the float64 numbers; keys tie
when their scores are equal as real numbers, not when roundings agree. Positions count insertions
from 0. Everything works in any number of dimensions.

`latest`:  the value of the most recently inserted key among those with the highest score.
`average`: the mean of the values of all inserted keys with the highest score. The definition here
           is the exact mean, rounded once. The caches add in pairs of doubles: their sum of m
           values is off by less than m * 2^-100 times the sum of sizes, then rounded, divided by m
           and rounded again. Sums of integers below 2^53 are exact.
`top_k`:   the k best by (score, position), higher and later first.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Literal, NamedTuple

from curta.engine.hull.admission import empty_error

Ties = Literal["latest", "average"]
Vector = Sequence[float]


class Found(NamedTuple):
    """The answer to a query; `position` is that of the latest key that ties for the maximum."""

    value: tuple[float, ...]
    position: int


class Attended(NamedTuple):
    """Softmax over the winners of one query, best first."""

    value: tuple[float, ...]
    positions: tuple[int, ...]
    weights: tuple[float, ...]


def score(key: Vector, query: Vector) -> Fraction:
    products = (Fraction(k) * Fraction(q) for k, q in zip(key, query, strict=True))
    return sum(products, Fraction(0))


def hard_maximum(
    keys: Sequence[Vector], values: Sequence[Vector], query: Vector, ties: Ties = "latest"
) -> Found:
    """The definition of `HullCache` and `HullCache3D`."""
    if not keys:
        raise empty_error()
    scores = [score(key, query) for key in keys]
    best = max(scores)
    winners = [position for position, s in enumerate(scores) if s == best]
    if ties == "latest":
        return Found(tuple(values[winners[-1]]), winners[-1])
    columns = zip(*(values[position] for position in winners), strict=True)
    sums = [sum(map(Fraction, column), Fraction(0)) for column in columns]
    return Found(tuple(float(total / len(winners)) for total in sums), winners[-1])


def top_k(keys: Sequence[Vector], query: Vector, k: int) -> list[int]:
    """The definition of `TopKCache`: positions, best first."""
    ranked = sorted(
        range(len(keys)),
        key=lambda position: (score(keys[position], query), position),
        reverse=True,
    )
    return ranked[:k]
