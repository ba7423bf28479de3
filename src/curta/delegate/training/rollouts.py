"""Answers for training by rewards: what was written, and which of its tokens the model chose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from curta.delegate.interception.events import Event
from curta.delegate.interception.generator import CalcGenerator, Output, Prompt, joined
from curta.delegate.interception.row import Row


@dataclass(frozen=True)
class Rollout:
    """One answer.

    own: for each token whether the model chose it; the others were put there behind a call, or
         instead of a token that said more than a call's end
    """

    prompt: tuple[int, ...]
    tokens: tuple[int, ...]
    own: tuple[bool, ...]
    output: Output


class RecordedRow(Row):
    """A row that remembers which of its tokens were chosen."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.own: list[bool] = []

    def take(self, token: int, room: int) -> list[int]:
        """As any row; a token that was replaced is not the model's choice."""
        fed = super().take(token, room)
        self.own += [fed[0] == token, *[False] * (len(fed) - 1)]
        return fed


def rollouts(
    generator: CalcGenerator, prompts: Sequence[Prompt], ends: Sequence[int], **options: Any
) -> list[Rollout]:
    """An answer to each prompt, by the generator's model as it is now.

    ends: tokens that end an answer; options: those of transformers' `generate`
    """
    inputs = generator.inputs(prompts)
    events: list[list[Event]] = [[] for _ in prompts]
    rows = [RecordedRow(generator.tokenizer, generator.calling, each.append) for each in events]
    was_training = generator.model.training
    generator.model.eval()
    try:
        written = generator.write(inputs, rows, options | {"eos_token_id": list(ends)})
    finally:
        generator.model.train(was_training)
    begin = inputs["input_ids"].shape[1]
    found = []
    for number, row in enumerate(rows):
        tokens = written[number, begin : begin + row.tokens].tolist()
        prompt = inputs["input_ids"][number][inputs["attention_mask"][number].bool()].tolist()
        output = Output(tuple(joined(events[number])), row.tokens, row.ended)
        found.append(Rollout(tuple(prompt), tuple(tokens), tuple(row.own), output))
    return found
