"""What sums of relus are, on whole numbers: comparisons, staircases, tables.

    relu(u - k + 1) - relu(u - k)                      1 from k on
    relu(u - k + 1) - 2 relu(u - k) + relu(u - k - 1)  1 at k
    n such steps, m apart                              u // m, up to n

A sum of c * relu(u + b) over one u is linear between its bends. On whole numbers it is flat except
where it jumps, if its slopes cancel: f(u) = sum of the jumps at places up to u.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate, pairwise

from curta.dyadic import Number

MOST_JUMPS = 1 << 20
MOST_OF_A_BEND = 1 << 10
"""Jumps that a slope of few bends is written as."""
MOST_ENTRIES = 4096
FEW_JUMPS = 32
"""As many comparisons are quicker than a table of more than MOST_ENTRIES entries."""

Jumps = tuple[tuple[int, Number], ...]
"""(place, height): the function rises by `height` at the whole number `place`."""


def jumps_of(bends: Iterable[tuple[int, Number]]) -> Jumps | None:
    """The jumps of a sum of c * relu(u - b), given as (b, c); None if it is not flat in between."""
    turns: dict[int, Number] = {}
    for place, coefficient in bends:
        turns[place] = turns.get(place, 0) + coefficient
    places = sorted(turns)
    *slopes, last = accumulate(turns[place] for place in places)
    pieces = zip(pairwise(places), slopes, strict=True)
    rising = [(a, b, slope) for (a, b), slope in pieces if slope]
    if last or sum(b - a for a, b, _ in rising) > min(MOST_JUMPS, MOST_OF_A_BEND * len(places)):
        return None
    return tuple((u + 1, slope) for a, b, slope in rising for u in range(a, b))


def staircase_of(jumps: Jumps) -> tuple[int, int, int] | None:
    """(first, width, count) if these are `count` equal jumps, `width` apart."""
    if len(jumps) < 3:
        return None
    (first, height), (second, _) = jumps[:2]
    width = second - first
    expected = tuple((first + number * width, height) for number in range(len(jumps)))
    return (first, width, len(jumps)) if jumps == expected else None


def square_wave_of(jumps: Jumps) -> tuple[int, int, int] | None:
    """(first, width, count) if these are `count` jumps, `width` apart, up and down by as much."""
    upward = tuple((place, height * (-1) ** number) for number, (place, height) in enumerate(jumps))
    return staircase_of(upward)


def is_scattered(jumps: Jumps) -> bool:
    """Whether the jumps are few and far apart, such as all powers of two."""
    entries = jumps[-1][0] - jumps[0][0]
    return entries > (MOST_ENTRIES if len(jumps) <= FEW_JUMPS else MOST_JUMPS)


def is_length(jumps: Jumps) -> bool:
    """Whether the jumps are by 1, at all powers of two from 1 on: what they count are bits."""
    return len(jumps) > 2 and jumps == tuple((1 << number, 1) for number in range(len(jumps)))
