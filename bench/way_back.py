"""The way back: a compiled model's weights, disturbed, then trained on examples of what it does.

A compiled transformer is one point among weights of its shape. Would gradient descent find it, and
how near does it have to begin? Here its weights are those of the PyTorch module that `curta build
--emit hf` writes, at a finite temperature, so that they have gradients:

    scores     query . key, scaled so that one step of score (exp(-1024) as it is compiled) is
               exp(-sharpness)
    logits     scaled so that one step between two digits is as much

At a sharpness of 8 it says what the exact program says, with softmax errors of exp(-8) that no
rounding takes away. Gaussian noise is added to the weights, and they are trained, all of them, also
those that are zero in the compiled model. What comes of it is measured by what it says, and by how
far from the compiled weights it lies.

Programs with means are refused: 1.5 * 2^52, which rounds their sums, leaves no room for noise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from curta.compiler.model import Model
from curta.compiler.resolve import resolve
from curta.compiler.weights import HARDNESS_BITS
from curta.engine.evaluate import GraphSession
from curta.errors import GraphError
from curta.export.folders import PARTS, WHOLE, configuration, renamed
from curta.export.huggingface.configuration_curta import CurtaConfig
from curta.export.huggingface.modeling_curta import CurtaForCausalLM

STEP = 2.0**HARDNESS_BITS
"""What one step of score is worth as it is compiled."""
ROUNDING = 2.0**50
"""Weights as large as this round means."""
GROUPS = (
    "embedding", "position", "query", "key", "value", "output", "gate", "expand", "contract",
    "unembedding",
)  # fmt: skip
UNKNOWN = -100
"""The target of a token that is not said by the model."""


@dataclass(frozen=True, kw_only=True)
class WayBack:
    """How weights are disturbed and trained.

    size:          of the noise, relative to the root mean square of a matrix's weights that are not
                   zero
    everywhere:    noise on all weights; if not, on those that are not zero
    steps:         updates, none to look at the disturbed weights only
    batch:         sequences of each
    learning_rate: of Adam, falling to 0 as a cosine does; relative to the same root mean square
    sharpness:     one step of score
    seed:          of noise and batches
    """

    size: float = 0.1
    everywhere: bool = False
    steps: int = 1000
    batch: int = 64
    learning_rate: float = 1e-5
    sharpness: float = 8.0
    seed: int = 0


class Sequences(NamedTuple):
    """Prompts with what the exact program says behind them, filled up."""

    tokens: Tensor
    """[sequence, position]"""
    targets: Tensor
    """What follows each token, if the program says it."""


class Outcome(NamedTuple):
    """What came of one disturbance: before training and behind it."""

    right: tuple[float, float]
    """The share of sequences like those trained on that are said right to the last token."""
    longer: tuple[float, float]
    """Of longer ones."""
    distance: tuple[dict[str, float], dict[str, float]]
    """|W - C| / |C| of the weights W against the compiled C, by group, and of `all`."""
    back: float
    """The step of training along the way back: 1 is there, 0 is none of it, or across."""
    losses: tuple[float, ...]
    """In training, the mean of each tenth."""


class DenseWeights:
    """A compiled model as a PyTorch module whose `matrices`, by their compiled names, are trained.

    What the module has in place of matrices without weights stays zero.
    """

    def __init__(self, model: Model, sharpness: float) -> None:
        compiled = {n: torch.tensor(w) for n, w in model.weights.items() if n.endswith(".weight")}
        if any((abs(value) >= ROUNDING).any() for value in compiled.values()):
            raise GraphError(
                "this program computes means, which are rounded by weights of 1.5 * 2^52: noise "
                "that is relative to those leaves nothing; choose one without means"
            )
        tensors, sizes = renamed(model)
        config = CurtaConfig(**configuration(model, sizes) | {"promises": []})
        self.module = CurtaForCausalLM(config).double().requires_grad_(False)
        self.module.load_state_dict({name: torch.tensor(each) for name, each in tensors.items()})
        names = WHOLE | {
            f"layers.{n}.{part}.weight": f"model.layers.{n}.{name}.weight"
            for n in range(len(model.plan["layers"]))
            for part, name in PARTS.items()
        }
        self.matrices = {
            name: self.module.get_parameter(names[name])
            for name, value in compiled.items()
            if value.numel()
        }
        scales = {"query": sharpness / STEP, "unembedding": sharpness}
        for name, value in self.matrices.items():
            value.mul_(scales.get(group_of(name), 1.0)).requires_grad_()

    def __call__(self, tokens: Tensor) -> Tensor:
        """The logits of what follows each of tokens [sequence, position]; the best one is 0."""
        logits: Tensor = self.module(tokens, use_cache=False).logits
        return logits


def group_of(name: str) -> str:
    """Which of GROUPS a matrix belongs to."""
    return name.removesuffix(".weight").rpartition(".")[2]


def spoken(model: Model, prompts: Sequence[Sequence[str]], most: int = 200) -> Sequences:
    """What the exact program says to each prompt, up to a stop token."""
    graph = resolve(model.graph)
    rows, targets = list[list[int]](), list[list[int]]()
    for prompt in prompts:
        session, row = GraphSession(graph), [graph.tokens[token] for token in prompt]
        for token in row:
            following = session.feed(token)
        begun = len(row)
        while following not in graph.stops and len(row) < most:
            row.append(following)
            following = session.feed(following)
        row.append(following)
        rows.append(row)
        targets.append([UNKNOWN] * (begun - 1) + row[begun:])
    longest = max(map(len, rows)) - 1
    return Sequences(
        torch.tensor([(row[:-1] + [0] * longest)[:longest] for row in rows]),
        torch.tensor([(target + [UNKNOWN] * longest)[:longest] for target in targets]),
    )


def way_back(
    model: Model, trained: Sequences, tested: Sequences, longer: Sequences, how: WayBack
) -> Outcome:
    """Disturb a compiled model, train it on sequences, and say where it settles."""
    generator = torch.Generator().manual_seed(how.seed)
    compiled, weights = (DenseWeights(model, how.sharpness) for _ in range(2))
    goal = {name: value.detach() for name, value in compiled.matrices.items()}
    disturb(weights, how, generator)
    start = {name: value.detach().clone() for name, value in weights.matrices.items()}
    before = measured(weights, goal, tested, longer)
    losses = train(weights, trained, how, generator)
    after = measured(weights, goal, tested, longer)
    moved = {name: value.detach() - start[name] for name, value in weights.matrices.items()}
    wanted = {name: goal[name] - start[name] for name in goal}
    return Outcome(
        right=(before[0], after[0]),
        longer=(before[1], after[1]),
        distance=(before[2], after[2]),
        back=along(moved, wanted, goal),
        losses=losses,
    )


@torch.no_grad()
def disturb(weights: DenseWeights, how: WayBack, generator: torch.Generator) -> None:
    """Add noise to every matrix, in proportion to its own weights."""
    for value in weights.matrices.values():
        noise = torch.randn(value.shape, generator=generator, dtype=value.dtype)
        value.add_(how.size * scale_of(value) * noise * (1 if how.everywhere else value != 0))


def scale_of(value: Tensor) -> float:
    """The root mean square of weights that are not zero; 1 where all of them are."""
    there = value.detach()[value.detach() != 0]
    return float(there.square().mean().sqrt()) if len(there) else 1.0


def train(
    weights: DenseWeights, sequences: Sequences, how: WayBack, generator: torch.Generator
) -> tuple[float, ...]:
    """Adam on the tokens that the program says, each behind the right ones before it."""
    matrices = list(weights.matrices.values())
    groups = [{"params": [one], "lr": how.learning_rate * scale_of(one)} for one in matrices]
    optimiser = torch.optim.Adam(groups)
    cooled = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, max(how.steps, 1))
    losses = []
    for _ in range(how.steps):
        rows = torch.randint(len(sequences.tokens), (how.batch,), generator=generator)
        logits = weights(sequences.tokens[rows]).flatten(0, 1)
        loss = cross_entropy(logits, sequences.targets[rows].flatten(), ignore_index=UNKNOWN)
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(matrices, 1.0)
        optimiser.step()
        cooled.step()
        losses.append(float(loss.detach()))
    tenth = max(len(losses) // 10, 1)
    tenths = (losses[first : first + tenth] for first in range(0, len(losses), tenth))
    return tuple(sum(part) / len(part) for part in tenths)


@torch.no_grad()
def right_of(weights: DenseWeights, sequences: Sequences) -> float:
    """The share of sequences of which each token is the likeliest behind the right ones."""
    said = weights(sequences.tokens).argmax(-1)
    right = (said == sequences.targets) | (sequences.targets == UNKNOWN)
    return float(right.all(-1).double().mean())


def measured(
    weights: DenseWeights, goal: Mapping[str, Tensor], tested: Sequences, longer: Sequences
) -> tuple[float, float, dict[str, float]]:
    """What it says rightly of both, and its distance from the compiled weights by group."""
    far = dict.fromkeys((*GROUPS, "all"), 0.0)
    size = dict(far)
    for name, value in weights.matrices.items():
        # Each matrix by its own scale: else those with large numbers would be all that counts.
        unit = scale_of(goal[name])
        for group in (group_of(name), "all"):
            far[group] += float(((value.detach() - goal[name]) / unit).square().sum())
            size[group] += float((goal[name] / unit).square().sum())
    distance = {name: (far[name] / size[name]) ** 0.5 for name in far if size[name]}
    return right_of(weights, tested), right_of(weights, longer), distance


def along(
    moved: Mapping[str, Tensor], wanted: Mapping[str, Tensor], goal: Mapping[str, Tensor]
) -> float:
    """(moved . wanted) / |wanted|^2, every matrix by its own scale."""
    product = sum(float((moved[n] * wanted[n]).sum()) / scale_of(goal[n]) ** 2 for n in moved)
    length = sum(float(wanted[n].square().sum()) / scale_of(goal[n]) ** 2 for n in moved)
    return product / length if length else 0.0
