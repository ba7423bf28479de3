"""Seq-VCR: products without a scratchpad, with pauses and features that must not collapse."""

from __future__ import annotations

from collections.abc import Iterator

from curta.learn.config import EvaluationConfig, Experiment, ModelConfig, Sampling, TrainingConfig
from curta.learn.recipes.base import Claim, Recipe, smoke

SMALL = Experiment(
    task="multiplication",
    format="fixed(width=2, reversed=True)",
    positions="learned",
    model=ModelConfig(width=64, layers=3, heads=4, feedforward=256),
    sampling=Sampling(digits=(2, 2), test_share=0.05),
    training=TrainingConfig(steps=4_000, batch=64, seeds=3, learning_rate=1e-3),
    evaluation=EvaluationConfig(test=1_000),
)


def comparisons(experiment: Experiment) -> Iterator[Experiment]:
    """Neither, each and both of the two."""
    regular = {"variance": 1.0, "covariance": 0.004}
    yield experiment.with_(name="neither")
    yield experiment.with_(name="pauses", pauses=2)
    yield experiment.with_(name="regularised", **regular)
    yield experiment.with_(name="both", pauses=2, **regular)


RECIPE = Recipe(
    name="seq_vcr",
    about="products with pause tokens and variance-covariance regularisation",
    source="Seq-VCR: Preventing Collapse in Intermediate Transformer Representations (2024)",
    presets={
        "smoke": tuple(comparisons(smoke(SMALL, digits=(1, 2), format="fixed(width=2)"))),
        "small": tuple(comparisons(SMALL)),
        "full": tuple(
            comparisons(
                SMALL.with_(width=768, layers=12, heads=12, feedforward=3072, digits=(5, 5)).with_(
                    format="fixed(width=5)", steps=100_000, batch=512, precision="bfloat16"
                )
            )
        ),
    },
    claims=(
        Claim("products, neither", "5 digits: 0%", "neither:exact.test"),
        Claim("products, pauses", "—", "pauses:exact.test"),
        Claim("products, regularised", "—", "regularised:exact.test"),
        Claim("products, both", "5 digits: 99.5%", "both:exact.test"),
    ),
)
