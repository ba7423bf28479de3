"""Walks compute what Python does if every step is right, and notice if one is not."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curta.errors import ExperimentError
from curta.learn.evaluation.rollout import Replies, expected, operands, walk_accuracy, walked
from curta.learn.experiment import Experiment, Setup
from curta.learn.sampling import Sampling
from curta.learn.tasks.steps import DigitStep, MachineStep
from curta.learn.training.loop import train
from curta.learn.training.state import of_seed

NUMBERS = st.integers(0, 10**30)


def experiment(task: str) -> Experiment:
    return Experiment(
        task=task,
        format="plain",
        positions="learned",
        sampling=Sampling(digits=(1, 1), test_share=0.0),
    ).with_(width=32, heads=2, layers=1, feedforward=64, batch=256)


@pytest.fixture(scope="module", params=["digit_step", "machine_step"])
def table(request) -> dict[str, str]:
    """All questions of a step and their answers, as they are drawn for training."""
    setup = Setup(experiment(request.param))
    rows = jax.jit(lambda key: setup.sampler.rows(20_000, key=key))(jax.random.key(0))
    known = {}
    for tokens, prompt in zip(np.asarray(rows.tokens), np.asarray(rows.prompt_length), strict=True):
        question = setup.language.alphabet.decode(tokens[:prompt])
        answer = setup.language.alphabet.decode(tokens[prompt:]).removesuffix("#")
        assert known.setdefault(question, answer) == answer
    return known


class Exact(Replies):
    """Says what is in the table."""

    def __init__(self, table: dict[str, str]) -> None:
        self.known = table

    def to(self, questions) -> dict[str, str]:
        return self.known


def test_every_step_is_drawn(table):
    # Two digits and a carry; or seven states with two digits, or with one that has ended.
    assert len(table) in (200, 7 * 120)


@given(a=NUMBERS, b=NUMBERS)
def test_right_steps_make_right_results(table, a, b):
    task = MachineStep() if "A00:" in table else DigitStep()
    for operation in task.operations:
        if operation == "/":
            b = max(1, b % 10**6)
        if operation == "-":
            a, b = max(a, b), min(a, b)
        results, _ = walked([task.walk(operation, str(a), str(b))], Exact(table))
        assert results == [expected(operation, a, b)]


def test_a_wrong_step_is_noticed(table):
    wrong = dict(table)
    question = "7+4+1=" if "7+4+1=" in table else "B74:"
    wrong[question] = "01" if "=" in question else "0B"
    task = MachineStep() if "A00:" in table else DigitStep()
    assert walked([task.walk("+", "75", "45")], Exact(wrong))[0] == ["100"]
    wrong[question] = "1"
    assert walked([task.walk("+", "75", "45")], Exact(wrong))[0] == [None]


def test_comparisons_are_often_close():
    import random

    dice = random.Random(0)
    pairs = [operands("?", 20, dice) for _ in range(200)]
    assert sum(str(a)[:5] == str(b)[:5] for a, b in pairs) > 40


@pytest.mark.slow
def test_a_trained_model_walks_along_long_numbers():
    setup = Setup(experiment("machine_step").with_(steps=3000, chunk=100, learning_rate=3e-3))
    model = of_seed(train(setup), 0)
    cells = walk_accuracy(model, setup, [5, 50], 10)
    assert {cell.operation for cell in cells} == set("+-?*/")
    assert all(cell.exact == cell.samples for cell in cells)


def test_other_tasks_have_no_steps():
    setup = Setup(Experiment())
    with pytest.raises(ExperimentError, match="no steps to walk"):
        walk_accuracy(None, setup, [5], 1)
