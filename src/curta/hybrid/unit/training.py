"""Training a router on kept features, by gradient descent.

    loss = cross entropy of the operation, and where there is one, of which number is the first
           operand and which the second; of a division, which one says how many decimals, or none

The learning rate rises and falls once; texts of like length make a batch. The threshold is the
least with which false routes of validation wordings, which no training text has, are as few as
asked for.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.optim.lr_scheduler import OneCycleLR

from curta.hybrid.unit.arithmetic import Operation
from curta.hybrid.unit.config import RouterTraining
from curta.hybrid.unit.features import Features, Label
from curta.hybrid.unit.router import OPERATIONS, Decision, Reading, Role, Router

BATCH = 64
ASKING = range(1, len(OPERATIONS))
DIVIDING = (OPERATIONS.index(Operation.DIVISION),)


def loss(scores: tuple[Tensor, Tensor], labels: Sequence[Label]) -> Tensor:
    """See above."""
    operations, parts = scores
    total = cross_entropy(operations, torch.tensor([each.operation for each in labels]))
    none = parts.shape[1]
    parts = torch.cat([parts, parts.new_zeros(len(parts), 1, len(Role) - 1)], dim=1)
    for part, among in (Role.FIRST, ASKING), (Role.SECOND, ASKING), (Role.PLACES, DIVIDING):
        rows = [row for row, each in enumerate(labels) if each.operation in among]
        if rows:
            own = (labels[row].parts for row in rows)
            where = [each.index(part) if part in each else none for each in own]
            total = total + cross_entropy(parts[rows, :, part], torch.tensor(where))
    return total


def batches(readings: Sequence[Reading], drawn: random.Random) -> list[list[int]]:
    """Rows of like length together, in random order."""
    lengths = [len(each.stream) + 6 * drawn.random() for each in readings]
    order = sorted(range(len(readings)), key=lambda at: lengths[at])
    found = [order[begin : begin + BATCH] for begin in range(0, len(order), BATCH)]
    drawn.shuffle(found)
    return found


def trained(readings: Sequence[Reading], labels: Sequence[Label], config: RouterTraining) -> Router:
    """One router."""
    stream = torch.cat([each.stream for each in readings]).float()
    mean, scale = stream.mean(0), 1 / (stream.std(0) + 1e-3)
    readings = [replace(each, stream=(each.stream.float() - mean) * scale) for each in readings]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        router = Router(len(mean), config.inner, dropout=config.dropout)
        optimiser = torch.optim.AdamW(router.parameters(), config.rate, weight_decay=config.decay)
        steps = config.epochs * math.ceil(len(readings) / BATCH)
        schedule = OneCycleLR(optimiser, config.rate, steps + 1, pct_start=0.15)
        drawn = random.Random(config.seed)
        for rows in chain.from_iterable(batches(readings, drawn) for _ in range(config.epochs)):
            optimiser.zero_grad()
            scores = router([readings[at] for at in rows], config.hidden)
            torch.autograd.backward(loss(scores, [labels[at] for at in rows]))
            nn.utils.clip_grad_norm_(router.parameters(), 1.0)
            optimiser.step()
            schedule.step()
    router.mean.copy_(mean)
    router.scale.copy_(scale)
    return router.eval()


def threshold(decisions: Sequence[Decision], labels: Sequence[Label], share: float) -> float:
    """The least with which no more than this share of the texts without an operation fires."""
    both = zip(decisions, labels, strict=True)
    fired = [each.certainty for each, label in both if not label.operation and each.operation]
    others = sorted(fired, reverse=True)
    allowed = int(share * sum(label.operation == 0 for label in labels))
    return max(0.0, math.nextafter(others[allowed], 2.0)) if len(others) > allowed else 0.0


def train(
    training: tuple[Features, Sequence[Label]],
    validation: tuple[Features, Sequence[Label]],
    config: RouterTraining,
) -> tuple[Router, float, float, float]:
    """A router, its threshold, and how it did on validation (see `judged`); texts without two
    numbers never fire, and are left out.
    """
    (ours, labels), (others, wanted) = (
        zip(*((reading, label) for reading, label in zip(kept.readings(), known, strict=True)
              if len(reading.numbers) > 1), strict=True)
        for kept, known in (training, validation)
    )  # fmt: skip
    router = trained(ours, labels, config)
    limit = threshold(router.decide(others, -math.inf), wanted, config.false_routes)
    return router, limit, *judged(router.decide(others, limit), wanted)


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
