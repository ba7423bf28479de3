"""Means over seeds and shares of samples, with 95% intervals.

Three intervals are used, each where it belongs, and each figure says which:

Wilson:  of a share k/n: (p + z^2/2n -+ z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n)
t:       of a mean over s seeds: mean -+ t(s-1) * sd / sqrt(s)
both:    of a share averaged over seeds: the wider end of either, because seeds that all answer
         1,000 questions rightly have no spread, and still are not proved perfect
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median, stdev
from typing import Literal

from scipy.special import stdtrit

from curta.intervals import wilson

Method = Literal["wilson", "t", "t and wilson", "none"]


@dataclass(frozen=True)
class Figure:
    """A number that was measured."""

    value: float
    """The mean over seeds."""
    low: float
    high: float
    method: Method
    median: float
    seeds: tuple[float, ...]


def student(values: Sequence[float]) -> tuple[float, float]:
    """The interval of a mean; everywhere, with one value only."""
    if len(values) < 2:
        return -math.inf, math.inf
    mean = fmean(values)
    reach = quantile(len(values) - 1) * stdev(values) / math.sqrt(len(values))
    return mean - reach, mean + reach


def quantile(freedom: int) -> float:
    """Student's distribution lies within so many deviations 95% of the time."""
    return float(stdtrit(freedom, 0.975))


def share(right: Sequence[float], count: float, independent: float | None = None) -> Figure:
    """The share of right answers, averaged over seeds that were asked the same questions.

    The samples count once, not once for each seed: the questions are the same. And a question
    that was asked again says nothing new: as many as are `independent` decide how wide the
    interval is.
    """
    values = [part / count if count else 0.0 for part in right]
    known = count if independent is None else independent
    low, high = wilson(fmean(values) * known, known)
    method: Method = "wilson"
    if len(values) > 1:
        below, above = student(values)
        low, high = max(0.0, min(low, below)), min(1.0, max(high, above))
        method = "t and wilson"
    return Figure(fmean(values), low, high, method, median(values), tuple(values))


def mean(values: Sequence[float], least: float = -math.inf, most: float = math.inf) -> Figure:
    """A mean over seeds, of values within bounds; of one seed there is no interval."""
    if len(values) < 2:
        return Figure(values[0], values[0], values[0], "none", values[0], tuple(values))
    low, high = student(values)
    low, high = max(low, least), min(high, most)
    return Figure(fmean(values), low, high, "t", median(values), tuple(values))


def success(solved: Sequence[bool]) -> Figure:
    """The share of seeds that succeeded."""
    values = tuple(float(one) for one in solved)
    low, high = wilson(sum(values), len(values))
    return Figure(fmean(values), low, high, "wilson", median(values), values)


def short(value: float) -> str:
    """Four digits that matter; shares near 1 keep what is missing."""
    if 0.99 < value < 1:
        return f"{value:.5f}".rstrip("0")
    return f"{value:.4g}"
