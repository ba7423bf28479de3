"""The router: a small transformer that reads a frozen model's residual stream, and what it decides.

It is given the stream behind one block at every position of a text, where a number is one position
(its last token), however many digits it has. A linear map makes the stream narrow; two blocks of
attention, which unlike the model's look both ways, tell each position what stands around it. At
the last position, and from the mean of all, it says what is to be done (one of four operations, or
nothing), and at each number what part that plays. Which of a text's numbers are the operands is so
a matter of *where* they stand; what they are is read from the tokens, never from the residual.

    x         = P [(stream - mean) * scale] + N [is a number]
    x         = x + attention(norm x), x + MLP(norm x)      twice; no position is in the future
    operation = A [norm x at the last position, its mean]   of nothing, +, -, *, /: the likeliest
    part      = B norm x, at each number                    how well it is first, second, decimals
    it fires if 1 - probability(nothing) is at least the threshold and there are two numbers
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import permutations

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, scaled_dot_product_attention
from torch.nn.utils.rnn import pad_sequence

from curta.hybrid.unit.arithmetic import Operation
from curta.hybrid.unit.numbers import Number, Span

OPERATIONS: tuple[Operation | None, ...] = (None, *Operation)

MOST_NUMBERS = 12
"""Of a text; the last ones of a longer list are looked at."""

MOST_POSITIONS = 256
"""Of a text; the last ones of a longer one are read."""

HEADS = 4

NEAR = 8
"""How far apart two positions can be told to be."""

LIMIT = 6.0
"""Deviations from the mean beyond which a feature is cut off."""


class Role(IntEnum):
    """What a number can be: one of the operands, how many decimals to say, or nothing."""

    FIRST = 0
    SECOND = 1
    PLACES = 2
    NONE = 3


@dataclass(frozen=True)
class Reading:
    """What a router is given of a text.

    stream:  [positions, width]
    numbers: which of the positions are numbers
    """

    stream: Tensor
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class Window:
    """What is read of a row of tokens.

    positions: the tokens; of a number its last one
    spans:     the numbers, by tokens of the row
    """

    positions: tuple[int, ...]
    spans: tuple[Span, ...]

    def reading(self, stream: Tensor) -> Reading:
        """Of the stream of the row."""
        numbers = tuple(self.positions.index(span.end - 1) for span in self.spans)
        return Reading(stream[list(self.positions)], numbers)


def window(length: int, spans: Sequence[Span], breaks: Sequence[int]) -> Window:
    """The message that the last number stands in, and what is behind it.

    breaks: tokens of the row that are no text, as those between messages
    """
    last = spans[-1].begin if spans else 0
    begin = max((at + 1 for at in breaks if at < last), default=0)
    inside = {at for span in spans for at in range(span.begin, span.end - 1)}
    positions = [at for at in range(begin, length) if at not in inside][-MOST_POSITIONS:]
    own = [span for span in spans if span.end - 1 in positions]
    return Window(tuple(positions), tuple(own[-MOST_NUMBERS:]))


@dataclass(frozen=True)
class Decision:
    """What a router says about one text.

    operation: nothing, if it does not fire
    operands:  which of the numbers are the first and the second
    places:    which of them is a number of decimals, if one is
    certainty: the probability that there is something to compute
    """

    operation: Operation | None
    operands: tuple[int, int] | None = None
    places: int | None = None
    certainty: float = 0.0


@dataclass(frozen=True)
class Route:
    """What is computed instead of the model's own answer.

    result:       in decimal
    microseconds: that it took
    """

    operation: Operation
    first: Number
    second: Number
    places: int | None
    result: str
    microseconds: float

    @property
    def expression(self) -> str:
        """As the calculator writes it."""
        quotient = f"{self.first} {self.operation.value} {self.second}"
        return quotient if self.places is None else f"round({quotient}, {self.places})"


class Block(nn.Module):
    """Attention among all positions, which knows how far apart near ones are, and an MLP."""

    def __init__(self, inner: int, dropout: float) -> None:
        super().__init__()
        self.before_attention, self.before_mlp = nn.LayerNorm(inner), nn.LayerNorm(inner)
        self.asked = nn.Linear(inner, 3 * inner, bias=False)
        self.told = nn.Linear(inner, inner, bias=False)
        self.up, self.down = nn.Linear(inner, 2 * inner), nn.Linear(2 * inner, inner)
        self.distance = nn.Parameter(torch.zeros(HEADS, 2 * NEAR + 1))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, counts: Tensor) -> Tensor:
        """x: [texts, positions, inner]; counts: which of the positions are of a text."""
        texts, positions, inner = x.shape
        split = self.asked(self.before_attention(x)).view(texts, positions, 3, HEADS, -1)
        at = torch.arange(positions, device=x.device)
        near = self.distance[:, (at - at[:, None]).clamp(-NEAR, NEAR) + NEAR]
        bias = near.masked_fill(~counts[:, None, None], -1e9)
        told = scaled_dot_product_attention(*split.permute(2, 0, 3, 1, 4), attn_mask=bias)
        x = x + self.dropout(self.told(told.transpose(1, 2).reshape(texts, positions, inner)))
        return x + self.dropout(self.down(gelu(self.up(self.before_mlp(x)))))


class Router(nn.Module):
    """See above.

    width:   of the residual stream
    inner:   of what is made of it
    dropout: of features in training
    """

    mean: Tensor
    scale: Tensor

    def __init__(self, width: int, inner: int = 32, *, dropout: float = 0.1) -> None:
        super().__init__()
        self.width, self.inner = width, inner
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("scale", torch.ones(width))
        self.narrow = nn.Linear(width, inner)
        self.is_number = nn.Parameter(torch.zeros(inner))
        self.blocks = nn.ModuleList(Block(inner, dropout) for _ in range(2))
        self.norm = nn.LayerNorm(inner)
        self.operation = nn.Linear(2 * inner, len(OPERATIONS))
        self.part = nn.Linear(inner, Role.NONE)
        self.dropout = nn.Dropout(dropout)

    @property
    def weights(self) -> int:
        """How many are trained, or measured in training."""
        return sum(each.numel() for each in self.state_dict().values())

    def forward(self, readings: Sequence[Reading], hidden: float = 0.0) -> tuple[Tensor, Tensor]:
        """Scores of operations [texts, 5], and of parts [texts, numbers, 3].

        hidden: share of positions that attention is not shown, in training
        """
        lengths = torch.tensor([len(each.stream) for each in readings], device=self.mean.device)
        stream = pad_sequence([each.stream.float() for each in readings], batch_first=True)
        counts = torch.arange(stream.shape[1], device=stream.device) < lengths[:, None]
        numbers = pad_sequence([torch.tensor(each.numbers) for each in readings], True, -1)
        there, numbers = (numbers >= 0).to(stream.device), numbers.clamp(min=0).to(stream.device)
        rows = torch.arange(len(readings), device=stream.device)[:, None]
        is_number = torch.zeros(counts.shape, device=stream.device)
        is_number[rows.expand_as(numbers)[there], numbers[there]] = 1
        x = ((stream - self.mean) * self.scale).clamp(-LIMIT, LIMIT)
        x = self.dropout(self.narrow(self.dropout(x))) + is_number[..., None] * self.is_number
        last = lengths - 1
        if hidden:
            shown = (torch.rand(counts.shape, device=stream.device) >= hidden) | (is_number > 0)
            shown[rows[:, 0], last] = True
            counts = counts & shown
        for block in self.blocks:
            x = block(x, counts)
        x = self.norm(x)
        parts = self.part(x[rows, numbers]).masked_fill(~there[..., None], -1e9)
        mean = (x * counts[..., None]).sum(1) / counts.sum(1, keepdim=True)
        return self.operation(torch.cat([x[rows[:, 0], last], mean], dim=1)), parts

    @torch.no_grad()
    def decide(self, readings: Sequence[Reading], threshold: float) -> list[Decision]:
        """What is to be done about each text."""
        operations, parts = (scores.cpu() for scores in self(readings))
        return [
            decision(operation.softmax(0), part[: len(each.numbers)], threshold)
            for operation, part, each in zip(operations, parts, readings, strict=True)
        ]


def decision(operations: Tensor, parts: Tensor, threshold: float) -> Decision:
    """From probabilities and scores: the best pair of operands, if it fires at all."""
    certainty = 1 - operations[0].item()
    if len(parts) < 2 or certainty < threshold:
        return Decision(None, certainty=certainty)
    operation = OPERATIONS[1 + int(operations[1:].argmax())]
    first, second = max(
        permutations(range(len(parts)), 2),
        key=lambda pair: float(parts[pair[0], Role.FIRST] + parts[pair[1], Role.SECOND]),
    )
    left = [at for at in range(len(parts)) if at not in (first, second)]
    places = max(left, key=lambda at: float(parts[at, Role.PLACES]), default=None)
    is_wanted = places is not None and bool(parts[places, Role.PLACES] > 0)
    if operation is not Operation.DIVISION or not is_wanted:
        places = None
    return Decision(operation, (first, second), places, certainty)
