"""Summaries over seeds: a success rate, a convergence time and a sparsity error, with intervals.

All intervals are at 95%. Of a dozen seeds each, most comparisons of units are within their
intervals; that is what they are for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

NORMAL_QUANTILE = 1.959963984540054
"""The 97.5% quantile of the normal distribution."""

_LIKELIHOOD_DROP = NORMAL_QUANTILE**2 / 2
_BISECTIONS = 80


@dataclass(frozen=True)
class Estimate:
    """A value over seeds with its interval, and their median; no interval from equal values."""

    median: float
    value: float
    lower: float | None
    upper: float | None


def wilson_interval(successes: int, trials: int) -> tuple[float, float]:
    """Wilson's interval of a binomial rate: it is sensible at 0 and at `trials`, too.

    (p + z²/2n ± z √(p(1−p)/n + z²/4n²)) / (1 + z²/n),  p = successes/n
    """
    z_squared = NORMAL_QUANTILE**2
    rate = successes / trials
    centre = rate + z_squared / (2 * trials)
    spread = NORMAL_QUANTILE * math.sqrt(rate * (1 - rate) / trials + z_squared / (4 * trials**2))
    scale = 1 + z_squared / trials
    return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)


def gamma_mean(values: Sequence[float]) -> Estimate | None:
    """The mean of positive values taken as gamma distributed, by profile likelihood.

    The published summary of convergence times. For a mean μ the best shape α solves
    log α − ψ(α) = log μ − 1 + (mean of x)/μ − (mean of log x), and the interval holds each μ
    whose likelihood is within χ²/2 of the best, which is the mean of x.
    """
    if not values:
        return None
    mean = math.fsum(values) / len(values)
    logarithms = math.fsum(math.log(x) for x in values) / len(values)
    if len(values) < 2 or math.log(mean) - logarithms < 1e-12:
        return Estimate(median(values), mean, None, None)

    def drop(log_mu: float) -> float:
        return best - _profile(log_mu, mean, logarithms, len(values)) - _LIKELIHOOD_DROP

    centre = math.log(mean)
    best = _profile(centre, mean, logarithms, len(values))
    lower = _bisect(drop, centre - 20, centre)
    upper = _bisect(drop, centre + 20, centre)
    return Estimate(median(values), mean, math.exp(lower), math.exp(upper))


def median_interval(values: Sequence[float]) -> Estimate | None:
    """The median, with the interval of order statistics that covers it whatever the distribution.

    Used for sparsity errors, which differ by powers of ten between seeds. The interval from the
    k-th smallest to the k-th largest covers with 1 − 2 P[Binomial(n, 1/2) < k]; k is the largest
    that keeps 95%. Fewer than six values allow no such interval.
    """
    if not values:
        return None
    ordered = sorted(values)
    count, outside, k = len(ordered), 0.0, 0
    while outside + math.comb(count, k) / 2**count <= 0.025:
        outside += math.comb(count, k) / 2**count
        k += 1
    centre = median(ordered)
    if k == 0:
        return Estimate(centre, centre, None, None)
    return Estimate(centre, centre, ordered[k - 1], ordered[count - k])


def median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2


def digamma(x: float) -> float:
    """ψ(x), the derivative of log Γ, for x > 0: ψ(x) = ψ(x+1) − 1/x, then its asymptotic series."""
    shifted = 0.0
    while x < 10:
        shifted -= 1 / x
        x += 1
    square = 1 / (x * x)
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square / 240)))
    return shifted + math.log(x) - 1 / (2 * x) - series


def _profile(log_mu: float, mean: float, logarithms: float, count: int) -> float:
    """The gamma log-likelihood at this mean and its best shape."""
    ratio = mean / math.exp(log_mu)
    spread = log_mu - 1 + ratio - logarithms
    # log α − ψ(α) falls from ∞ to 0, between 1/2α and 1/α.
    log_alpha = _bisect(
        lambda s: math.log(math.exp(s)) - digamma(math.exp(s)) - spread,
        math.log(1 / spread),
        math.log(1 / (2 * spread)),
    )
    alpha = math.exp(log_alpha)
    per_value = alpha * (log_alpha - log_mu) - math.lgamma(alpha)
    return count * (per_value + (alpha - 1) * logarithms - alpha * ratio)


def _bisect(function: Callable[[float], float], first: float, second: float) -> float:
    """Where the function changes its sign between the two."""
    positive = function(first) > 0
    for _ in range(_BISECTIONS):
        middle = (first + second) / 2
        if (function(middle) > 0) == positive:
            first = middle
        else:
            second = middle
    return (first + second) / 2
