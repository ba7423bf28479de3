"""The router: a small network that reads a frozen model's residual stream, and what it decides.

It is given the residual at the last token of a text, and at each number of the text. It says what
is to be done (one of four operations, or nothing), and what part each number plays in it. Which of
a text's numbers are the operands is so a matter of *where* they stand; what they are is read from
the tokens, never from the residual.

    operation   = softmax over {nothing, +, -, *, /} of the text
    part        = softmax over {none, first operand, second operand, decimals} of number and text
    it fires if 1 - p(nothing) is at least the threshold and there are two numbers
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from curta.hybrid.arithmetic import Operation
from curta.hybrid.numbers import Number

OPERATIONS: tuple[Operation | None, ...] = (None, *Operation)
NONE, FIRST, SECOND, PLACES = range(4)
"""The parts that a number can play."""

MOST_NUMBERS = 12
"""Of a text; the last ones of a longer list are looked at."""

ORDER = 4
"""Features of where a number stands among the others."""


@dataclass(frozen=True)
class Layers:
    """Behind which blocks of the language model the residual stream is read.

    text:    at the last token
    numbers: at the last token of each number
    """

    text: int
    numbers: int


@dataclass(frozen=True)
class Shape:
    """How large the router is.

    width:   of the residual stream
    text:    features of a text
    number:  features of a number
    hidden:  units between features and decisions
    """

    width: int
    text: int = 32
    number: int = 20
    hidden: int = 32


@dataclass(frozen=True)
class Reading:
    """What a router is given of one text.

    text:    [width]
    numbers: [numbers, width]
    """

    text: Tensor
    numbers: Tensor


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

    result: in decimal
    """

    operation: Operation
    first: Number
    second: Number
    places: int | None
    result: str

    @property
    def expression(self) -> str:
        """As the calculator writes it."""
        quotient = f"{self.first} {self.operation.value} {self.second}"
        return quotient if self.places is None else f"round({quotient}, {self.places})"


class Router(nn.Module):
    """See above. What is read is brought to mean 0 and deviation 1 by what training texts had."""

    text_mean: Tensor
    text_scale: Tensor
    number_mean: Tensor
    number_scale: Tensor

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        for name in ("text", "number"):
            self.register_buffer(f"{name}_mean", torch.zeros(shape.width))
            self.register_buffer(f"{name}_scale", torch.ones(shape.width))
        self.text = nn.Linear(shape.width, shape.text)
        self.number = nn.Linear(shape.width, shape.number)
        self.operation = nn.Sequential(
            nn.GELU(), nn.Linear(shape.text, shape.hidden), nn.GELU(),
            nn.Linear(shape.hidden, len(OPERATIONS)),
        )  # fmt: skip
        self.part = nn.Sequential(
            nn.GELU(), nn.Linear(shape.text + shape.number + ORDER, shape.hidden), nn.GELU(),
            nn.Linear(shape.hidden, 4),
        )  # fmt: skip

    @property
    def weights(self) -> int:
        """How many are trained, or measured in training."""
        return sum(each.numel() for each in self.state_dict().values())

    def standardise(self, readings: Sequence[Reading]) -> None:
        """Measure mean and deviation."""
        for name, rows in (
            ("text", torch.stack([each.text for each in readings])),
            ("number", torch.cat([each.numbers for each in readings])),
        ):
            getattr(self, f"{name}_mean").copy_(rows.float().mean(0))
            getattr(self, f"{name}_scale").copy_(1 / (rows.float().std(0) + 1e-3))

    def standard(self, text: Tensor, numbers: Tensor) -> tuple[Tensor, Tensor]:
        """What is read, with mean 0 and deviation 1."""
        return (
            (text - self.text_mean) * self.text_scale,
            (numbers - self.number_mean) * self.number_scale,
        )

    def forward(self, text: Tensor, numbers: Tensor, order: Tensor) -> tuple[Tensor, Tensor]:
        """Scores of operations [batch, 5] and of parts [batch, numbers, 4]."""
        read, each = self.text(text), self.number(numbers)
        beside = read.unsqueeze(1).expand(-1, each.shape[1], -1)
        return self.operation(read), self.part(torch.cat([beside, each, order], dim=-1))

    def scores(self, readings: Sequence[Reading]) -> tuple[Tensor, list[Tensor]]:
        """The same for texts with different numbers of numbers."""
        text, numbers, order = batch(readings)
        operations, parts = self(*self.standard(text, numbers), order)
        return operations, [
            row[: len(each.numbers)] for row, each in zip(parts, readings, strict=True)
        ]

    @torch.no_grad()
    def decide(self, readings: Sequence[Reading], threshold: float) -> list[Decision]:
        """What is to be done about each text."""
        operations, parts = self.scores(readings)
        return [
            decision(row.log_softmax(-1).cpu(), part.log_softmax(-1).cpu(), threshold)
            for row, part in zip(operations, parts, strict=True)
        ]


def batch(readings: Sequence[Reading]) -> tuple[Tensor, Tensor, Tensor]:
    """Readings in one tensor each; those with fewer numbers have zeros behind them."""
    most = max(len(each.numbers) for each in readings)
    rows = [pad(each.numbers.float(), (0, 0, 0, most - len(each.numbers))) for each in readings]
    places = [
        pad(order(len(each.numbers)), (0, 0, 0, most - len(each.numbers))) for each in readings
    ]
    text = torch.stack([each.text.float() for each in readings])
    return text, torch.stack(rows), torch.stack(places).to(text.device)


def order(count: int) -> Tensor:
    """Of each of so many numbers: is it the first, the last, one between; are there only two."""
    first, last = torch.zeros(count), torch.zeros(count)
    first[:1], last[-1:] = 1, 1
    between = 1 - torch.maximum(first, last)
    return torch.stack([first, last, between, torch.full((count,), float(count == 2))], dim=1)


def decision(operations: Tensor, parts: Tensor, threshold: float) -> Decision:
    """From log probabilities: the likeliest pair of operands, if it fires at all."""
    certainty = 1 - math.exp(operations[0].item())
    count = len(parts)
    if count < 2 or certainty < threshold:
        return Decision(None, certainty=certainty)
    operation = OPERATIONS[1 + int(operations[1:].argmax())]
    rest = parts[:, NONE]
    first, second = max(
        permutations(range(count), 2),
        key=lambda pair: float(
            parts[pair[0], FIRST] - rest[pair[0]] + parts[pair[1], SECOND] - rest[pair[1]]
        ),
    )
    left = [at for at in range(count) if at not in (first, second)]
    places = max(left, key=lambda at: float(parts[at, PLACES]), default=None)
    if operation is not Operation.DIVISION or places is None or parts[places].argmax() != PLACES:
        places = None
    return Decision(operation, (first, second), places, certainty)
