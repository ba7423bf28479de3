"""FoNE: a number is one token, with two features for each of its digits."""

from __future__ import annotations

from collections.abc import Iterator

from curta.learn.config import EvaluationConfig, Experiment, ModelConfig, Sampling, TrainingConfig
from curta.learn.recipes.base import Claim, Recipe, smoke

SMALL = Experiment(
    task="addition",
    format="whole(places=7)",
    positions="learned",
    model=ModelConfig(width=64, layers=2, heads=4, feedforward=256),
    sampling=Sampling(digits=(1, 6), test_share=0.05),
    training=TrainingConfig(steps=2_500, batch=256, seeds=3, learning_rate=2e-3),
    evaluation=EvaluationConfig(test=2_000),
)


def comparisons(experiment: Experiment, product_digits: int) -> Iterator[Experiment]:
    """Whole numbers and digits as tokens, for sums, differences and products."""
    yield experiment.with_(name="sums")
    yield experiment.with_(name="sums-digits", format="plain")
    yield experiment.with_(name="differences", task="subtraction")
    products = experiment.with_(name="products", task="multiplication", digits=(1, product_digits))
    yield products.with_(steps=2 * experiment.training.steps)


RECIPE = Recipe(
    name="fone",
    about="a number is one token, its digits are Fourier features",
    source="FoNE: Precise Single-Token Number Embeddings via Fourier Features (2025)",
    presets={
        "smoke": tuple(comparisons(smoke(SMALL, digits=(1, 3)), 2)),
        "small": tuple(comparisons(SMALL, 2)),
        "full": tuple(
            comparisons(
                SMALL.with_(width=256, layers=6, heads=8, feedforward=1024, steps=50_000), 3
            )
        ),
    },
    claims=(
        Claim("sums", "99%, with 64 times less data", "sums:exact@longest"),
        Claim("sums, digits as tokens", "—", "sums-digits:exact@longest"),
        Claim("differences", "100%", "differences:exact@longest"),
        Claim("products", "100%", "products:exact@longest"),
        Claim("products", "—", "products:exact.test"),
    ),
)
