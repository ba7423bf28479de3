"""What routers are trained on: the residual stream of a frozen model, read once and kept.

One pass for each text; what all texts begin with (a chat's system message) is passed once. Of every
text the stream is kept at its last token, and at the last token of each number and the one behind
it, behind each of some blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from curta.hybrid.unit.model import listening
from curta.hybrid.unit.numbers import numbers_in, numbers_of_tokens, pieces_of
from curta.hybrid.unit.questions import Question
from curta.hybrid.unit.router import (
    FIRST,
    MOST_NUMBERS,
    NONE,
    OPERATIONS,
    PLACES,
    SECOND,
    Layers,
    Reading,
    beside,
)


@dataclass(frozen=True)
class Features:
    """Of some texts; what belongs to their numbers is in one row, text by text.

    layers:    behind which blocks
    text:      [texts, layers, width]
    numbers:   [numbers, 2, layers, width]: at the last token, and behind it
    counts:    how many numbers each text has
    """

    layers: tuple[int, ...]
    text: Tensor
    numbers: Tensor
    counts: tuple[int, ...]

    def readings(self, layers: Layers) -> list[Reading]:
        """What a router that reads these layers is given."""
        text = self.text[:, self.layers.index(layers.text)].float()
        numbers = self.numbers[:, :, self.layers.index(layers.numbers)].float().flatten(1)
        return [
            Reading(row, own)
            for row, own in zip(text, torch.split(numbers, list(self.counts)), strict=True)
        ]

    def save(self, file: Path) -> None:
        tensors = {"text": self.text, "numbers": self.numbers}
        tensors |= {"layers": torch.tensor(self.layers), "counts": torch.tensor(self.counts)}
        file.parent.mkdir(parents=True, exist_ok=True)
        save_file(tensors, file)

    @classmethod
    def load(cls, file: Path) -> Features:
        kept = load_file(file)
        layers, counts = (tuple(kept[name].tolist()) for name in ("layers", "counts"))
        return cls(layers, kept["text"], kept["numbers"], counts)


def prompt(tokenizer: Any, text: str) -> list[int]:
    """A text as it is put to a model: in its chat template, if it has one."""
    if getattr(tokenizer, "chat_template", None) is None:
        return list(tokenizer(f"{text}\n")["input_ids"])
    chat = [{"role": "user", "content": text}]
    asked = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
    return list(tokenizer(asked, add_special_tokens=False)["input_ids"])


@torch.no_grad()
def features(
    base: Any, tokenizer: Any, texts: Sequence[str], layers: Sequence[int], *, batch: int = 16,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> Features:  # fmt: skip
    """Texts of like length together, padded behind their ends, where no token looks."""
    rows = [prompt(tokenizer, text) for text in texts]
    spans = [numbers_of_tokens(pieces_of(tokenizer, row))[-MOST_NUMBERS:] for row in rows]
    shared = alike(rows)
    decoder, device = base.get_decoder(), base.device
    kept = None
    if shared:
        begin = torch.tensor([rows[0][:shared]], device=device)
        kept = decoder(input_ids=begin, use_cache=True).past_key_values
    found: dict[int, tuple[Tensor, Tensor]] = {}
    order = sorted(range(len(rows)), key=lambda at: len(rows[at]))
    for begin_at in range(0, len(order), batch):
        own = order[begin_at : begin_at + batch]
        width = len(rows[own[-1]])
        ids = torch.tensor(
            [rows[at][shared:] + [0] * (width - len(rows[at])) for at in own], device=device
        )
        cache = deepcopy(kept)
        if cache is not None:
            cache.batch_repeat_interleave(len(own))
        with listening(base, layers) as streams:
            decoder(input_ids=ids, past_key_values=cache, use_cache=cache is not None)
        stack = torch.stack([streams[layer] for layer in layers], dim=2).half().cpu()
        for row, at in zip(stack, own, strict=True):
            last = len(rows[at]) - 1 - shared
            ends = [beside(span, last + shared) for span in spans[at]]
            numbers = row[torch.tensor(ends, dtype=torch.long).reshape(-1, 2) - shared]
            found[at] = row[last].clone(), numbers.clone()
        on_progress(len(found), len(rows))
    return Features(
        tuple(layers), torch.stack([found[at][0] for at in range(len(rows))]),
        torch.cat([found[at][1] for at in range(len(rows))]), tuple(map(len, spans)),
    )  # fmt: skip


def alike(rows: Sequence[Sequence[int]]) -> int:
    """How many tokens all rows begin with; at least one of each is left."""
    most = min(map(len, rows)) - 1
    return next((at for at in range(most) if len({row[at] for row in rows}) > 1), most)


@dataclass(frozen=True)
class Label:
    """What a router should say about a text: numbers of `OPERATIONS`, and of parts."""

    operation: int
    parts: tuple[int, ...]


def label(question: Question) -> Label:
    """By where its numbers stand."""
    parts = dict.fromkeys((span.begin for span in numbers_in(question.text)), NONE)
    for part, span in zip((FIRST, SECOND), question.operands, strict=False):
        parts[span.begin] = part
    if question.places is not None:
        parts[question.places.begin] = PLACES
    operation = OPERATIONS.index(question.wording.operation)
    return Label(operation, tuple(parts.values())[-MOST_NUMBERS:])
