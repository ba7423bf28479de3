"""Compiled attention in trained models: heads that fetch by rule, beside what is trained."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from curta.learn.config import EvaluationConfig, Experiment, ModelConfig, Sampling, TrainingConfig
from curta.learn.recipes.base import Claim, Recipe, smoke

COLUMN = "first second first-1 second-1"
"""Of a sum: both digits of the place that is written next, and of the one before it."""
ORIGIN = "first second origin_first origin_second"
"""Both digits of the place, and of the one where what is carried into it arises."""
TIMES = "multiplicand multiplicand-1 multiplier multiplier+1"
"""Of a partial product: two digits of the first factor, the digit it is taken by, the next one."""
TOTALS = "last last-1 last_but_one last_but_one-1 mark mark-1"
"""Of sums of partial products: the two numbers before; which operator stands before the number."""

SUMS = Experiment(
    task="addition",
    format="reversed",
    model=ModelConfig(width=64, layers=1, heads=4, feedforward=256),
    sampling=Sampling(digits=(1, 4)),
    training=TrainingConfig(steps=2_000, batch=64, seeds=3, learning_rate=3e-3),
    evaluation=EvaluationConfig(lengths=(4, 12, 40, 200), samples=100, test=500),
)


class Kind(NamedTuple):
    """What is asked, and what compiled heads fetch for it."""

    about: str
    experiment: Experiment
    heads: str


KINDS = {
    "sums": Kind("a+b", SUMS, COLUMN),
    "forward": Kind("a+b, from the first digit", SUMS.with_(format="padded"), ORIGIN),
    "rows": Kind(
        "a*b, b of one digit", SUMS.with_(task="multiplication(second=1)", steps=3_000), TIMES
    ),
    "products": Kind(
        "a*b, b of two digits, worked out",
        SUMS.with_(
            task="multiplication(second=2)",
            format="revorder",
            model=ModelConfig(width=80, layers=1, heads=10, feedforward=320),
            steps=3_000,
            seeds=1,
        ),
        f"{TIMES} {TOTALS}",
    ),
}

ARMS = {
    "scratch": ("nothing told but indices", "rope"),
    "aligned": ("sight by significance", "aligned(reach=1)"),
    "frozen": ("compiled heads, frozen", "compiled(heads={heads!r})"),
    "trainable": ("compiled heads as a beginning", "compiled(heads={heads!r}, frozen=False)"),
}
"""What the same model is told, and by which positions."""

BESIDE = "compiled heads, frozen, and as many free ones"


def arms(name: str, kind: Kind) -> Iterator[Experiment]:
    """One experiment for each way of telling."""
    for arm, (_, positions) in ARMS.items():
        told = positions.format(heads=kind.heads)
        yield kind.experiment.with_(name=f"{name}-{arm}", positions=told)
    if name == "sums":
        frozen = ARMS["frozen"][1].format(heads=kind.heads)
        model = kind.experiment.model
        yield kind.experiment.with_(
            name=f"{name}-beside",
            positions=frozen,
            heads=2 * model.heads,
            head_width=model.features_per_head,
        )


def of_all(kinds: dict[str, Kind], **changes: object) -> tuple[Experiment, ...]:
    """All arms of several kinds, with other choices."""
    return tuple(
        arm.with_(**changes) if changes else arm
        for name, kind in kinds.items()
        for arm in arms(name, kind)
    )


def claims() -> Iterator[Claim]:
    """Nobody published these: what is ours is told."""
    for name, kind in KINDS.items():
        for experiment in arms(name, kind):
            arm = experiment.name.removeprefix(f"{name}-")
            what = f"{kind.about}: {ARMS[arm][0] if arm in ARMS else BESIDE}"
            for length in experiment.evaluation.lengths:
                yield Claim(what, "—", f"{experiment.name}:exact@{length}")
            yield Claim(what, "—", f"{experiment.name}:reached@0.99")
            yield Claim(what, "—", f"{experiment.name}:steps@0.99")


RECIPE = Recipe(
    name="compiled_attention",
    about="heads that fetch by rule, in models whose rest is trained",
    source="ours: the look-ups that curta's compiler makes attention of",
    presets={
        "smoke": tuple(
            smoke(
                one, digits=(1, 3), width=40, heads=one.model.heads, head_width=None,
                evaluation=EvaluationConfig(lengths=(2, 4), samples=20, test=50),
            )
            for one in of_all(KINDS)
            if one.name in ("sums-frozen", "products-trainable")
        ),
        "small": of_all(KINDS),
        "full": of_all(
            KINDS, width=160, feedforward=1024, steps=30_000, batch=256, learning_rate=1e-3, seeds=8
        ),
    },
    claims=tuple(claims()),
)  # fmt: skip
