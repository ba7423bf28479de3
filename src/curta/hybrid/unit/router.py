"""The router: a linear map that reads a frozen model's residual stream, and what it decides.

It is given the residual at the last token of a text, and of each number at its last token and at
the one behind it. It says what is to be done (one of four operations, or nothing), and what part
each number plays in it. Which of a text's numbers are the operands is so a matter of *where* they
stand; what they are is read from the tokens, never from the residual.

    operation = A [text, first number, last number]         of nothing, +, -, *, /: the largest
    part      = B [text, +-text, number, order]             of none, first, second, decimals
    it fires if 1 - operation[nothing] is at least the threshold and there are two numbers

The second copy of the text has its sign turned at the last number, so that a text can say that the
order is the other way round. A and B are solved for, not descended to (`training`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import permutations

import torch
from torch import Tensor, nn

from curta.hybrid.unit.arithmetic import Operation
from curta.hybrid.unit.numbers import Number, Span

OPERATIONS: tuple[Operation | None, ...] = (None, *Operation)

MOST_NUMBERS = 12
"""Of a text; the last ones of a longer list are looked at."""

ORDER = 4
"""Features of where a number stands among the others."""


class Role(IntEnum):
    """What a number can be: nothing, one of the operands, or how many decimals to say."""

    NONE = 0
    FIRST = 1
    SECOND = 2
    PLACES = 3


@dataclass(frozen=True)
class Layers:
    """Behind which blocks of the language model the residual stream is read.

    text:    at the last token
    numbers: at the last token of each number, and at the one behind it
    """

    text: int
    numbers: int


@dataclass(frozen=True)
class Readings:
    """What a router is given of some texts; what belongs to numbers is text by text.

    text:    [texts, width]
    numbers: [numbers, 2 * width]: at its last token, and behind it
    counts:  how many numbers each text has
    """

    text: Tensor
    numbers: Tensor
    counts: Sequence[int]


@dataclass(frozen=True)
class Decision:
    """What a router says about one text.

    operation: nothing, if it does not fire
    operands:  which of the numbers are the first and the second
    places:    which of them is a number of decimals, if one is
    certainty: how sure it is that there is something to compute; about 0 to 1
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


class Router(nn.Module):
    """See above. What is read is brought to mean 0 and deviation 1 by what training texts had.

    width: of the residual stream
    """

    text_mean: Tensor
    text_scale: Tensor
    number_mean: Tensor
    number_scale: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width
        for name, size in (("text", width), ("number", 2 * width)):
            self.register_buffer(f"{name}_mean", torch.zeros(size))
            self.register_buffer(f"{name}_scale", torch.ones(size))
        self.operation = nn.Linear(5 * width, len(OPERATIONS))
        self.part = nn.Linear(4 * width + ORDER, 4)

    @property
    def weights(self) -> int:
        """How many are trained, or measured in training."""
        return sum(each.numel() for each in self.state_dict().values())

    def standardise(self, readings: Readings) -> None:
        """Measure mean and deviation."""
        for name, rows in (("text", readings.text), ("number", readings.numbers)):
            getattr(self, f"{name}_mean").copy_(rows.float().mean(0))
            getattr(self, f"{name}_scale").copy_(1 / (rows.float().std(0) + 1e-3))

    def inputs(self, readings: Readings) -> tuple[Tensor, Tensor]:
        """What A is given [texts, 5 * width], and B [numbers, 4 * width + ORDER]."""
        text = (readings.text.float() - self.text_mean) * self.text_scale
        numbers = (readings.numbers.float() - self.number_mean) * self.number_scale
        counts = torch.tensor(readings.counts, device=text.device)
        owner = torch.arange(len(counts), device=text.device).repeat_interleave(counts)
        order = torch.cat([standing(count) for count in readings.counts]).to(text.device)
        first, last = (
            numbers.new_zeros(len(text), numbers.shape[1]).index_add(0, owner, numbers * is_it)
            for is_it in (order[:, :1], order[:, 1:2])
        )
        turned = text[owner] * (order[:, :1] - order[:, 1:2])
        return (
            torch.cat([text, first, last], dim=1),
            torch.cat([text[owner], turned, numbers, order], dim=1),
        )

    def forward(self, readings: Readings) -> tuple[Tensor, Tensor]:
        """Scores of operations [texts, 5], and of parts [numbers, 4]."""
        of_text, of_numbers = self.inputs(readings)
        return self.operation(of_text), self.part(of_numbers)

    @torch.no_grad()
    def decide(self, readings: Readings, threshold: float) -> list[Decision]:
        """What is to be done about each text."""
        operations, parts = (scores.cpu() for scores in self(readings))
        own = parts.split(list(readings.counts))
        return [decision(*both, threshold) for both in zip(operations, own, strict=True)]


def beside(span: Span, last: int) -> tuple[int, int]:
    """Where a number is read: at its last token and at the one behind it, if there is one."""
    return span.end - 1, min(span.end, last)


def standing(count: int) -> Tensor:
    """Of each of so many numbers: is it the first, the last, one between; are there only two."""
    first, last = torch.zeros(count), torch.zeros(count)
    first[:1], last[-1:] = 1, 1
    between = 1 - torch.maximum(first, last)
    return torch.stack([first, last, between, torch.full((count,), float(count == 2))], dim=1)


def decision(operations: Tensor, parts: Tensor, threshold: float) -> Decision:
    """From scores: the best pair of operands, if it fires at all."""
    certainty = 1 - operations[0].item()
    if len(parts) < 2 or certainty < threshold:
        return Decision(None, certainty=certainty)
    operation = OPERATIONS[1 + int(operations[1:].argmax())]
    scores = parts - parts[:, Role.NONE, None]
    first, second = max(
        permutations(range(len(parts)), 2),
        key=lambda pair: float(scores[pair[0], Role.FIRST] + scores[pair[1], Role.SECOND]),
    )
    left = [at for at in range(len(parts)) if at not in (first, second)]
    places = max(left, key=lambda at: float(parts[at, Role.PLACES]), default=None)
    if operation is not Operation.DIVISION or (
        places is not None and parts[places].argmax() != Role.PLACES
    ):
        places = None
    return Decision(operation, (first, second), places, certainty)
