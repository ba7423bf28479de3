"""Training a router: descent on what its rows should say of texts that were read once.

    L    = (X'X + penalty)^-1 X'Y     X: what it is given, of mean 0 and deviation 1, Y: answers
    loss = -log p(operation, or that there is none)
           - log p(operands) - log p(which number is one of decimals, of a quotient) / 2

The operands of a sum or a product may come in either order. The threshold is the least with which
as few of validation's wordings fire falsely as asked for; no text of training has these.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import nll_loss, one_hot
from torch.nn.utils import clip_grad_norm_

from curta.hybrid.unit.arithmetic import Operation
from curta.hybrid.unit.config import RouterTraining
from curta.hybrid.unit.features import Features, Part, labels, together
from curta.hybrid.unit.router import FAR, OPERATIONS, Decision, Router, Scores, Shape, ends

EITHER_WAY = (Operation.ADDITION, Operation.MULTIPLICATION)
WARM = 20
"""Steps until the rate is reached."""

SURE = 8
"""What is solved for is 1 for what is asked, 0 for the rest; as logits these are so far apart."""


@dataclass(frozen=True)
class Trained:
    """A router, how it is to be used, and how it did on validation.

    right: share of validation texts with an operation that are routed rightly in all
    false: share of those with nothing to compute that fire
    """

    router: Router
    threshold: float
    right: float
    false: float


def train(
    base: Any, training: Part, validation: Part, config: RouterTraining, *,
    on_progress: Callable[[str, float, float], None] = lambda what, done, total: None,
) -> Trained:  # fmt: skip
    """Descend, then choose a threshold."""
    with torch.random.fork_rng():
        torch.manual_seed(config.training_seed)
        router = fitted(base, training, config, on_progress=on_progress)
    features, asked = validation
    decisions, wanted = decided(router, base, features), labels(validation)
    others, beyond = (
        [each for each, one in zip(decisions, asked, strict=True) if one.wording.kind == kind]
        for kind in ("others", "beyond")
    )
    limit = max(threshold(others, config.false_routes), threshold(beyond, config.false_beyond))
    computing = [both for both in zip(decisions, wanted, strict=True) if both[1].operation]
    right = sum(each.certainty >= limit and agrees(each, label) for each, label in computing)
    false = sum(each.certainty >= limit and each.operation is not None for each in others)
    return Trained(router, limit, right / max(1, len(computing)), false / max(1, len(others)))


def fitted(
    base: Any, training: Part, config: RouterTraining, *,
    on_progress: Callable[[str, float, float], None],
) -> Router:  # fmt: skip
    """Gradient descent (AdamW, a rate that falls as a cosine does)."""
    features, wanted = training[0], labels(training)
    decoder, device = base.get_decoder(), base.device
    drawn = random.Random(config.training_seed)
    router = Router(Shape.of(base.config.get_text_config())).to(device)
    router.measure(features.begin.to(device), torch.cat(list(features.numbers)).to(device))
    batches = [each for _ in range(config.epochs) for each in shuffled(features, config, drawn)]
    learning = [each for each in router.parameters() if each.requires_grad]
    optimiser = torch.optim.AdamW(learning, config.rate, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser,
        lambda step: min(1, (step + 1) / WARM) * (1 + math.cos(math.pi * step / len(batches))) / 2,
    )
    for step, texts in enumerate(batches):
        scores = router(decoder, features.readings(texts, base))
        optimiser.zero_grad()
        torch.autograd.backward(loss(scores, [wanted[at] for at in texts]))
        clip_grad_norm_(router.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        on_progress("steps", step + 1, len(batches))
    return solved(router, features, wanted, config.penalty).eval()


@torch.no_grad()
def solved(
    router: Router, features: Features, labels: Sequence[Decision], penalty: float
) -> Router:
    """With L, which is added to what rows were taught without it: they err in different places."""
    texts = [at for at, numbers in enumerate(features.numbers) if len(numbers) > 1]
    read = ends(features.text[texts], [features.numbers[at] for at in texts]).double()
    mean, scale = read.mean(0), 1 / (read.std(0) + 1e-3)
    given = torch.cat([(read - mean) * scale, torch.ones(len(read), 1)], dim=1)
    asked = torch.tensor([OPERATIONS.index(labels[at].operation) for at in texts])
    wanted = one_hot(asked, len(OPERATIONS)).double()
    system = given.T @ given
    system.diagonal().add_(penalty)
    weights = SURE * torch.linalg.solve(system, given.T @ wanted).T
    slopes = weights[:, :-1] * scale
    router.linear.weight.copy_(slopes)
    router.linear.bias.copy_(weights[:, -1] - slopes @ mean)
    return router


def shuffled(
    features: Features, config: RouterTraining, drawn: random.Random
) -> list[Sequence[int]]:
    """All texts once, in random batches of texts that are about as long."""
    order = drawn.sample(range(len(features.memory)), len(features.memory))
    batches: list[Sequence[int]] = []
    for begin in range(0, len(order), 8 * config.batch):
        near = order[begin : begin + 8 * config.batch]
        batches += together(near, config.batch, features.length)
    drawn.shuffle(batches)
    return batches


def loss(scores: Scores, labels: Sequence[Decision]) -> Tensor:
    """See above."""
    operations = [OPERATIONS.index(each.operation) for each in labels]
    found = nll_loss(scores.operations, torch.tensor(operations, device=scores.places.device))
    operands, places = [], []
    for row, each in enumerate(labels):
        if each.operands is not None:
            first, second = each.operands
            of_first, of_second = scores.operands[row]
            straight = of_first[first] + of_second[second]
            turned = of_first[second] + of_second[first]
            is_either = each.operation in EITHER_WAY
            operands.append(torch.logaddexp(straight, turned) if is_either else straight)
            if each.operation is Operation.DIVISION:
                places.append(scores.places[row, 0 if each.places is None else 1 + each.places])
    if operands:
        found = found - torch.stack(operands).mean()
    if places:
        found = found - torch.stack(places).mean() / 2
    return found


def decided(router: Router, base: Any, features: Features) -> list[Decision]:
    """About texts that were read, however unsure it is."""
    found: dict[int, Decision] = {}
    for texts in together(range(len(features.memory)), 32, features.length):
        readings = features.readings(texts, base)
        decisions = router.decide(base.get_decoder(), readings, -math.inf)
        found |= zip(texts, decisions, strict=True)
    return [decision for _, decision in sorted(found.items())]


def threshold(decisions: Sequence[Decision], share: float) -> float:
    """The least with which no more than this share of texts fires, none of which should."""
    fired = [each.certainty for each in decisions if each.operation]
    others = sorted(fired, reverse=True)
    allowed = int(share * len(decisions))
    return math.nextafter(others[allowed], math.inf) if len(others) > allowed else -FAR


def agrees(decision: Decision, label: Decision) -> bool:
    """Whether operation, operands and decimals are those; the order counts where it matters."""
    if decision.operation is not label.operation or label.operands is None:
        return False
    either_way = decision.operation in EITHER_WAY
    operands = (label.operands, label.operands[::-1]) if either_way else (label.operands,)
    return decision.operands in operands and decision.places == label.places
