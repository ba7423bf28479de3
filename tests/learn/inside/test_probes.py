"""Probes and fits find what was put into vectors by hand, and nothing in noise."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curta.errors import ExperimentError
from curta.learn.inside.probes import (
    apply_linear,
    bilinear_spectrum,
    fit_helix,
    probe_digits,
    ridge,
)
from curta.learn.models.config import ModelConfig
from curta.learn.models.transformer import Transformer
from curta.learn.positions.absolute import NoPositions

DICE = np.random.default_rng(0)
NUMBERS = np.arange(100)


def circle(period: int, features: int = 16) -> np.ndarray:
    """Numbers on a circle, somewhere in a larger space, away from its origin."""
    angle = 2 * np.pi * NUMBERS / period
    plane = np.random.default_rng(period).normal(size=(2, features))
    return np.stack([np.cos(angle), np.sin(angle)], axis=1) @ plane + 3.0


@pytest.mark.parametrize("period", [5, 10, 100])
def test_a_circle_is_explained_by_its_period_and_by_no_other(period):
    fit = fit_helix(circle(period))
    assert fit.explained[f"period {period}"] == pytest.approx(1, abs=1e-9)
    assert fit.explained["all"] == pytest.approx(1, abs=1e-9)
    for other in {2, 5, 10, 100} - {period}:
        assert fit.explained[f"period {other}"] < 0.01
    assert fit.spectrum.argmax() == 100 // period
    assert fit.spectrum.sum() == pytest.approx(1)


def test_a_line_is_a_line_and_parity_has_period_2():
    assert fit_helix(NUMBERS[:, None] * [[1.0, -2.0]]).explained["line"] == pytest.approx(1)
    parity = fit_helix((-1.0) ** NUMBERS[:, None])
    assert parity.explained["period 2"] == pytest.approx(1)
    assert parity.explained["period 10"] < 0.01


def test_a_sum_of_two_families_is_explained_by_all_and_in_parts():
    fit = fit_helix(np.hstack([circle(10, 2) * 2, circle(100, 2)]))
    assert fit.explained["all"] == pytest.approx(1)
    assert 0.1 < fit.explained["period 100"] < fit.explained["period 10"] < 0.95


def test_noise_is_not_explained():
    shares = [fit_helix(DICE.normal(size=(100, 64))).explained["all"] for _ in range(5)]
    assert abs(np.mean(shares)) < 0.02
    # Ten numbers, six columns: without the adjustment, chance alone would explain two thirds.
    few = [fit_helix(DICE.normal(size=(10, 64))).explained["all"] for _ in range(5)]
    assert abs(np.mean(few)) < 0.15


def test_vectors_that_are_all_alike_have_nothing_to_explain():
    assert set(fit_helix(np.ones((100, 4))).explained.values()) == {0.0}


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_ridge_recovers_a_linear_map_whatever_the_scale(scale):
    truth, constant = DICE.normal(size=(6, 3)), np.array([5.0, -1.0, 0.0])
    inputs = DICE.normal(size=(500, 6)) + 2
    found = ridge(scale * inputs, inputs @ truth + constant)
    np.testing.assert_allclose(found[:-1] * scale, truth, atol=0.02)
    np.testing.assert_allclose(found[-1], constant, atol=0.05)
    fresh = DICE.normal(size=(20, 6))
    np.testing.assert_allclose(
        apply_linear(scale * fresh, found), fresh @ truth + constant, atol=0.1
    )


def test_a_probe_reads_what_is_there_and_chance_where_nothing_is():
    targets = np.stack([DICE.integers(0, 10, 800), DICE.choice([3, 4], 800, p=[0.9, 0.1])], axis=1)
    noise = DICE.normal(size=(800, 12))
    held = np.eye(10)[targets[:, 0]] @ DICE.normal(size=(10, 12))
    found = probe_digits(np.stack([noise, noise + 20 * held]), targets)
    assert found.accuracy[1, 0] > 0.95
    assert found.accuracy[0, 0] < 0.2
    assert found.chance[1] == (targets[400:, 1] == 3).mean()
    assert found.accuracy[0, 1] == pytest.approx(found.chance[1], abs=0.03)


def model(**options) -> Transformer:
    config = ModelConfig(width=6, layers=2, heads=2, feedforward=5, norm="none", **options)
    return eqx.filter_jit(lambda key: Transformer(config, NoPositions(), 7, 4, key=key))(
        jax.random.key(0)
    )


def test_the_spectrum_reproduces_the_quadratic_form_of_the_layer():
    made = model(activation="bilinear")
    keys = jax.random.split(jax.random.key(1), 2)
    direction, inputs = jax.random.normal(keys[0], (6,)), jax.random.normal(keys[1], (10, 6))
    for layer in range(2):
        values, vectors = bilinear_spectrum(made, layer, direction)
        assert list(np.abs(values)) == sorted(np.abs(values), reverse=True)
        form = np.square(np.asarray(inputs) @ vectors) @ values
        added = eqx.filter_jit(made.blocks[layer].fed)(inputs[None])[0] @ direction
        np.testing.assert_allclose(form, np.asarray(added), atol=1e-4)


def test_other_layers_have_no_spectrum():
    with pytest.raises(ExperimentError, match=r"activation = gelu: .* --activation bilinear"):
        bilinear_spectrum(model(), 0, jnp.ones(6))
