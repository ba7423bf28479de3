"""Digits of quotients: sums of comparisons that count multiples of a number.

How many of d, 2d, ..., nd are not above another number x is x // d, and n at most, if d is not
negative. That is how weights divide, a digit at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from curta.dyadic import Number
from curta.engine.native.case import Case
from curta.engine.native.values import Steps, Sum, constant

FEWEST = 8
"""Comparisons that are worth a division."""


@dataclass(frozen=True, slots=True)
class Multiples:
    """How often a number has others as its multiples."""

    of: Sum
    up_to: Sum
    most: int
    weight: Number
    """What each of them adds."""


def multiples_in(case: Case, total: Sum) -> Multiples | None:
    """What a sum of comparisons counts, if it is this."""
    weights, past = set[Number](), list[Sum]()
    for value, coefficient in total.terms:
        shape = case.pool.definition(value)
        if not isinstance(shape, Steps) or len(shape.jumps) > 1:
            return None
        ((place, height),) = shape.jumps
        weights.add(coefficient * height)
        past.append(shape.argument.plus(constant(place), -1))
    if len(past) < FEWEST or len(weights) > 1:
        return None
    found = in_a_row(past)
    if found is None:
        return None
    first, step = found
    if case.range(step)[1] <= 0:
        first, step = first.plus(step, len(past) - 1), step.scaled(-1)
    if case.range(step)[0] < 0:
        return None
    return Multiples(step, first.plus(step, len(past)), len(past), weights.pop())


def in_a_row(sums: Sequence[Sum]) -> tuple[Sum, Sum] | None:
    """(first, step) of sums that are first, first + step, first + 2 * step, ... in some order."""
    away = [one.plus(sums[0], -1) for one in sums]
    _, direction = away[1].direction
    places = [one.proportion(direction) for one in away]
    if any(one != direction.scaled(place) for one, place in zip(away, places, strict=True)):
        return None
    places.sort()
    gaps = {after - before for before, after in pairwise(places)}
    if len(gaps) > 1 or 0 in gaps:
        return None
    return sums[0].plus(direction, places[0]), direction.scaled(gaps.pop())
