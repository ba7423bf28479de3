"""Catculator: a small calculator, one component at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from curta.learn.config import EvaluationConfig, Experiment, ModelConfig, Sampling, TrainingConfig
from curta.learn.recipes.base import Claim, Recipe, smoke

ROPE = "rope(base=100.0)"
FIXES = {
    "operands-50-coupled": ("reversed_both", "coupled(offset=8)"),
    "operands-50-aligned": ("reversed_both", "aligned(reach=1)"),
    "operands-50-binary": ("reversed_both(base=2)", "aligned(reach=1)"),
}
"""Ways out of the failure beyond 49. In base 2, larger operands are longer, and no digit is new."""


@dataclass(frozen=True)
class Effort:
    """How long the stages train: the first four, the masked one, and those that follow.

    scale: widths and layers of the text's outlook
    """

    first: tuple[int, int]
    """Steps and rows in a batch."""
    masked: tuple[int, int]
    further: tuple[int, int]
    scale: tuple[tuple[int, int], ...] = ()


def stages(effort: Effort) -> Iterator[Experiment]:
    """All stages in the order of the text."""
    steps, batch = effort.first
    start = Experiment(
        name="sgd",
        task="addition",
        format="plain",
        positions="none",
        model=ModelConfig(dropout=0.1, tied=False),
        # 10,000 pairs, of which 72% are trained on.
        sampling=Sampling(values=(0, 99), test_share=0.28),
        training=TrainingConfig(
            steps=steps,
            batch=batch,
            seeds=3,
            optimiser="sgd",
            learning_rate=3e-3,
            schedule="constant",
            warmup=0,
            clip=0.0,
            loss="row",
        ),
        evaluation=EvaluationConfig(test=2_000),
    )
    adam = start.with_(name="adam", optimiser="adam")
    rope = adam.with_(name="rope", positions=ROPE)
    tied = rope.with_(name="tied", tied=True)
    masked = tied.with_(name="masked", loss="answer", schedule="cosine", clip=1.0, warmup=200)
    masked = masked.with_(steps=effort.masked[0], batch=effort.masked[1])
    further = masked.with_(steps=effort.further[0], batch=effort.further[1])
    small = Sampling(values=(0, 49), test_share=0.28)
    yield from (start, adam, rope, tied, masked)
    beyond = EvaluationConfig(test=2_000, values=(0, 99))
    half = further.with_(name="operands-50", sampling=small, evaluation=beyond)
    yield half
    for name, (written, positions) in FIXES.items():
        yield half.with_(name=name, format=written, positions=positions)
    larger = further.with_(name="operands-999", sampling=Sampling(values=(0, 999), test_share=0.28))
    yield larger
    yield further.with_(name="three-operations", task="mixed")
    for width, layers in effort.scale:
        model = ModelConfig(width=width, layers=layers, feedforward=4 * width, dropout=0.1)
        yield larger.with_(name=f"width-{width}-layers-{layers}", model=model)


SMOKE = Effort(first=(40, 32), masked=(40, 32), further=(40, 32))
SMALL = Effort(first=(1_000, 64), masked=(4_500, 256), further=(2_000, 64), scale=((32, 2),))
# 300 epochs of 28 batches.
FULL = Effort(
    first=(8_400, 256),
    masked=(8_400, 256),
    further=(8_400, 256),
    scale=((96, 4), (192, 4), (256, 6), (320, 8)),
)

RECIPE = Recipe(
    name="catculator",
    about="a transformer adds numbers up to 99: SGD, Adam, RoPE, tied embeddings, masked loss",
    source="Catculator (2026), a text with its code",
    presets={
        "smoke": tuple(smoke(stage) for stage in stages(SMOKE) if stage.name in ("adam", "masked")),
        "small": tuple(stages(SMALL)),
        "full": tuple(stages(FULL)),
    },
    claims=(
        Claim("SGD: loss of a token", "1.04", "sgd:loss.test"),
        Claim("Adam: loss of a token", "0.605", "adam:loss.test"),
        Claim("with RoPE: loss of a token", "0.609", "rope:loss.test"),
        Claim("tied embeddings: loss of a token", "0.603", "tied:loss.test"),
        Claim("masked: loss of an answer's token", "0.00001", "masked:loss.test"),
        Claim("masked: exact answers", "all shown", "masked:exact.test"),
        Claim("fewer operands: exact answers", "all shown", "operands-50:exact.test"),
        Claim("the same", "0 of 14 shown", "operands-50:exact.ood"),
        Claim("the same, coupled positions", "—", "operands-50-coupled:exact.ood"),
        Claim("the same, sight by significance", "—", "operands-50-aligned:exact.ood"),
        Claim("the same, in base 2", "—", "operands-50-binary:exact.ood"),
        Claim("more operands: exact answers", "— (announced)", "operands-999:exact.test"),
        Claim("three operations: exact answers", "— (announced)", "three-operations:exact.test"),
    ),
)
