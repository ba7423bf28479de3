"""Summaries over seeds: a success rate, a convergence time and a sparsity error, with intervals.

All intervals are at 95%. Of a dozen seeds each, most comparisons of units are within their
intervals; that is what they are for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from scipy.optimize import brentq
from scipy.special import digamma

from curta.intervals import Z

_LIKELIHOOD_DROP = Z**2 / 2


@dataclass(frozen=True)
class Estimate:
    """A value over seeds with its interval, and their median; no interval from equal values."""

    median: float
    value: float
    lower: float | None
    upper: float | None


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
    lower = brentq(drop, centre - 40, centre)
    upper = brentq(drop, centre + 40, centre)
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


def _profile(log_mu: float, mean: float, logarithms: float, count: int) -> float:
    """The gamma log-likelihood at this mean and its best shape."""
    ratio = mean / math.exp(log_mu)
    spread = log_mu - 1 + ratio - logarithms
    # log α − ψ(α) falls from ∞ to 0, between 1/2α and 1/α; with room for rounding.
    log_alpha: float = brentq(
        lambda s: s - digamma(math.exp(s)) - spread,
        math.log(2 / spread),
        math.log(1 / (4 * spread)),
    )
    alpha = math.exp(log_alpha)
    per_value = alpha * (log_alpha - log_mu) - math.lgamma(alpha)
    likelihood: float = count * (per_value + (alpha - 1) * logarithms - alpha * ratio)
    return likelihood
