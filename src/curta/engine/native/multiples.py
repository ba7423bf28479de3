"""Digits of quotients: sums of comparisons that count multiples of a number.

How many of d, 2d, ..., nd are not above x is x // d, at least 0 and at most n, if d is positive; of
d = 0 it is none or all. That is how weights divide, a digit at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from curta.dyadic import Number
from curta.engine.native.case import FEWEST_COUNTED, Case
from curta.engine.native.values import Steps, Sum, constant


@dataclass(frozen=True, slots=True)
class Multiples:
    """How many of the first `most` multiples of a number are not above another one."""

    of: Sum
    """It is not negative."""
    up_to: Sum
    most: int
    weight: Number
    """What each of them adds, to what is `added` anyway."""
    added: Number


def multiples_in(case: Case, total: Sum) -> Multiples | None:
    """What a sum of comparisons counts, if it is this."""
    weights, past = set[Number](), list[Sum]()
    for value, coefficient in total.without_constant.terms:
        shape = case.pool.definition(value)
        if not isinstance(shape, Steps) or len(shape.jumps) > 1:
            return None
        ((place, height),) = shape.jumps
        weights.add(coefficient * height)
        past.append(shape.argument.plus(constant(place), -1))
    if len(past) < FEWEST_COUNTED or len(weights) > 1:
        return None
    found = in_a_row(past)
    if found is None:
        return None
    first, step = found
    if case.range(step)[1] <= 0:
        first, step = first.plus(step, len(past) - 1), step.scaled(-1)
    if case.range(step)[0] < 0:
        return None
    up_to = first.plus(step, len(past))
    return Multiples(step, up_to, len(past), weights.pop(), total.added)


def in_a_row(sums: Sequence[Sum]) -> tuple[Sum, Sum] | None:
    """(first, step) of sums that are first, first + step, first + 2 * step, ... in some order."""
    away = [one.plus(sums[0], -1) for one in sums]
    if not away[1].terms:
        return None
    _, direction = away[1].direction
    places = [one.proportion(direction) for one in away]
    if any(one != direction.scaled(place) for one, place in zip(away, places, strict=True)):
        return None
    places.sort()
    gaps = {after - before for before, after in pairwise(places)}
    if len(gaps) > 1 or 0 in gaps:
        return None
    return sums[0].plus(direction, places[0]), direction.scaled(gaps.pop())
