"""The smallest trained adders: ten digits at 99%, with as few parameters as possible."""

from __future__ import annotations

from collections.abc import Iterator

from curta.learn.config import EvaluationConfig, Experiment, ModelConfig, Sampling, TrainingConfig
from curta.learn.recipes.base import Claim, Recipe, smoke

SMALL = Experiment(
    task="addition",
    format="fixed(width=10, reversed=True)",
    positions="coupled(offset=0)",
    model=ModelConfig(width=16, layers=1, heads=1, feedforward=32),
    sampling=Sampling(digits=(1, 10), carries=True),
    training=TrainingConfig(steps=10_000, batch=128, seeds=3, learning_rate=1e-2, weight_decay=0.0),
    evaluation=EvaluationConfig(test=2_000, samples=1_000),
)


def sizes(experiment: Experiment, widths: tuple[int, ...]) -> Iterator[Experiment]:
    """Ever smaller models."""
    for width in widths:
        yield experiment.with_(name=f"width-{width}", width=width, feedforward=2 * width)


RECIPE = Recipe(
    name="adders",
    about="ten-digit addition at 99% with the fewest trained parameters",
    source="AdderBoard (public leaderboard); its best trained entry has 62 parameters",
    presets={
        "smoke": tuple(sizes(smoke(SMALL), (8,))),
        "small": tuple(sizes(SMALL, (16, 8, 6, 4))),
        "full": tuple(sizes(SMALL.with_(steps=100_000, batch=512, seeds=16), (16, 8, 6, 4, 3, 2))),
    },
    claims=tuple(
        Claim(f"width {width}", "99% with 62 parameters", f"width-{width}:exact@longest")
        for width in (16, 8, 6, 4)
    ),
)
