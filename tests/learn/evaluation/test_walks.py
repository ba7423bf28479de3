"""Walks compute what Python does if every step is right, and notice if one is not."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curta.errors import ExperimentError
from curta.learn.config import Sampling
from curta.learn.evaluation import measure
from curta.learn.evaluation.judging import Tally
from curta.learn.evaluation.measure import Evaluation
from curta.learn.evaluation.summary import as_json, summary
from curta.learn.evaluation.walks import (
    Replies,
    WalkCell,
    expected,
    operands,
    stepping,
    walk_accuracy,
    walked,
)
from curta.learn.experiment import EvaluationConfig, Experiment, Setup
from curta.learn.report import parts
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


def walked_evaluation() -> Evaluation:
    """Two seeds, of which the second errs once among ten sums of 5 digits."""
    one = np.ones((2, 1))
    tally = Tally(
        samples=4,
        tokens=8,
        counted=8,
        exact=4 * one,
        right=8 * one,
        logprob=-one,
        loss=one,
        questions=Counter((1, 2, 3, 4)),
    )
    cells = [
        tuple(
            WalkCell("+", digits, 10, 10 - (seed and digits == 5), 10 * digits) for seed in (0, 1)
        )
        for digits in (2, 5)
    ]
    return Evaluation((1,), 1, (0, 1), suites={"test": tally}, walks=cells)


def test_walks_are_figures_with_intervals():
    figures = summary(walked_evaluation(), 0.99)
    assert figures["walk.+@2"].seeds == (1.0, 1.0)
    assert figures["walk.+@5"].seeds == (1.0, 0.9)
    assert figures["walk.+@5"].method == "t and wilson"
    assert figures["walk.+@5"].low < 0.95 < figures["walk.+@5"].high == 1


def test_walks_have_a_table_in_the_report():
    found = walked_evaluation()
    walks = [
        {"operation": "+", "digits": c[0].digits, "samples": 10, "steps": [c[0].steps] * 2}
        for c in found.walks
    ]
    given = {"walks": walks, "summary": as_json(summary(found, 0.99))}
    page = parts.walks([SimpleNamespace(name="run", evaluation=given)])
    shown = [parts.written(given["summary"], f"walk.+@{digits}") for digits in (2, 5)]
    assert "<th>2 digits</th><th>5 digits</th>" in page
    assert f"<tr><td>+</td><td>{shown[0]}</td><td>{shown[1]}</td></tr>" in page
    assert "10 of each, of 4 steps on average." in page
    assert parts.walks([SimpleNamespace(name="run", evaluation={"summary": {}})]) == ""


def test_every_seed_walks_along_the_same_numbers(monkeypatch):
    asked, told = [], []

    def walk(model, setup, lengths, samples, *, seed, done):
        asked.append((model, tuple(lengths), samples, seed))
        for _ in lengths:
            done()
        return [WalkCell("+", digits, samples, model, digits) for digits in lengths]

    monkeypatch.setattr(measure, "walk_accuracy", walk)
    monkeypatch.setattr(measure, "picked", lambda models, index: models[index])
    experiment = Experiment(task="digit_step").with_(seed=7)
    judge = SimpleNamespace(models=[3, 4], seeds=2, setup=SimpleNamespace(experiment=experiment))
    evaluation = Evaluation((1,), 1, (7, 8))
    evaluator = measure.Evaluator(
        judge, evaluation, lambda done, total: told.append((done, total)), 20, 0
    )
    evaluator.walks(EvaluationConfig(walks=(1, 10), samples=5))
    assert asked == [(3, (1, 10), 5, 7), (4, (1, 10), 5, 7)]
    assert told == [(5, 20), (10, 20), (15, 20), (20, 20)]
    assert [[cell.exact for cell in cells] for cells in evaluation.walks] == [[3, 4], [3, 4]]


def test_formats_that_write_steps_otherwise_are_refused():
    assert stepping(Setup(experiment("machine_step"))) == MachineStep()
    for changes, words in (
        ({"pauses": 1}, "without pauses"),
        ({"format": "plain(base=7)"}, "choose base 10"),
    ):
        with pytest.raises(ExperimentError, match=words):
            stepping(Setup(experiment("machine_step").with_(**changes)))
