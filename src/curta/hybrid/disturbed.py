"""The way back: a compiled model's weights, disturbed, then trained on examples of what it does.

A compiled transformer is one point among weights of its shape. Would gradient descent find it, and
how near does it have to begin? Here the matrices of a compiled model are parameters of a dense
transformer at a finite temperature, so that they have gradients:

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

from collections.abc import Sequence
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


class DenseWeights(nn.Module):
    """A compiled model as an ordinary transformer whose weights can be trained."""

    def __init__(self, model: Model, sharpness: float) -> None:
        super().__init__()
        given = {name: torch.tensor(value) for name, value in model.weights.items()}
        matrices = {name: value for name, value in given.items() if name.endswith(".weight")}
        if any((abs(value) >= ROUNDING).any() for value in matrices.values()):
            raise GraphError(
                "this program computes means, which are rounded by weights of 1.5 * 2^52: noise "
                "that is relative to those leaves nothing; choose one without means"
            )
        self.layers = len(model.plan["layers"])
        self.matrices = nn.ParameterDict()
        for name, value in matrices.items():
            scale = {"query": sharpness / STEP, "unembedding": sharpness}.get(group_of(name), 1.0)
            self.matrices[key_of(name)] = nn.Parameter(value.to(torch.float64) * scale)
        self.widths = [int(given[f"layers.{n}.attention.head_width"]) for n in range(self.layers)]
        self.features = {
            name: given[f"position.{name}"] for name in ("divisor", "modulus", "power", "offset")
        }

    def forward(self, tokens: Tensor) -> Tensor:
        """The logits of what follows each of tokens [sequence, position]."""
        x = self.matrices[key_of("embedding.weight")][tokens] + self.positions(tokens.shape[1])
        later = torch.ones(tokens.shape[1], tokens.shape[1], dtype=torch.bool).triu(1)
        for layer in range(self.layers):
            x = x + self.attended(x, layer, later)
            gate, expand, contract = (
                self.of_layer(layer, "feed_forward", name)
                for name in ("gate", "expand", "contract")
            )
            x = x + ((x @ gate.T).relu() * (x @ expand.T)) @ contract.T
        logits: Tensor = x @ self.matrices[key_of("unembedding.weight")].T
        return logits

    def positions(self, count: int) -> Tensor:
        """The positional embedding, as the engine's transformer has it."""
        divisor, modulus, power, offset = self.features.values()
        digits = torch.arange(count)[:, None] // divisor
        wrapped = torch.where(modulus > 0, digits % modulus.clamp(min=1), digits) - offset
        features: Tensor = (wrapped**power).to(torch.float64)
        embedded: Tensor = features @ self.matrices[key_of("position.weight")].T
        return embedded

    def attended(self, x: Tensor, layer: int, later: Tensor) -> Tensor:
        """What the heads of a layer add."""
        query, key, value, output = (
            self.of_layer(layer, "attention", name) for name in ("query", "key", "value", "output")
        )
        if not len(query):
            return torch.zeros_like(x)
        heads = (*x.shape[:2], -1, self.widths[layer])
        queries, keys, values = (
            (x @ matrix.T).view(heads).transpose(1, 2) for matrix in (query, key, value)
        )
        scores = (queries @ keys.transpose(2, 3)).masked_fill(later, -torch.inf)
        mixed = (scores.softmax(-1) @ values).transpose(1, 2).flatten(2)
        added: Tensor = mixed @ output.T
        return added

    def of_layer(self, layer: int, part: str, name: str) -> Tensor:
        matrix: Tensor = self.matrices[key_of(f"layers.{layer}.{part}.{name}.weight")]
        return matrix


def key_of(name: str) -> str:
    """The name of a matrix where dots cannot be."""
    return name.removesuffix(".weight").replace(".", "/")


def group_of(name: str) -> str:
    """Which of GROUPS a matrix belongs to."""
    return name.removesuffix(".weight").replace("/", ".").rpartition(".")[2]


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


def disturb(weights: DenseWeights, how: WayBack, generator: torch.Generator) -> None:
    """Add noise to every matrix, in proportion to its own weights."""
    with torch.no_grad():
        for value in weights.matrices.values():
            noise = torch.randn(value.shape, generator=generator, dtype=value.dtype)
            value += how.size * scale_of(value) * noise * (1 if how.everywhere else value != 0)


def scale_of(value: Tensor) -> float:
    """The root mean square of weights that are not zero; 1 where all of them are."""
    there = value.detach()[value.detach() != 0]
    return float(there.square().mean().sqrt()) if len(there) else 1.0


def train(
    weights: DenseWeights, sequences: Sequences, how: WayBack, generator: torch.Generator
) -> tuple[float, ...]:
    """Adam on the tokens that the program says, each behind the right ones before it."""
    matrices = [value for value in weights.matrices.values() if value.numel()]
    groups = [{"params": [one], "lr": how.learning_rate * scale_of(one)} for one in matrices]
    optimiser = torch.optim.Adam(groups)
    cooled = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, max(how.steps, 1))
    losses = []
    for _ in range(how.steps):
        rows = torch.randint(len(sequences.tokens), (how.batch,), generator=generator)
        loss = loss_of(weights, Sequences(sequences.tokens[rows], sequences.targets[rows]))
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(matrices, 1.0)
        optimiser.step()
        cooled.step()
        losses.append(float(loss.detach()))
    tenth = max(len(losses) // 10, 1)
    tenths = (losses[first : first + tenth] for first in range(0, len(losses), tenth))
    return tuple(sum(part) / len(part) for part in tenths)


def loss_of(weights: DenseWeights, sequences: Sequences) -> Tensor:
    logits = weights(sequences.tokens)
    return cross_entropy(logits.flatten(0, 1), sequences.targets.flatten(), ignore_index=UNKNOWN)


@torch.no_grad()
def right_of(weights: DenseWeights, sequences: Sequences) -> float:
    """The share of sequences of which each token is the likeliest behind the right ones."""
    said = weights(sequences.tokens).argmax(-1)
    right = (said == sequences.targets) | (sequences.targets == UNKNOWN)
    return float(right.all(-1).double().mean())


def measured(
    weights: DenseWeights, goal: dict[str, Tensor], tested: Sequences, longer: Sequences
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


def along(moved: dict[str, Tensor], wanted: dict[str, Tensor], goal: dict[str, Tensor]) -> float:
    """(moved . wanted) / |wanted|^2, every matrix by its own scale."""
    product = sum(float((moved[n] * wanted[n]).sum()) / scale_of(goal[n]) ** 2 for n in moved)
    length = sum(float(wanted[n].square().sum()) / scale_of(goal[n]) ** 2 for n in moved)
    return product / length if length else 0.0
