"""Intervals agree with published and independently computed values."""

from __future__ import annotations

import math
import random

import pytest

from curta.intervals import wilson
from curta.learn.units.statistics import gamma_mean, median_interval


@pytest.mark.parametrize(
    ("successes", "below", "above"),
    [(98, 0.05, 0.01), (31, 0.08, 0.10), (100, 0.04, 0), (0, 0, 0.04)],
)
def test_wilson_reproduces_published_intervals(successes: int, below: float, above: float) -> None:
    lower, upper = wilson(successes, 100)
    assert round(successes / 100 - lower, 2) == pytest.approx(below)
    assert round(upper - successes / 100, 2) == pytest.approx(above)


def test_wilson_solves_its_defining_equation() -> None:
    for successes, trials in [(1, 12), (6, 12), (11, 12)]:
        for bound in wilson(successes, trials):
            score = (successes / trials - bound) / math.sqrt(bound * (1 - bound) / trials)
            assert abs(score) == pytest.approx(1.959964, rel=1e-6)


def log_likelihood(values: list[float], mean: float) -> float:
    """The gamma likelihood at a mean, its shape found by trying a fine grid."""
    best = -math.inf
    for step in range(4_000):
        shape = math.exp(-3 + step * 8 / 4_000)
        total = sum(
            shape * math.log(shape / mean)
            - math.lgamma(shape)
            + (shape - 1) * math.log(x)
            - shape * x / mean
            for x in values
        )
        best = max(best, total)
    return best


def test_gamma_interval_is_where_the_likelihood_has_dropped() -> None:
    values = [random.Random(seed).gammavariate(3.0, 500.0) for seed in range(8)]
    estimate = gamma_mean(values)
    assert estimate is not None
    assert estimate.lower is not None
    assert estimate.upper is not None
    assert estimate.value == pytest.approx(sum(values) / 8)
    top = log_likelihood(values, estimate.value)
    for bound in (estimate.lower, estimate.upper):
        assert top - log_likelihood(values, bound) == pytest.approx(3.841459 / 2, abs=1e-3)
    assert estimate.lower < estimate.value < estimate.upper


def test_gamma_mean_of_one_or_equal_values_has_no_interval() -> None:
    for values in ([5.0], [5.0, 5.0, 5.0]):
        estimate = gamma_mean(values)
        assert estimate is not None
        assert (estimate.value, estimate.lower, estimate.upper) == (5.0, None, None)
    assert gamma_mean([]) is None


def test_median_interval_uses_order_statistics() -> None:
    estimate = median_interval([float(x) for x in (7, 1, 3, 10, 2, 5, 4, 9, 8, 6)])
    assert estimate is not None
    assert (estimate.value, estimate.lower, estimate.upper) == (5.5, 2.0, 9.0)
    few = median_interval([3.0, 1.0, 2.0])
    assert few is not None
    assert (few.median, few.lower, few.upper) == (2.0, None, None)
    assert median_interval([]) is None


def test_median_interval_covers_as_often_as_it_claims() -> None:
    source, covered, trials = random.Random(1), 0, 2_000
    for _ in range(trials):
        estimate = median_interval([source.expovariate(1.0) for _ in range(12)])
        assert estimate is not None
        assert estimate.lower is not None
        assert estimate.upper is not None
        covered += estimate.lower <= math.log(2) <= estimate.upper
    assert covered / trials > 0.95
