"""Options of training that look into the model: progressive loss, Seq-VCR, pauses."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curta.errors import ExperimentError
from curta.learn.alphabet import PAUSE
from curta.learn.config import Sampling
from curta.learn.experiment import Experiment, Setup
from curta.learn.models.config import ModelConfig
from curta.learn.reading import read
from curta.learn.training.config import TrainingConfig
from curta.learn.training.objective import collapse, cross_entropy, loss_weights, objective
from curta.learn.training.state import new_model
from tests.support.filled_models import filled
from tests.support.written_rows import written_rows

TEXTS = ("1+2=3#", "99+1=001#", "12+45=75#", "0+0=0#", "99+99=891#", "40+2=24#")


def setup(**options: object) -> Setup:
    experiment = Experiment(
        positions="learned",
        model=ModelConfig(width=8, layers=1, heads=2, feedforward=8, loops=3, injection=True),
        sampling=Sampling(digits=(1, 2), test_share=0.0),
    )
    return Setup(experiment.with_(**options))


@pytest.mark.slow
def test_progressive_loss_mixes_in_one_of_the_earlier_loops() -> None:
    here = setup(progressive=0.4)
    model = filled(lambda: new_model(here, key=jax.random.key(0)), spread=0.1)
    rows = written_rows(here.language, TEXTS)
    reading = read(rows.tokens, rows.prompt_length, here.language)
    places = here.positions.places(reading)[:, :-1]
    weights = loss_weights(rows, "answer")

    @eqx.filter_jit
    def loss_behind(hidden: jax.Array) -> jax.Array:
        said = model.log_probability(model.logits(hidden), rows.tokens[:, 1:])
        return cross_entropy(said, weights)

    hidden = eqx.filter_jit(model.hidden)(rows.tokens[:, :-1], places)
    each = [float(loss_behind(state)) for state in hidden]
    mixed = [0.6 * each[2] + 0.4 * early for early in each[:2]]
    compiled = jax.jit(lambda key: objective(model, here, rows, key=key)[0])
    drawn = [float(compiled(jax.random.key(seed))) for seed in range(12)]
    nearest = [int(np.argmin(np.abs(np.array(mixed) - loss))) for loss in drawn]
    assert set(nearest) == {0, 1}
    for loss, index in zip(drawn, nearest, strict=True):
        assert loss == pytest.approx(mixed[index], abs=1e-5)
    tested = eqx.filter_jit(lambda rows: objective(model, here, rows, key=None)[0])(rows)
    assert float(tested) == pytest.approx(each[2], abs=1e-5)


def test_collapse_is_that_of_the_definition() -> None:
    random = np.random.default_rng(0)
    hidden = random.normal(size=(2, 30, 4, 5)).astype(np.float32)
    hidden[:, :, :, 1] = 3 * hidden[:, :, :, 0]
    hidden[:, :, :, 2] *= 0.1
    present = np.ones((30, 4), np.float32)
    present[11:, 2] = 0
    present[1:, 3] = 0
    short, redundant = [], []
    for loop in hidden:
        for place in range(3):
            covariance = np.cov(loop[present[:, place] > 0, place], rowvar=False)
            variance = np.diag(covariance)
            short.append(np.maximum(0, 1 - np.sqrt(variance + 1e-3)).sum() / 5)
            redundant.append((np.square(covariance).sum() - np.square(variance).sum()) / 5)
    found = collapse(jnp.asarray(hidden), jnp.asarray(present))
    assert float(found[0]) == pytest.approx(np.mean(short), rel=1e-4)
    assert float(found[1]) == pytest.approx(np.mean(redundant), rel=1e-4)


def test_the_regularisation_spreads_a_collapsed_stream() -> None:
    here = setup(variance=1.0, covariance=0.004)
    model = filled(lambda: new_model(here, key=jax.random.key(0)), spread=0.1)
    rows = written_rows(here.language, TEXTS)

    @eqx.filter_jit
    def loss_and_gradient(model):  # type: ignore[no-untyped-def]
        return eqx.filter_value_and_grad(lambda m: objective(m, here, rows, key=None)[0])(model)

    with_it, gradient = loss_and_gradient(model)
    assert with_it > np.log(here.language.alphabet.size) + 0.1, "without it, chance"
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradient))
    moved = eqx.apply_updates(model, jax.tree.map(lambda leaf: -0.05 * leaf, gradient))
    assert loss_and_gradient(moved)[0] < with_it


def test_pauses_stand_before_the_answer_and_cost_no_loss() -> None:
    here = setup(pauses=3)
    rows = jax.jit(lambda key: here.sampler.rows(20, key=key))(jax.random.key(0))
    counted = np.asarray(loss_weights(rows, "answer"))
    for index in range(20):
        text = here.language.alphabet.decode(rows.tokens[index])
        question, answer = text.split("=" + 3 * PAUSE)
        a, b = question.split("+")
        assert int(answer.removesuffix("#")[::-1]) == int(a) + int(b)
        assert int(rows.prompt_length[index]) == len(question) + 4
        # The last pause is the first token that has to say something right.
        assert np.flatnonzero(counted[index])[0] == len(question) + 3
        assert counted[index].sum() == len(answer)


@pytest.mark.parametrize("name", ["variance", "covariance"])
def test_weights_are_not_negative(name: str) -> None:
    with pytest.raises(ExperimentError, match=f"{name} = -1: must be at least 0"):
        TrainingConfig(**{name: -1})
