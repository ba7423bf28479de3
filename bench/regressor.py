"""A typed unit that regresses its operands from the residual stream, as IGC does.

A network reads both numbers off the stream at one token, digit by digit, instead of off the tokens;
then the same programs compute. Routing is that of a trained router, so what differs is where the
digits come from.

    of each operand: its sign, 20 digits before the point from the right, 6 behind it from the left
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from curta.delegate.data import data_set
from curta.delegate.data.example import Example
from curta.delegate.evaluation.systems import Writes
from curta.delegate.interception.events import CallResult
from curta.delegate.interception.generator import Output
from curta.hybrid.unit.arithmetic import MOST_DIGITS
from curta.hybrid.unit.evaluation import unit_writer
from curta.hybrid.unit.features import Features
from curta.hybrid.unit.model import UnitModel, listening
from curta.hybrid.unit.numbers import Number, Span
from curta.hybrid.unit.questions import Question
from curta.hybrid.unit.router import Decision

BEHIND = 6
SLOTS = 1 + MOST_DIGITS + BEHIND
"""Of an operand: the sign and the digits."""

EPOCHS = 60


class Regressor(nn.Module):
    """Two layers, from the stream at the last token, behind the block where a router's rows are
    read, to the digits of both operands.
    """

    mean: Tensor
    scale: Tensor

    def __init__(self, width: int, hidden: int = 40) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("scale", torch.ones(width))
        self.network = nn.Sequential(
            nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, 2 * SLOTS * 10)
        )

    def forward(self, text: Tensor) -> Tensor:
        """Scores [batch, operands, slots, 10]."""
        scores: Tensor = self.network((text - self.mean) * self.scale)
        return scores.reshape(*scores.shape[:-1], 2, SLOTS, 10)

    @torch.no_grad()
    def numbers(self, text: Tensor) -> tuple[Number, Number]:
        """The likeliest operands of one text."""
        first, second = (number(row) for row in self(text[None].float())[0].argmax(-1).tolist())
        return first, second


def slots(number: Number) -> list[int]:
    """A number digit by digit, as the regressor is to say it."""
    before, behind = number.parts
    text = before.rjust(MOST_DIGITS, "0")[-MOST_DIGITS:] + behind.ljust(BEHIND, "0")[:BEHIND]
    return [int(number.negative), *map(int, text)]


def number(said: Sequence[int]) -> Number:
    """The number that was said."""
    digits = "".join(map(str, said[1:]))
    return Number(digits.lstrip("0") or "0", BEHIND, said[0] == 1)


def write_examples(asked: Sequence[Question], folder: Path) -> None:
    """Those with an answer, as `curta delegate train --no-calls` takes them."""
    folder.mkdir(parents=True, exist_ok=True)
    examples = [
        Example(one.text, one.value, one.value, one.wording.kind, one.wording.name)
        for one in asked
        if one.value is not None
    ]
    lines = [json.dumps(data_set.row(one)) for one in examples]
    (folder / "train.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def train(features: Features, questions: Sequence[Question]) -> Regressor:
    """One that reads the last token's stream, of the questions that have operands: gradient descent
    on the cross entropy of all digits.
    """
    at = [row for row, question in enumerate(questions) if question.operands]
    digits = [[slots(span.number) for span in questions[row].operands] for row in at]
    text, wanted = features.text[at].float(), torch.tensor(digits)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        regressor = Regressor(text.shape[1])
        regressor.mean.copy_(text.mean(0))
        regressor.scale.copy_(1 / (text.std(0) + 1e-3))
        optimiser = torch.optim.AdamW(regressor.parameters(), 3e-3, weight_decay=0.05)
        for _ in range(EPOCHS):
            for rows in torch.split(torch.randperm(len(text)), 128):
                optimiser.zero_grad()
                said = regressor(text[rows]).flatten(0, 2)
                torch.autograd.backward(cross_entropy(said, wanted[rows].flatten()))
                optimiser.step()
    return regressor.eval()


class RegressingUnit(UnitModel):
    """A unit whose operands are what a regressor says, of one text at a time."""

    regressor: Regressor
    stream: Tensor

    @classmethod
    def having(cls, regressor: Regressor, unit: str) -> RegressingUnit:
        """A kept unit, with this regressor."""
        model = super().from_pretrained(unit, device="cpu")
        assert isinstance(model, RegressingUnit)
        model.regressor = regressor
        return model

    def asked(self, given: dict[str, Any], *how: Any) -> Any:
        """The pass that reads a text: what is at its last token is what operands are read from."""
        assert self.router is not None
        assert len(given["input_ids"]) == 1
        leave = self.router.shape.leave
        with listening(self.base, {leave}) as streams:
            self.base(**given | {"use_cache": False, "cache": None})
        self.stream = streams[leave][0, -1]
        return super().asked(given, *how)

    def computed(self, decided: Decision, spans: Sequence[Span]) -> CallResult | None:
        """Of other numbers than those of the text."""
        operands = decided.operands or ()
        regressed = dict(zip(operands, self.regressor.numbers(self.stream), strict=False))
        others = [
            replace(span, number=regressed.get(at, span.number)) for at, span in enumerate(spans)
        ]
        return super().computed(decided, others)


def one_by_one(model: UnitModel, max_new_tokens: int) -> Writes:
    """Of texts without others beside them."""
    write = unit_writer(model, max_new_tokens)

    def writes(texts: Sequence[str]) -> list[Output]:
        return [output for text in texts for output in write([text])]

    return writes
