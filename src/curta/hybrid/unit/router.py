"""The router: rows of its own behind a text, in which a frozen model is asked what to compute.

A few vectors are appended to a text and go through blocks of the same language model, which stay as
they are. They attend to the keys and values that the model has kept of the text, and to the rows
before them; no token attends to them, and what they leave behind is thrown away, so the text's own
pass is what it was. Behind the last of these blocks, small maps read what the rows became.

    x      = begin                                      for each row, behind block `enter`
    x      = x + s v[block, row] + s B (A norm(x) + c)  before each block; A, B, c: every third
    x      = block(x, keys and values of the text and of the rows before)
    action = O [norm(x) of the last row, how many numbers there are]    of nothing, +, -, *, /
             + L [text, first number, last number]
    number = (U norm(x) of the first row) . (V [number, the token behind it, order])
             of a text's numbers: the first operand, the second, that of decimals (or none is)
    it fires if the logit of an operation, whichever, is at least the threshold

`begin` is the mean of what the model has at the last token of a text, s its root mean square. L
reads the text's own pass: behind block `leave` at the last token, and behind the first and the last
number. Which numbers are the operands is so a matter of *where* they stand; what they are is read
from the tokens, never from a vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot, rms_norm
from torch.nn.utils.rnn import pad_sequence
from transformers import DynamicCache

from curta.hybrid.unit.arithmetic import Operation
from curta.hybrid.unit.numbers import Span

OPERATIONS: tuple[Operation | None, ...] = (None, *Operation)

MOST_NUMBERS = 12
"""Of a text; the last ones of a longer list are looked at."""

ORDER = 4
"""Features of where a number stands among the others."""

COUNTS = 4
"""Two numbers, three, four, or more are told apart."""

APART = 3
"""Before every third block what is added to rows depends on what they are."""

FAR = 1e4
"""What a score of a number that is not there is below all others."""


@dataclass(frozen=True)
class Shape:
    """Of a router. Blocks are counted from 1, and what is read is read behind them.

    width:    of the residual stream
    enter:    the block behind which rows begin
    leave:    the block behind which rows are read
    numbers:  the block behind which numbers are read
    rows:     how many there are
    pointing: numbers in which a row and a number are compared
    """

    width: int
    enter: int
    leave: int
    numbers: int
    rows: int = 2
    pointing: int = 3

    @classmethod
    def of(cls, config: Any) -> Shape:
        """Of a router for a language model: neither its first blocks nor its last ones."""
        blocks = config.num_hidden_layers
        enter, leave, numbers = (max(1, round(blocks * part / 30)) for part in (8, 26, 19))
        return cls(config.hidden_size, enter, leave, numbers)


class Readings(NamedTuple):
    """What a router is given of some texts.

    memory:   keys and values [texts, heads, tokens, size] of each block that rows go through
    there:    which of these tokens are of the text [texts, tokens]
    position: of the first row [texts]
    text:     at the last token [texts, width]
    numbers:  of each text [numbers, 2 * width]: at the last token of each number, and behind it
    """

    memory: Sequence[tuple[Tensor, Tensor]]
    there: Tensor
    position: Tensor
    text: Tensor
    numbers: Sequence[Tensor]


class Scores(NamedTuple):
    """What a router makes of some texts, as logarithms.

    operations: [texts, 5]
    operands:   [texts, 2, most]: of each number to be the first, the second
    places:     [texts, 1 + most]: that no number is one of decimals, or which one is
    """

    operations: Tensor
    operands: Tensor
    places: Tensor


@dataclass(frozen=True)
class Decision:
    """What a router says about one text, or should say.

    operation: nothing, if it does not fire
    operands:  which of the numbers are the first and the second
    places:    which of them is a number of decimals, if one is
    certainty: how sure it is that there is something to compute, as a logit
    """

    operation: Operation | None
    operands: tuple[int, int] | None = None
    places: int | None = None
    certainty: float = -FAR


class Router(nn.Module):
    """See above; `added` is v, `read` A, `bias` c, `written` B, `operation` O and `linear` L."""

    begin: Tensor
    scale: Tensor
    number_mean: Tensor
    number_scale: Tensor

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        width, blocks = shape.width, shape.leave - shape.enter
        for name, size in (("begin", (width,)), ("number_mean", (2 * width,))):
            self.register_buffer(name, torch.zeros(size))
        for name in ("scale", "number_scale"):
            self.register_buffer(name, torch.ones(()))
        self.added = nn.Parameter(torch.zeros(blocks, shape.rows, width))
        nn.init.normal_(self.added[0], std=0.1)
        turned = len(range(0, blocks, APART))
        self.read = nn.Parameter(torch.randn(turned, width) / width**0.5)
        self.bias = nn.Parameter(torch.zeros(turned))
        self.written = nn.Parameter(torch.zeros(turned, width))
        self.operation = nn.Linear(width + COUNTS, len(OPERATIONS))
        self.linear = nn.Linear(3 * width, len(OPERATIONS)).requires_grad_(False)
        nn.init.zeros_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)
        self.asking = nn.Parameter(torch.randn(3, width, shape.pointing) / width**0.5)
        self.naming = nn.Linear(2 * width + ORDER, shape.pointing, bias=False)
        self.no_places = nn.Parameter(torch.zeros(()))

    @property
    def weights(self) -> int:
        """How many are trained, or measured in training."""
        return sum(each.numel() for each in self.state_dict().values())

    def measure(self, text: Tensor, numbers: Tensor) -> None:
        """Where rows begin, and what numbers look like, from those of training.

        text:    the stream at the last token, behind block `enter` [texts, width]
        numbers: as in readings, of all texts [numbers, 2 * width]
        """
        self.begin.copy_(text.float().mean(0))
        self.scale.copy_(self.begin.square().mean().sqrt())
        self.number_mean.copy_(numbers.float().mean(0))
        self.number_scale.copy_(1 / numbers.float().std(0).mean())

    def forward(self, decoder: Any, readings: Readings) -> Scores:
        """What rows say of each text.

        decoder: that of the language model, with `layers` and `rotary_emb`
        """
        device, width = readings.there.device, self.shape.width
        states = rms_norm(self.states(decoder, readings).float(), (width,))
        counts = torch.tensor([len(each) for each in readings.numbers], device=device)
        several = one_hot((counts - 2).clamp(0, COUNTS - 1), COUNTS).float()
        operations = self.operation(torch.cat([states[:, -1], several], dim=1))
        operations = operations + self.linear(ends(readings.text, readings.numbers).float())
        numbers = [
            (each.float() - self.number_mean) * self.number_scale for each in readings.numbers
        ]
        ordered = [torch.cat([each, standing(len(each)).to(each)], dim=1) for each in numbers]
        named = self.naming(pad_sequence(ordered, batch_first=True))
        asked = torch.einsum("td,adp->tap", states[:, 0], self.asking)
        scores = torch.einsum("tap,tnp->tan", asked, named)
        absent = torch.arange(named.shape[1], device=device) >= counts[:, None]
        scores = scores.masked_fill(absent[:, None], -FAR)
        places = torch.cat([self.no_places.expand(len(scores), 1), scores[:, 2]], dim=1)
        return Scores(
            operations.log_softmax(-1), scores[:, :2].log_softmax(-1), places.log_softmax(-1)
        )

    def states(self, decoder: Any, readings: Readings) -> Tensor:
        """What rows became [texts, rows, width]."""
        shape, there = self.shape, readings.there
        rows = torch.ones(len(there), shape.rows, dtype=torch.bool, device=there.device)
        seen = torch.cat([there, rows], dim=1)[:, None, None]
        seen = seen & torch.ones_like(seen[0, 0]).expand(shape.rows, -1).tril(there.shape[1])
        kind = readings.memory[0][0].dtype
        mask = torch.zeros(seen.shape, dtype=kind, device=there.device)
        mask = mask.masked_fill(~seen, torch.finfo(kind).min)
        positions = readings.position[:, None] + torch.arange(shape.rows, device=there.device)
        stream = self.begin.to(kind).expand(len(there), shape.rows, -1)
        angles, cache = decoder.rotary_emb(stream, positions), DynamicCache()
        for step, (keys, values) in enumerate(readings.memory):
            cache.update(keys, values, shape.enter + step)
            stream = decoder.layers[shape.enter + step](
                stream + self.change(step, stream), attention_mask=mask, position_ids=positions,
                cache=cache, position_embeddings=angles,
            )  # fmt: skip
        return stream

    def change(self, step: int, stream: Tensor) -> Tensor:
        """What is added to rows before a block."""
        change = self.added[step]
        if step % APART == 0:
            at = step // APART
            read = rms_norm(stream.float(), (self.shape.width,)) @ self.read[at] + self.bias[at]
            change = change + read[..., None] * self.written[at]
        return (self.scale * change).to(stream.dtype)

    @torch.no_grad()
    def decide(self, decoder: Any, readings: Readings, threshold: float) -> list[Decision]:
        """What is to be done about each text."""
        scores = zip(*(part.cpu() for part in self(decoder, readings)), strict=True)
        texts = zip(scores, readings.numbers, strict=True)
        return [decision(Scores(*each), len(numbers), threshold) for each, numbers in texts]


def of_numbers(stream: Tensor, spans: Sequence[Span], last: int) -> Tensor:
    """The stream [numbers, 2 * width] at each number's last token and at the one behind it, up to
    the text's last one.
    """
    at = [(span.end - 1, min(span.end, last)) for span in spans]
    return stream[torch.tensor(at, dtype=torch.long).reshape(-1, 2)].flatten(1)


def ends(text: Tensor, numbers: Sequence[Tensor]) -> Tensor:
    """What L is given [texts, 3 * width]: of each text, its first and its last number."""
    none = text.new_zeros(1, 2 * text.shape[1])
    both = [(each if len(each) else none)[[0, -1], text.shape[1] :] for each in numbers]
    return torch.cat([text, torch.stack(both).flatten(1)], dim=1)


def standing(count: int) -> Tensor:
    """Of each of so many numbers: is it the first, the last, one between; are there only two."""
    last = count - 1
    rows = [[at == 0, at == last, 0 < at < last, count == 2] for at in range(count)]
    return torch.tensor(rows).reshape(count, ORDER)


def decision(scores: Scores, count: int, threshold: float) -> Decision:
    """From the scores of one text: the best pair of operands, if it fires at all."""
    operations, operands, places = scores
    certainty = float(operations[1:].logsumexp(0) - operations[0])
    if count < 2 or certainty < threshold:
        return Decision(None, certainty=certainty)
    operation = OPERATIONS[1 + int(operations[1:].argmax())]
    first, second = max(
        permutations(range(count), 2),
        key=lambda pair: float(operands[0, pair[0]] + operands[1, pair[1]]),
    )
    decimals = None
    if operation is Operation.DIVISION:
        may = [*(at for at in range(count) if at not in (first, second)), None]
        decimals = max(may, key=lambda at: float(places[0 if at is None else 1 + at]))
    return Decision(operation, (first, second), decimals, certainty)
