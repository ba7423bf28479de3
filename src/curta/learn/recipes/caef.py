"""CAEF: a model that executes a Turing machine, step by step, or the whole trace in one row."""

from __future__ import annotations

from curta.learn.config import EvaluationConfig, Experiment, ModelConfig, Sampling, TrainingConfig
from curta.learn.recipes.base import Claim, Recipe, smoke

# The executor: a state and two symbols give a symbol and a state. All 840 steps are trained. The
# aligner, which moves the heads and composes operators, is the walk.
STEPS = Experiment(
    name="steps",
    task="machine_step",
    format="plain",
    positions="learned",
    model=ModelConfig(width=32, layers=1, heads=2, feedforward=128),
    sampling=Sampling(digits=(1, 1), test_share=0.0),
    training=TrainingConfig(steps=3_000, batch=256, seeds=3, learning_rate=3e-3),
    evaluation=EvaluationConfig(samples=50, test=1_000, walks=(10, 30, 100)),
)

TRACE = Experiment(
    name="trace",
    task="addition",
    format="turing",
    positions="learned",
    model=ModelConfig(width=64, layers=2, heads=4, feedforward=256),
    sampling=Sampling(digits=(1, 4), test_share=0.1),
    training=TrainingConfig(steps=2_500, batch=64, seeds=3, learning_rate=2e-3),
    evaluation=EvaluationConfig(digits=(1, 6), samples=100, test=500),
)

NAMES = {"+": "sums", "-": "differences", "?": "comparisons", "*": "products", "/": "quotients"}

RECIPE = Recipe(
    name="caef",
    about="Turing machines: single steps walked to 100 digits, and whole traces in one row",
    source="Executing Arithmetic: Fine-Tuning Large Language Models as Turing Machines (2024)",
    presets={
        "smoke": (smoke(STEPS, walks=(2, 5)), smoke(TRACE, digits=(1, 2))),
        "small": (STEPS, TRACE),
        "full": (
            STEPS.with_(steps=20_000, seeds=8, samples=200),
            TRACE.with_(width=256, layers=4, heads=8, feedforward=1024, digits=(1, 10)).with_(
                steps=50_000, batch=256, evaluation=EvaluationConfig(digits=(1, 20), samples=500)
            ),
        ),
    },
    claims=(
        *(
            Claim(
                name,
                "nearly 100% on seven operators to 100 digits (8 B model)",
                f"steps:walk.{operation}@100",
            )
            for operation, name in NAMES.items()
        ),
        Claim("sums, the whole trace at once", "—", "trace:exact@longest"),
        Claim("sums, the whole trace at once", "—", "trace:exact.longer"),
    ),
)
