"""Number systems: the same sums in base 10, 100 and 1000."""

from __future__ import annotations

from collections.abc import Iterator

from curta.learn.config import EvaluationConfig, Experiment, ModelConfig, Sampling, TrainingConfig
from curta.learn.recipes.base import Claim, Recipe, smoke

SMALL = Experiment(
    task="addition",
    positions="learned",
    model=ModelConfig(width=64, layers=2, heads=4, feedforward=256),
    sampling=Sampling(values=(0, 999_999), test_share=0.05),
    training=TrainingConfig(steps=2_500, batch=128, seeds=3, learning_rate=1e-3),
    evaluation=EvaluationConfig(test=2_000),
)


def in_bases(experiment: Experiment) -> Iterator[Experiment]:
    """The same sums, written in each base."""
    for base, width in ((10, 6), (100, 3), (1000, 2)):
        written = f"fixed(width={width}, reversed=True, base={base})"
        yield experiment.with_(name=f"base-{base}", format=written)


RECIPE = Recipe(
    name="bases",
    about="sums up to a million in base 10, 100 and 1000",
    source="Scaling Behavior for Large Language Models regarding Numeral Systems (2024)",
    presets={
        "smoke": tuple(in_bases(smoke(SMALL))),
        "small": tuple(in_bases(SMALL)),
        "full": tuple(
            in_bases(SMALL.with_(width=256, layers=6, heads=8, feedforward=1024, steps=20_000))
        ),
    },
    claims=(
        Claim("sums, base 10", "most data-efficient", "base-10:exact.test"),
        Claim("sums, base 100", "less", "base-100:exact.test"),
        Claim("sums, base 1000", "least", "base-1000:exact.test"),
    ),
)
