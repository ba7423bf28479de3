"""Goat: products and quotients cut into steps that can be learned."""

from __future__ import annotations

from collections.abc import Iterator

from curta.learn.config import EvaluationConfig, Experiment, ModelConfig, Sampling, TrainingConfig
from curta.learn.recipes.base import Claim, Recipe, smoke

SMALL = Experiment(
    positions="learned",
    model=ModelConfig(width=64, layers=3, heads=4, feedforward=256),
    sampling=Sampling(digits=(1, 2), test_share=0.1),
    training=TrainingConfig(steps=4_000, batch=64, seeds=3, learning_rate=3e-3),
    evaluation=EvaluationConfig(test=1_000),
)


def comparisons(experiment: Experiment) -> Iterator[Experiment]:
    """Products and quotients, at once and in steps."""
    for task, short in (("multiplication", "products"), ("division", "quotients")):
        for written in ("plain", "decomposed"):
            yield experiment.with_(name=f"{short}-{written}", task=task, format=written)


RECIPE = Recipe(
    name="goat",
    about="products and quotients at once, and decomposed into steps",
    source="Goat: Fine-tuned LLaMA Outperforms GPT-4 on Arithmetic Tasks (2023)",
    presets={
        "smoke": tuple(comparisons(smoke(SMALL, digits=(1, 2)))),
        "small": tuple(comparisons(SMALL)),
        "full": tuple(
            comparisons(
                SMALL.with_(width=512, layers=8, heads=8, feedforward=2048, digits=(1, 6)).with_(
                    steps=100_000, batch=256, learning_rate=1e-3
                )
            )
        ),
    },
    claims=(
        Claim("products at once", "fails", "products-plain:exact@longest"),
        Claim("products in steps", "learnable (7 B model)", "products-decomposed:exact@longest"),
        Claim("quotients at once", "fails", "quotients-plain:exact@longest"),
        Claim("quotients in steps", "learnable (7 B model)", "quotients-decomposed:exact@longest"),
    ),
)
