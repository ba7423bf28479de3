"""Shares with intervals, and whether two systems differ: both were asked the same questions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from curta.intervals import wilson


@dataclass(frozen=True)
class Share:
    """So many of so many, with a 95% interval.

    groups: of questions that do well or badly together, how many of how many
    """

    right: int
    count: int
    groups: tuple[tuple[int, int], ...] = ()

    @property
    def value(self) -> float:
        return self.right / self.count if self.count else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """From low to high: Wilson's, or, where there are groups, that of groups drawn again. If
        all of these are right, or none, drawing shows nothing: then Wilson's, of as many questions.
        """
        many = len(self.groups)
        if not many:
            return wilson(self.right, self.count)
        if self.right in (0, self.count):
            return wilson(many if self.right else 0, many)
        return drawn_again(self.groups)

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.value:.1%} [{low:.1%}, {high:.1%}]"


def drawn_again(groups: Sequence[tuple[int, int]], draws: int = 2_000) -> tuple[float, float]:
    """The 95% interval of a share, by bootstrap over groups."""
    rows = np.random.default_rng(0).integers(len(groups), size=(draws, len(groups)))
    right, count = np.array(groups)[rows].sum(1).T
    shares = np.sort(right / count)
    return float(shares[int(0.025 * draws)]), float(shares[int(0.975 * draws) - 1])


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> float:
    """The probability of a difference like this if both were equally good; exact, two-sided.

    Only questions count that one of them answers rightly and the other does not: n of them, k for
    the first, drawn from a binomial distribution with one half.
    """
    from scipy.stats import binomtest

    if len(first) != len(second):
        raise ValueError(f"{len(first)} and {len(second)} answers: the questions are not the same")
    differing = [a for a, b in zip(first, second, strict=True) if a != b]
    return float(binomtest(sum(differing), len(differing)).pvalue) if differing else 1.0


def bootstrap_difference(
    first: Sequence[bool], second: Sequence[bool], *, draws: int = 2_000, seed: int = 0
) -> tuple[float, float]:
    """The 95% interval of first - second, questions drawn again with replacement.

    A question counts 1, 0 or -1, so what is drawn is how often each of the three comes. Each is
    taken to have come half a time more, or three questions of one kind would make it certain.
    """
    pairs = [a - b for a, b in zip(first, second, strict=True)]
    shares = [(pairs.count(value) + 0.5) / (len(pairs) + 1.5) for value in (1, 0, -1)]
    drawn = np.random.default_rng(seed).multinomial(len(pairs), shares, size=draws)
    means = np.sort((drawn[:, 0] - drawn[:, 2]) / len(pairs))
    return float(means[int(0.025 * draws)]), float(means[int(0.975 * draws) - 1])
