"""Training a router on kept features: seconds, and the layers it reads are chosen by validation.

Every pair of layers trains a small router; the one with the least loss on validation wordings,
which no training text has, is trained longer, with several seeds, of which again the best stays.
The threshold is the least with which false routes of validation are as few as asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, dropout

from curta.hybrid.arithmetic import Operation
from curta.hybrid.config import RouterTraining
from curta.hybrid.features import Features, Label
from curta.hybrid.router import (
    FIRST,
    OPERATIONS,
    PLACES,
    SECOND,
    Decision,
    Layers,
    Reading,
    Router,
    Shape,
    batch,
)


@dataclass(frozen=True)
class Examples:
    """Texts as a router sees them, and what it should say."""

    readings: list[Reading]
    labels: Sequence[Label]

    def packed(self, router: Router) -> tuple[Tensor, ...]:
        """As tensors, standard for a router; parts of no number are -100."""
        text, numbers, order = batch(self.readings)
        text, numbers = router.standard(text, numbers)
        parts = torch.full(numbers.shape[:2], -100)
        for row, each in enumerate(self.labels):
            parts[row, : len(each.parts)] = torch.tensor(each.parts, dtype=torch.long)
        return text, numbers, order, torch.tensor([each.operation for each in self.labels]), parts


def loss(router: Router, packed: Sequence[Tensor], drop: float = 0.0) -> Tensor:
    """Of operations, and of parts where there is one."""
    text, numbers, order, operation, parts = packed
    text, numbers = dropout(text, drop), dropout(numbers, drop)
    scores, said = router(text, numbers, order)
    of_parts = parts.masked_fill((operation == 0)[:, None], -100)
    second = cross_entropy(said.flatten(0, 1), of_parts.flatten()) if (of_parts >= 0).any() else 0.0
    return cross_entropy(scores, operation) + second


def trained(
    examples: Examples, shape: Shape, config: RouterTraining, *, seed: int, epochs: int
) -> Router:
    """One router."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        router = Router(shape)
        router.standardise(examples.readings)
        packed = examples.packed(router)
        steps = epochs * math.ceil(len(examples.labels) / config.rows)
        optimiser = torch.optim.AdamW(router.parameters(), config.rate, weight_decay=config.decay)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
        for _ in range(epochs):
            for rows in torch.split(torch.randperm(len(examples.labels)), config.rows):
                optimiser.zero_grad()
                torch.autograd.backward(loss(router, [each[rows] for each in packed], config.drop))
                optimiser.step()
                schedule.step()
    return router.eval()


@torch.no_grad()
def validated(router: Router, examples: Examples) -> float:
    """The loss on texts that it was not trained on."""
    return loss(router, examples.packed(router)).item()


def pairs(layers: Sequence[int]) -> list[Layers]:
    """What might be read: numbers not behind later blocks than the text."""
    return [Layers(text, numbers) for text, numbers in product(layers, layers) if numbers <= text]


def threshold(decisions: Sequence[Decision], labels: Sequence[Label], share: float) -> float:
    """The least with which no more than this share of the texts without an operation fires."""
    others = sorted(
        (
            each.certainty
            for each, label in zip(decisions, labels, strict=True)
            if label.operation == 0 and each.operation is not None
        ),
        reverse=True,
    )
    allowed = int(share * sum(label.operation == 0 for label in labels))
    return max(0.5, math.nextafter(others[allowed], 2.0)) if len(others) > allowed else 0.5


@dataclass(frozen=True)
class Trained:
    """A router, how it is to be used, and how it did on validation.

    losses: of each pair of layers that was tried
    right:  share of validation texts with an operation that are routed rightly in all
    false:  share of the others that fire
    """

    router: Router
    layers: Layers
    threshold: float
    losses: dict[Layers, float]
    right: float
    false: float


def train(
    training: tuple[Features, Sequence[Label]], validation: tuple[Features, Sequence[Label]],
    config: RouterTraining, *, on_tried: Callable[[Layers, float], None] = lambda pair, loss: None,
) -> Trained:  # fmt: skip
    """Choose layers, train, choose a threshold."""
    shape = Shape(training[0].text.shape[-1])

    def examples(pair: Layers) -> tuple[Examples, Examples]:
        first, second = (
            Examples(kept.readings(pair), labels) for kept, labels in (training, validation)
        )
        return first, second

    losses: dict[Layers, float] = {}
    for pair in pairs(training[0].layers):
        ours, others = examples(pair)
        tried = trained(ours, shape, config, seed=0, epochs=config.epochs // 3)
        losses[pair] = validated(tried, others)
        on_tried(pair, losses[pair])
    best = min(losses, key=losses.__getitem__)
    ours, others = examples(best)
    routers = [
        trained(ours, shape, config, seed=seed, epochs=config.epochs)
        for seed in range(config.routers)
    ]
    router = min(routers, key=lambda each: validated(each, others))
    decisions = router.decide(others.readings, 0.0)
    limit = threshold(decisions, others.labels, config.false_routes)
    right, false = judged(router.decide(others.readings, limit), others.labels)
    return Trained(router, best, limit, losses, right, false)


def judged(decisions: Sequence[Decision], labels: Sequence[Label]) -> tuple[float, float]:
    """The share of texts with an operation that are routed rightly, of the others that fire."""
    right = [
        agrees(each, label)
        for each, label in zip(decisions, labels, strict=True)
        if label.operation
    ]
    false = [
        each.operation is not None
        for each, label in zip(decisions, labels, strict=True)
        if not label.operation
    ]
    return sum(right) / max(1, len(right)), sum(false) / max(1, len(false))


def agrees(decision: Decision, label: Label) -> bool:
    """Whether operation, operands and decimals are those; the order counts where it matters."""
    if decision.operation is not OPERATIONS[label.operation] or decision.operands is None:
        return False
    wanted = label.parts.index(FIRST), label.parts.index(SECOND)
    either_way = decision.operation in (Operation.ADDITION, Operation.MULTIPLICATION)
    places = label.parts.index(PLACES) if PLACES in label.parts else None
    same = decision.operands == wanted or (either_way and decision.operands == wanted[::-1])
    return same and decision.places == places
