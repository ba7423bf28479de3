"""Arbitrary length: one place of a sum is learned, any number of them are put together."""

from __future__ import annotations

from curta.learn.config import EvaluationConfig, Experiment, ModelConfig, Sampling, TrainingConfig
from curta.learn.recipes.base import Claim, Recipe, smoke

SMALL = Experiment(
    name="places",
    task="digit_step",
    format="plain",
    positions="learned",
    model=ModelConfig(width=32, layers=1, heads=2, feedforward=128),
    # There are 200 places of sums, all of them are trained: what is new is the length.
    sampling=Sampling(digits=(1, 1), test_share=0.0),
    training=TrainingConfig(steps=4_000, batch=128, seeds=3, learning_rate=3e-3),
    evaluation=EvaluationConfig(samples=200, test=1_000, walks=(2, 10, 30, 100, 1_000)),
)

RECIPE = Recipe(
    name="alga",
    about="a sum place by place, from the right: two digits and a carry, to any length",
    source="Arbitrary Length Generalization for Addition (2024)",
    presets={
        "smoke": (smoke(SMALL, walks=(2, 10)),),
        "small": (SMALL,),
        "full": (SMALL.with_(steps=10_000, seeds=8, samples=1_000),),
    },
    claims=tuple(
        Claim("sums", "unseen lengths from sums of two digits", f"places:walk.+@{digits}")
        for digits in (10, 100, 1_000)
    ),
)
