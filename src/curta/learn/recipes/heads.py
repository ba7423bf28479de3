"""Many heads of two features against few wide ones, at equal width."""

from __future__ import annotations

from collections.abc import Iterator

from curta.learn.config import EvaluationConfig, Experiment, ModelConfig, Sampling, TrainingConfig
from curta.learn.recipes.base import Claim, Recipe, smoke

WIDTHS = (2, 8, 32)

SMALL = Experiment(
    task="addition",
    format="reversed_both",
    positions="abacus(offset=10)",
    model=ModelConfig(width=64, layers=2, heads=4, feedforward=256),
    sampling=Sampling(digits=(1, 8)),
    training=TrainingConfig(steps=2_000, batch=128, seeds=3, learning_rate=3e-3),
    evaluation=EvaluationConfig(digits=(4, 12), stride=4),
)


def head_widths(experiment: Experiment) -> Iterator[Experiment]:
    """The same number of features in heads of two, of eight, and of all."""
    width = experiment.model.width
    for features in WIDTHS:
        if width % features:
            continue
        yield experiment.with_(
            name=f"features-{features}", heads=width // features, head_width=features
        )


RECIPE = Recipe(
    name="heads",
    about="heads of two features against wider ones at equal width",
    source="two-dimensional heads are what hull caches can answer in logarithmic time",
    presets={
        "smoke": tuple(head_widths(smoke(SMALL, digits=(1, 3)))),
        "small": tuple(head_widths(SMALL)),
        "full": tuple(
            head_widths(
                SMALL.with_(
                    width=256, layers=6, feedforward=1024, digits=(1, 20), steps=20_000
                ).with_(learning_rate=1e-3, evaluation=EvaluationConfig(digits=(10, 30), stride=10))
            )
        ),
    },
    claims=tuple(
        Claim(f"heads of {features} features", "—", f"features-{features}:exact@longest")
        for features in WIDTHS
    ),
)
