"""Intervals and tests, beside published values and simulation."""

from __future__ import annotations

import math
import random

import pytest

from curta.delegate.evaluation.figures import Share, bootstrap_difference, mcnemar


def test_intervals_are_wilsons() -> None:
    assert Share(5, 10).interval == pytest.approx((0.2366, 0.7634), abs=1e-4)
    assert Share(0, 10).interval == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert Share(10, 10).interval[1] == 1
    assert Share(0, 0).interval == (0, 1)
    assert str(Share(454, 723)) == "62.8% [59.2%, 66.2%]"


def test_mcnemar_is_a_sign_test_of_the_questions_that_differ() -> None:
    first = [True] * 10 + [False] * 2 + [True] * 50
    second = [False] * 10 + [True] * 2 + [True] * 50
    expected = 2 * sum(math.comb(12, k) for k in range(3)) / 2**12
    assert mcnemar(first, second) == mcnemar(second, first) == pytest.approx(expected)
    assert mcnemar(first, first) == 1
    with pytest.raises(ValueError, match="not the same"):
        mcnemar(first, second[1:])


def test_intervals_are_wider_where_groups_fail_as_a_whole() -> None:
    together = Share(80, 100, ((10, 10),) * 8 + ((0, 10),) * 2).interval
    assert Share(80, 100, ((8, 10),) * 10).interval == (0.8, 0.8)
    assert together[0] < 0.6
    assert together[1] > 0.9
    assert Share(50, 50, ((10, 10),) * 5).interval == Share(5, 5).interval
    assert Share(0, 50, ((0, 10),) * 5).interval == Share(0, 5).interval


def test_a_bootstrap_covers_the_difference() -> None:
    drawn = random.Random(0)
    covered = 0
    for seed in range(100):
        first = [drawn.random() < 0.6 for _ in range(150)]
        second = [drawn.random() < 0.5 for _ in range(150)]
        low, high = bootstrap_difference(first, second, draws=400, seed=seed)
        covered += low <= 0.1 <= high
    assert covered >= 86


def test_a_few_questions_are_never_certain() -> None:
    low, high = bootstrap_difference([True] * 3, [False] * 3)
    assert low < 0.7
    assert high == 1
    low, high = bootstrap_difference([True, False] * 2, [True, False] * 2)
    assert low < 0 < high
