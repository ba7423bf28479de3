"""Intervals: against published values, and what every interval has to satisfy."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curta.learn.evaluation import intervals


def test_wilson_against_published_values() -> None:
    assert intervals.wilson(8, 10) == pytest.approx((0.4901625, 0.9433178), abs=1e-6)
    assert intervals.wilson(0, 10) == pytest.approx((0.0, 0.2775328), abs=1e-6)
    assert intervals.wilson(10, 10) == pytest.approx((0.7224672, 1.0), abs=1e-6)


@pytest.mark.parametrize(
    ("freedom", "value"), [(1, 12.706), (10, 2.228), (11, 2.201), (20, 2.086), (120, 1.980)]
)
def test_quantiles_of_student(freedom: int, value: float) -> None:
    assert intervals.quantile(freedom) == pytest.approx(value, abs=1e-3)


def test_a_mean_over_three_seeds() -> None:
    figure = intervals.mean([1.0, 2.0, 6.0])
    reach = 4.302653 * math.sqrt(7) / math.sqrt(3)
    assert (figure.value, figure.median) == (3.0, 2.0)
    assert (figure.low, figure.high) == pytest.approx((3 - reach, 3 + reach))


@given(st.integers(1, 2000), st.data())
def test_wilson_holds_the_share(count: int, data: st.DataObject) -> None:
    right = data.draw(st.integers(0, count))
    low, high = intervals.wilson(right, count)
    assert 0 <= low <= right / count <= high <= 1
    assert high - low > 0


def test_seeds_that_make_no_mistake_are_not_proved_perfect() -> None:
    figure = intervals.share([200, 200, 200], 200)
    assert figure.value == figure.high == 1
    assert figure.low == pytest.approx(intervals.wilson(200, 200)[0])


def test_seeds_that_differ_are_as_uncertain_as_they_differ() -> None:
    figure = intervals.share([0, 1000], 1000)
    assert (figure.low, figure.high) == (0, 1)
    assert figure.method == "t and wilson"


def test_success_rates_are_of_seeds() -> None:
    figure = intervals.success([True, True, False, True])
    assert figure.value == 0.75
    assert (figure.low, figure.high) == pytest.approx(intervals.wilson(3, 4))
