"""Four ways to write one sum: plain, reversed, and two scratchpads."""

from __future__ import annotations

from collections.abc import Iterator

from curta.learn.config import EvaluationConfig, Experiment, ModelConfig, Sampling, TrainingConfig
from curta.learn.recipes.base import Claim, Recipe, smoke

FORMATS = {
    "plain": "plain",
    "reversed": "reversed",
    "scratchpad": "scratchpad",
    "detailed": "scratchpad_detailed",
}

SMALL = Experiment(
    task="addition",
    positions="learned",
    model=ModelConfig(width=64, layers=3, heads=4, feedforward=256, tied=False),
    sampling=Sampling(digits=(1, 3), test_share=0.1),
    training=TrainingConfig(steps=1_500, batch=64, seeds=3, learning_rate=1e-3),
    evaluation=EvaluationConfig(digits=(1, 4), samples=500),
)

FULL = SMALL.with_(
    width=384, layers=6, heads=6, feedforward=1536, dropout=0.2, steps=5_000, batch=256
)


def formats(experiment: Experiment) -> Iterator[Experiment]:
    """The same in each format."""
    for name, written in FORMATS.items():
        yield experiment.with_(name=name, format=written)


RECIPE = Recipe(
    name="teaching_arithmetic",
    about="plain, reversed, simplified and detailed scratchpad compared on three-digit sums",
    source="Teaching Arithmetic to Small Transformers (2023)",
    presets={
        "smoke": tuple(formats(smoke(SMALL, digits=(1, 2)))),
        "small": tuple(formats(SMALL)),
        "full": tuple(formats(FULL)),
    },
    claims=(
        Claim("plain", "slow to learn", "plain:exact@longest"),
        Claim("reversed", "a sharp transition", "reversed:exact@longest"),
        Claim("scratchpad", "from fewer examples", "scratchpad:exact@longest"),
        Claim("detailed", "from the fewest examples", "detailed:exact@longest"),
    ),
)
