"""Abacus positions with looped blocks: digits numbered within each number."""

from __future__ import annotations

from curta.learn.config import EvaluationConfig, Experiment, ModelConfig, Sampling, TrainingConfig
from curta.learn.recipes.base import Claim, Recipe, smoke

SMALL = Experiment(
    name="abacus",
    task="addition",
    format="reversed_both",
    positions="abacus(offset=14)",
    model=ModelConfig(
        width=128, layers=1, heads=4, feedforward=256, loops=2, injection=True, tied=False
    ),
    sampling=Sampling(digits=(1, 6), test_share=0.05),
    training=TrainingConfig(
        steps=5_000, batch=64, seeds=3, learning_rate=1e-3, progressive=0.5, clip=1.0
    ),
    evaluation=EvaluationConfig(digits=(3, 18), stride=3, loops=(1, 2, 4)),
)

SHORT = EvaluationConfig(digits=(1, 6), stride=5, samples=50, test=50)

FULL = SMALL.with_(
    positions="abacus(offset=100)",
    width=1024,
    heads=16,
    feedforward=2048,
    layers=1,
    loops=16,
    digits=(1, 20),
    steps=30_000,
    batch=1024,
    learning_rate=1e-4,
    precision="bfloat16",
    evaluation=EvaluationConfig(digits=(10, 100), grid=True, stride=10, loops=(1, 4, 8, 16, 32)),
)


def with_control(experiment: Experiment) -> tuple[Experiment, ...]:
    """The same model with positions that count through the whole row."""
    offset = experiment.evaluation.digits[1] if experiment.evaluation.digits else 0
    learned = f"learned(offset={3 * offset})"
    return experiment, experiment.with_(name="learned-positions", positions=learned)


RECIPE = Recipe(
    name="abacus",
    about="digits numbered within each number, random offsets, looped blocks",
    source="Transformers Can Do Arithmetic with the Right Embeddings (2024)",
    presets={
        "smoke": (smoke(SMALL, digits=(1, 3), evaluation=SHORT),),
        "small": with_control(SMALL),
        "full": with_control(FULL),
    },
    claims=(
        Claim("abacus", "up to 99%, trained on 1 to 20", "abacus:exact@100"),
        Claim("abacus", "—", "abacus:exact@longest"),
        Claim("abacus", "—", "abacus:exact@9"),
        Claim("abacus", "—", "abacus:exact@9/loops=1"),
        Claim("abacus", "—", "abacus:exact@18"),
        Claim("learned positions", "—", "learned-positions:exact@longest"),
        Claim("learned positions", "—", "learned-positions:exact@9"),
    ),
)
