"""Training a router on kept features: a linear system, so there is nothing to descend, and no seed.

    W = (X'X + penalty)^-1 X'Y       X: what is read, and 1; Y: 1 for what is right, 0 for the rest

Every pair of layers and every penalty is solved; the one with the least squared error on validation
wordings, which no training text has, stays. The threshold is the least with which false routes of
validation are as few as asked for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from curta.hybrid.unit.arithmetic import Operation
from curta.hybrid.unit.config import RouterTraining
from curta.hybrid.unit.features import Features, Label
from curta.hybrid.unit.router import OPERATIONS, Decision, Layers, Readings, Role, Router


def systems(
    router: Router, readings: Readings, labels: Sequence[Label]
) -> list[tuple[Tensor, Tensor, nn.Linear]]:
    """What each map is given and should give; parts count where there is an operation."""
    of_text, of_numbers = router.inputs(readings)
    operations = torch.tensor([each.operation for each in labels])
    parts = torch.tensor([part for each in labels for part in each.parts])
    asking = (operations > 0).repeat_interleave(torch.tensor(readings.counts))
    return [
        (of_text, one_hot(operations, len(OPERATIONS)).float(), router.operation),
        (of_numbers[asking], one_hot(parts[asking], 4).float(), router.part),
    ]


@torch.no_grad()
def solved(given: Tensor, wanted: Tensor, penalty: float, into: nn.Linear) -> None:
    """The linear map with the least squared error and penalty."""
    with_one = torch.cat([given, torch.ones(len(given), 1)], dim=1).double()
    system = with_one.T @ with_one
    system.diagonal().add_(penalty)
    weights = torch.linalg.solve(system, with_one.T @ wanted.double()).float()
    into.weight.copy_(weights[:-1].T)
    into.bias.copy_(weights[-1])


def trained(readings: Readings, labels: Sequence[Label], penalty: float) -> Router:
    """One router."""
    router = Router(readings.text.shape[1])
    router.standardise(readings)
    for given, wanted, into in systems(router, readings, labels):
        solved(given, wanted, penalty, into)
    return router.eval()


@torch.no_grad()
def error(router: Router, readings: Readings, labels: Sequence[Label]) -> float:
    """The squared error of both maps, on average."""
    return sum(
        float(((into(given) - wanted) ** 2).sum(1).mean())
        for given, wanted, into in systems(router, readings, labels)
    )


def pairs(layers: Sequence[int]) -> list[Layers]:
    """What might be read: the text in the later half, numbers not behind it."""
    late = layers[len(layers) // 2 :]
    return [Layers(text, numbers) for text, numbers in product(late, layers) if numbers <= text]


def threshold(decisions: Sequence[Decision], labels: Sequence[Label], share: float) -> float:
    """The least with which no more than this share of the texts without an operation fires."""
    both = zip(decisions, labels, strict=True)
    fired = [each.certainty for each, label in both if not label.operation and each.operation]
    others = sorted(fired, reverse=True)
    allowed = int(share * sum(label.operation == 0 for label in labels))
    return max(0.0, math.nextafter(others[allowed], 2.0)) if len(others) > allowed else 0.0


@dataclass(frozen=True)
class Trained:
    """A router, how it is to be used, and how it did on validation.

    right: share of validation texts with an operation that are routed rightly in all
    false: share of the others that fire
    """

    router: Router
    layers: Layers
    threshold: float
    right: float
    false: float


def train(
    training: tuple[Features, Sequence[Label]],
    validation: tuple[Features, Sequence[Label]],
    config: RouterTraining,
) -> Trained:
    """Choose layers and penalty, then a threshold."""
    tried: list[tuple[float, Router, Layers]] = []
    for pair in pairs(training[0].layers):
        ours, others = ((kept.readings(pair), labels) for kept, labels in (training, validation))
        for penalty in config.penalties:
            router = trained(*ours, penalty)
            tried.append((error(router, *others), router, pair))
    _, router, layers = min(tried, key=lambda each: each[0])
    readings, labels = validation[0].readings(layers), validation[1]
    limit = threshold(router.decide(readings, -math.inf), labels, config.false_routes)
    right, false = judged(router.decide(readings, limit), labels)
    return Trained(router, layers, limit, right, false)


def judged(decisions: Sequence[Decision], labels: Sequence[Label]) -> tuple[float, float]:
    """The share of texts with an operation that are routed rightly, of the others that fire."""
    both = list(zip(decisions, labels, strict=True))
    right = [agrees(each, label) for each, label in both if label.operation]
    false = [each.operation is not None for each, label in both if not label.operation]
    return sum(right) / max(1, len(right)), sum(false) / max(1, len(false))


def agrees(decision: Decision, label: Label) -> bool:
    """Whether operation, operands and decimals are those; the order counts where it matters."""
    if decision.operation is not OPERATIONS[label.operation] or decision.operands is None:
        return False
    wanted = label.parts.index(Role.FIRST), label.parts.index(Role.SECOND)
    either_way = decision.operation in (Operation.ADDITION, Operation.MULTIPLICATION)
    places = label.parts.index(Role.PLACES) if Role.PLACES in label.parts else None
    same = decision.operands == wanted or (either_way and decision.operands == wanted[::-1])
    return same and decision.places == places
