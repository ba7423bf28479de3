"""Relative positions for longer sums, a few long examples for longer products."""

from __future__ import annotations

from collections.abc import Iterator

from curta.learn.config import EvaluationConfig, Experiment, ModelConfig, Sampling, TrainingConfig
from curta.learn.recipes.base import Claim, Recipe, smoke

SUMS = Experiment(
    task="addition",
    format="padded(reversed=True)",
    positions="t5",
    model=ModelConfig(width=64, layers=2, heads=4, feedforward=256, loops=2),
    sampling=Sampling(digits=(1, 5)),
    training=TrainingConfig(steps=3_000, batch=64, seeds=3, learning_rate=3e-3),
    evaluation=EvaluationConfig(digits=(3, 15), stride=4),
)

PRODUCTS = SUMS.with_(
    task="multiplication(second=1)",
    format="reversed",
    sampling=Sampling(digits=(1, 3)),
    evaluation=EvaluationConfig(digits=(3, 9), stride=3),
)

FULL_SUMS = SUMS.with_(
    width=512, layers=6, heads=8, feedforward=2048, loops=1, steps=30_000, learning_rate=1e-3
)

FULL_PRODUCTS = FULL_SUMS.with_(
    task="multiplication(second=3)",
    sampling=Sampling(digits=(1, 5)),
    evaluation=EvaluationConfig(digits=(5, 35), stride=6),
)


def comparisons(sums: Experiment, products: Experiment, long: int) -> Iterator[Experiment]:
    """Sums by positions; products without and with long examples."""
    yield sums.with_(name="sums-relative")
    yield sums.with_(name="sums-absolute", positions="learned")
    yield products.with_(name="products")
    primed = {"priming": (long, long), "priming_examples": 50, "priming_share": 0.1}
    yield products.with_(name="products-primed", **primed)


RECIPE = Recipe(
    name="priming",
    about="relative positions for longer sums, 50 long examples for longer products",
    source="Length Generalization in Arithmetic Transformers (2023)",
    presets={
        "smoke": tuple(comparisons(smoke(SUMS), smoke(PRODUCTS), 5)),
        "small": tuple(comparisons(SUMS, PRODUCTS, 9)),
        "full": tuple(comparisons(FULL_SUMS, FULL_PRODUCTS, 35)),
    },
    claims=(
        Claim("sums", "15 digits, trained on 5: yes", "sums-relative:exact@15"),
        Claim("sums, absolute positions", "fails", "sums-absolute:exact@15"),
        *(
            claim
            for digits in (9, 35)
            for claim in (
                Claim("products", "35 digits, trained on 5: fails", f"products:exact@{digits}"),
                Claim("products, primed", "yes", f"products-primed:exact@{digits}"),
            )
        ),
    ),
)
