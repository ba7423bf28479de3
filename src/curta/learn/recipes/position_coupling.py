"""Position coupling: digits of equal significance share a position."""

from __future__ import annotations

from curta.learn.config import EvaluationConfig, Experiment, ModelConfig, Sampling, TrainingConfig
from curta.learn.recipes.base import Claim, Recipe, smoke

SMALL = Experiment(
    name="coupled",
    task="addition",
    format="padded(reversed=True)",
    positions="coupled(offset=50)",
    model=ModelConfig(width=128, layers=1, heads=4, feedforward=256, tied=False),
    sampling=Sampling(digits=(1, 10), test_share=0.05),
    training=TrainingConfig(steps=3_000, batch=64, seeds=3, learning_rate=1e-3),
    evaluation=EvaluationConfig(digits=(5, 50), stride=5),
)

SHORT = EvaluationConfig(digits=(1, 6), stride=5, samples=50, test=50)

FULL = SMALL.with_(
    positions="coupled(offset=200)",
    width=512,
    layers=1,
    heads=4,
    feedforward=2048,
    digits=(1, 30),
    steps=50_000,
    batch=1000,
    learning_rate=1e-4,
    precision="bfloat16",
    evaluation=EvaluationConfig(digits=(30, 200), stride=34),
)


def with_controls(experiment: Experiment) -> tuple[Experiment, ...]:
    """The same model with sight by significance, without positions, with learned ones."""
    assert experiment.evaluation.digits is not None
    offset = 3 * experiment.evaluation.digits[1]
    return (
        experiment,
        experiment.with_(name="aligned", positions="aligned(reach=1)"),
        experiment.with_(name="no-positions", positions="none"),
        experiment.with_(name="learned-positions", positions=f"learned(offset={offset})"),
    )


RECIPE = Recipe(
    name="position_coupling",
    about="digits of equal significance share a position",
    source="Position Coupling: Improving Length Generalization of Arithmetic Transformers (2024)",
    presets={
        "smoke": (smoke(SMALL, digits=(1, 3), evaluation=SHORT),),
        "small": with_controls(SMALL),
        "full": with_controls(FULL),
    },
    claims=(
        Claim("coupled", "to 200 digits, trained on 1 to 30", "coupled:exact@200"),
        Claim("coupled", "—", "coupled:exact@longest"),
        Claim("coupled", "—", "coupled:exact@30"),
        Claim("sight by significance (ours)", "—", "aligned:exact@30"),
        Claim("sight by significance (ours)", "—", "aligned:exact@50"),
        Claim("without positions", "—", "no-positions:exact@30"),
        Claim("learned positions", "—", "learned-positions:exact@30"),
    ),
)
