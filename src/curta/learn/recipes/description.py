"""Positional description: what changes if numbers lie elsewhere in the row."""

from __future__ import annotations

from collections.abc import Iterator

from curta.learn.config import EvaluationConfig, Experiment, ModelConfig, Sampling, TrainingConfig
from curta.learn.recipes.base import Claim, Recipe, smoke

SUMS = Experiment(
    task="addition",
    format="reversed",
    positions="learned",
    model=ModelConfig(width=128, layers=2, heads=4, feedforward=256),
    sampling=Sampling(digits=(1, 4)),
    training=TrainingConfig(steps=4_000, batch=64, seeds=3, learning_rate=1e-3),
    evaluation=EvaluationConfig(digits=(3, 6)),
)

PRODUCTS = SUMS.with_(
    task="multiplication",
    format="fixed(width=2, reversed=True)",
    model=ModelConfig(width=128, layers=3, heads=8, feedforward=512),
    sampling=Sampling(digits=(1, 2)),
    training=TrainingConfig(steps=3_000, batch=64, seeds=3, learning_rate=1e-3),
    evaluation=EvaluationConfig(test=1_000),
)


def comparisons(sums: Experiment, products: Experiment, width: int) -> Iterator[Experiment]:
    """Sums with and without random spaces; products plain and laid out in a fixed way."""
    yield sums.with_(name="sums")
    yield sums.with_(name="sums-spaces", format="spaces(reversed=True)")
    yield products.with_(name="products-plain", format="plain")
    yield products.with_(name="products-laid-out", format=f"fixed(width={width}, reversed=True)")


RECIPE = Recipe(
    name="description",
    about="random spaces for longer sums, fixed places and reversed answers for long products",
    source="Positional Description Matters for Transformers Arithmetic (2023)",
    presets={
        "smoke": tuple(comparisons(smoke(SUMS), smoke(PRODUCTS), 2)),
        "small": tuple(comparisons(SUMS, PRODUCTS, 2)),
        "full": tuple(
            comparisons(
                SUMS.with_(width=512, layers=8, heads=8, feedforward=2048, digits=(1, 10)).with_(
                    steps=30_000, evaluation=EvaluationConfig(digits=(10, 12), stride=1)
                ),
                PRODUCTS.with_(
                    width=768, layers=12, heads=12, feedforward=3072, digits=(1, 15)
                ).with_(steps=100_000),
                15,
            )
        ),
    },
    claims=(
        Claim("sums", "—", "sums:exact@longest"),
        Claim("sums with random spaces", "—", "sums-spaces:exact@longest"),
        Claim("sums", "—", "sums:exact.longer"),
        Claim(
            "sums with random spaces", "12 digits, trained on 10: yes", "sums-spaces:exact.longer"
        ),
        Claim("products, plain", "15 digits: fails", "products-plain:exact@longest"),
        Claim("products, laid out", "15 digits: close to 100%", "products-laid-out:exact@longest"),
    ),
)
