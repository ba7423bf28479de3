"""RevOrder: outputs and partial results from the last digit."""

from __future__ import annotations

from collections.abc import Iterator

from curta.learn.config import EvaluationConfig, Experiment, ModelConfig, Sampling, TrainingConfig
from curta.learn.recipes.base import Claim, Recipe, smoke

SMALL = Experiment(
    positions="learned",
    model=ModelConfig(width=64, layers=3, heads=4, feedforward=256),
    sampling=Sampling(digits=(1, 3), test_share=0.1),
    training=TrainingConfig(steps=4_000, batch=64, seeds=3, learning_rate=3e-3),
    evaluation=EvaluationConfig(test=1_000, samples=300),
)


def pairs(experiment: Experiment) -> Iterator[Experiment]:
    """Sums and products, plain and in reverse order."""
    for task, short in (("addition", "sums"), ("multiplication", "products")):
        for written in ("plain", "revorder"):
            yield experiment.with_(name=f"{short}-{written}", task=task, format=written)


RECIPE = Recipe(
    name="revorder",
    about="sums and products whose digits and partial results come from the last digit",
    source="RevOrder: A Novel Method for Enhanced Arithmetic in Language Models (2024)",
    presets={
        "smoke": tuple(pairs(smoke(SMALL, digits=(1, 2)))),
        "small": tuple(pairs(SMALL)),
        "full": tuple(
            pairs(
                SMALL.with_(
                    width=512, layers=8, heads=8, feedforward=2048, digits=(1, 8), steps=50_000
                ).with_(learning_rate=1e-3)
            )
        ),
    },
    claims=(
        Claim("sums, reversed with carries", "100%", "sums-revorder:exact@longest"),
        Claim("sums, plain", "—", "sums-plain:exact@longest"),
        Claim("products, reversed partial products", "100%", "products-revorder:exact@longest"),
        Claim("products, plain", "—", "products-plain:exact@longest"),
    ),
)
