"""The tasks are what the papers describe, and the threshold is what its definition says."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curta.errors import ExperimentError
from curta.learn.units.arithmetic import (
    OPERATIONS,
    ArithmeticProblem,
    ArithmeticTask,
    subsets,
    success_threshold,
)
from curta.learn.units.comparison import RELATIONS, ComparisonProblem
from tests.support.slow import draws

SLOW_OPERATIONS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "square": lambda a, b: a**2,
    "sqrt": lambda a, b: a**0.5,
}


def arithmetic_problem() -> ArithmeticProblem:
    task = ArithmeticTask(input_size=8)
    return ArithmeticProblem(task, tuple(OPERATIONS), batch_size=16, evaluation_size=64)


@settings(max_examples=draws(40), deadline=None)
@given(
    size=st.sampled_from([4, 11, 60]),
    ratio=st.sampled_from([0.25, 0.3, 0.5]),
    overlap=st.sampled_from([0.0, 0.25, 0.5, 1.0]),
    data=st.data(),
)
def test_subsets_have_their_sizes_and_their_overlap(
    size: int, ratio: float, overlap: float, data: st.DataObject
) -> None:
    task = ArithmeticTask(size, ratio, overlap)
    offset = data.draw(st.integers(0, size - task.span))
    first, second = (np.asarray(part) for part in subsets(task, offset))
    assert first.sum() == second.sum() == int(ratio * size)
    assert (first * second).sum() == int(overlap * int(ratio * size))
    assert np.flatnonzero(first)[0] == offset


def test_the_default_task_is_the_published_one() -> None:
    task = ArithmeticTask()
    assert (task.input_size, task.subset_size, task.overlap_size) == (100, 25, 12)
    assert (task.interpolation, task.extrapolation) == ((1.0, 2.0), (2.0, 6.0))


def test_targets_are_the_operations_on_the_two_sums() -> None:
    problem = arithmetic_problem()
    fixed = jax.jit(problem.prepare)(jax.random.key(5))
    inputs, targets = jax.jit(problem.batch)(fixed, jax.random.key(6))
    first, second = (np.flatnonzero(np.asarray(part)) for part in fixed)
    assert targets.shape == (6, 16)
    for example, x in enumerate(np.asarray(inputs, dtype=np.float64)):
        a, b = x[first].sum(), x[second].sum()
        for index, name in enumerate(problem.operations):
            expected = SLOW_OPERATIONS[name](a, b)
            assert targets[index, example] == pytest.approx(expected, rel=1e-5, abs=1e-5), name


def test_training_interpolates_and_the_test_extrapolates() -> None:
    problem = arithmetic_problem()
    fixed = jax.jit(problem.prepare)(jax.random.key(1))
    batch, test = jax.jit(problem.batch), jax.jit(problem.test)
    trained, other = (np.asarray(batch(fixed, jax.random.key(k)).inputs) for k in (2, 3))
    tested, again = (np.asarray(test(fixed).inputs) for _ in range(2))
    validated = np.asarray(jax.jit(problem.validation)(fixed).inputs)
    for inputs, low, high in [(trained, 1, 2), (validated, 1, 2), (tested, 2, 6)]:
        assert low <= inputs.min() < low + 0.1 * (high - low)
        assert high - 0.1 * (high - low) < inputs.max() <= high
    np.testing.assert_array_equal(tested, again)
    assert not np.any(trained == other)


@pytest.mark.parametrize(("operation", "sign"), [("add", 1.0), ("sub", -1.0)])
def test_threshold_of_a_sum_agrees_with_its_closed_form(operation: str, sign: float) -> None:
    task = ArithmeticTask(input_size=40)
    simulated = success_threshold(task, operation, samples=20_000, key=jax.random.key(1))
    # The error is ε Σ cᵢ xᵢ; each sum has c = −1 inside of its subset and 1 outside.
    first, second = (1 - 2 * np.asarray(part) for part in subsets(task, 0))
    c = first + sign * second
    mean, variance = 4.0, 16 / 12
    expected = 1e-10 * (variance * (c**2).sum() + (mean * c.sum()) ** 2)
    assert simulated == pytest.approx(expected, rel=0.05)


def test_threshold_grows_with_the_square_of_epsilon() -> None:
    task, key = ArithmeticTask(input_size=20), jax.random.key(2)
    for operation in OPERATIONS:
        near = success_threshold(task, operation, samples=500, key=key, epsilon=1e-6)
        far = success_threshold(task, operation, samples=500, key=key, epsilon=1e-5)
        assert far / near == pytest.approx(100, rel=0.01), operation


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"input_size": 3}, r"input_size 3 .* empty subsets.*at least 4"),
        ({"subset_ratio": 1.5}, r"subset_ratio 1\.5.*between 0 and 1"),
        ({"overlap_ratio": -0.1}, r"overlap_ratio -0\.1.*between 0 and 1"),
        ({"subset_ratio": 0.9, "overlap_ratio": 0.0}, r"need 180 inputs.*smaller subset_ratio"),
    ],
)
def test_impossible_tasks_are_refused(options: dict[str, float], message: str) -> None:
    with pytest.raises(ExperimentError, match=message):
        ArithmeticTask(**options)  # type: ignore[arg-type]


def test_unknown_operations_are_refused() -> None:
    with pytest.raises(ExperimentError, match=r"no operation 'power'; choose from add, sub"):
        ArithmeticProblem(ArithmeticTask(), ("power",), 1, 1)
    with pytest.raises(ExperimentError, match=r"no relation '=<'; choose from < > =="):
        ComparisonProblem(("=<",), 6)
    with pytest.raises(ExperimentError, match=r"largest_magnitude 40.*from 1 to 14"):
        ComparisonProblem(("<",), 40)


def test_comparisons_train_on_digits_and_are_tested_on_large_neighbours() -> None:
    problem = ComparisonProblem(tuple(RELATIONS), 6)
    fixed = jax.jit(problem.prepare)(jax.random.key(1))
    trained, tested = np.asarray(fixed.training.inputs), np.asarray(fixed.test.inputs)
    assert set(trained.ravel()) == set(range(1, 10))
    assert np.abs(tested[..., 0] - tested[..., 1]).max() == 5
    smallest, largest = tested.min(), tested.max()
    assert 10 - 5 <= smallest < 105
    assert 10**6 - 5 <= largest <= 10**7 + 5
    for index, name in enumerate(problem.operations):
        for pairs, targets in (
            (trained[index], fixed.training.targets[index]),
            (tested[index], fixed.test.targets[index]),
        ):
            expected = [eval(f"{a} {name} {b}") for a, b in pairs]
            assert np.asarray(targets).tolist() == expected, name


def test_equality_is_trained_on_as_many_equal_pairs_as_unequal_ones() -> None:
    problem = ComparisonProblem(("==", "<"), 3)
    targets = np.asarray(jax.jit(problem.prepare)(jax.random.key(4)).training.targets)
    assert targets[0].mean() == pytest.approx(1 / 2)
    assert targets[1].mean() == pytest.approx(36 / 81)
