"""What routers are trained on: questions, and the residual stream of a frozen model behind them.

The stream is read once and kept in a folder. One pass for each text; what all texts begin with (a
chat's system message) is passed once. Of every text the stream is kept at its last token, and at
the last token of each number and the one behind it, behind each of some blocks.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from curta.delegate import models
from curta.delegate.data import data_set
from curta.delegate.data.example import Example
from curta.delegate.evaluation.systems import generator
from curta.hybrid.unit.config import Drawing
from curta.hybrid.unit.model import listening
from curta.hybrid.unit.numbers import numbers_in, numbers_of_tokens, pieces_of
from curta.hybrid.unit.questions import KINDS, Question, Split, questions
from curta.hybrid.unit.router import MOST_NUMBERS, OPERATIONS, Layers, Readings, Role, beside

CANDIDATES = 8
"""Places in the language model, evenly apart, that are read; two of them are chosen."""


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

    def readings(self, layers: Layers) -> Readings:
        """What a router that reads these layers is given."""
        text, numbers = (self.layers.index(each) for each in (layers.text, layers.numbers))
        return Readings(self.text[:, text], self.numbers[:, :, numbers].flatten(1), self.counts)

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


Part = tuple[Features, Sequence[Question]]
"""Questions of one split, and what was read of them."""


def prepare(
    base: str, origin: str, drawing: Drawing, folder: Path, device: str | None, *,
    on_progress: Callable[[str, float, float], None],
) -> tuple[Part, Part]:  # fmt: skip
    """For training and validation: what is not in the folder yet, or was read for other questions
    or another model, is read.
    """
    written = json.dumps([base, origin, dataclasses.asdict(drawing)])
    about = folder / "features" / "about.json"
    same = about.is_file() and about.read_text(encoding="utf-8") == written

    @cache
    def language() -> tuple[Any, Any]:
        return models.load(base, device=device)

    def part(split: Split, divisor: int) -> Part:
        asked = [
            one
            for kind in KINDS
            for one in questions(split, kind, drawing.counts[kind] // divisor, drawing.seed)
        ]
        file = folder / "features" / f"{split}.safetensors"
        if not (same and file.is_file()):
            texts, progress = [one.text for one in asked], partial(on_progress, split)
            features(*language(), texts, on_progress=progress).save(file)
        return Features.load(file), asked

    training, validation = part("train", 1), part("valid", 4)
    about.write_text(written, encoding="utf-8")
    write_examples(training[1], folder / "examples")
    return training, validation


def write_examples(asked: Sequence[Question], folder: Path) -> None:
    """Those with an answer, as `curta delegate train --no-calls` takes them."""
    folder.mkdir(exist_ok=True)
    examples = [
        Example(one.text, one.value, one.value, one.wording.kind, one.wording.name)
        for one in asked
        if one.value is not None
    ]
    lines = [json.dumps(data_set.row(one)) for one in examples]
    (folder / "train.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


@torch.no_grad()
def features(
    base: Any, tokenizer: Any, texts: Sequence[str], *,
    batch: int = 16, on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> Features:  # fmt: skip
    """Texts of like length together, padded behind their ends, where no token looks."""
    asking = generator(base, tokenizer, None)
    rows = [asking.encoded(asking.asked(text)) for text in texts]
    layers = candidates(base.config.get_text_config().num_hidden_layers)
    spans = [numbers_of_tokens(pieces_of(tokenizer, row))[-MOST_NUMBERS:] for row in rows]
    shared = alike(rows)
    decoder, device, kept = base.get_decoder(), base.device, None
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
        memory = deepcopy(kept)
        if memory is not None:
            memory.batch_repeat_interleave(len(own))
        with listening(base, layers) as streams:
            decoder(input_ids=ids, past_key_values=memory, use_cache=memory is not None)
        stack = torch.stack([streams[layer] for layer in layers], dim=2).half().cpu()
        for row, at in zip(stack, own, strict=True):
            last = len(rows[at]) - 1 - shared
            ends = [beside(span, last + shared) for span in spans[at]]
            numbers = row[torch.tensor(ends, dtype=torch.long).reshape(-1, 2) - shared]
            found[at] = row[last].clone(), numbers.clone()
        on_progress(len(found), len(rows))
    text, of_numbers = zip(*(found[at] for at in range(len(rows))), strict=True)
    counts = tuple(map(len, spans))
    return Features(layers, torch.stack(text), torch.cat(of_numbers), counts)


def alike(rows: Sequence[Sequence[int]]) -> int:
    """How many tokens all rows begin with; at least one of each is left."""
    most = min(map(len, rows)) - 1
    return next((at for at in range(most) if len({row[at] for row in rows}) > 1), most)


def candidates(blocks: int) -> tuple[int, ...]:
    """Of so many blocks, early ones and late ones; the last one among them."""
    count = min(CANDIDATES, blocks)
    return tuple(sorted({max(1, round(blocks * (at + 1) / count)) for at in range(count)}))


@dataclass(frozen=True)
class Label:
    """What a router should say about a text: the number of one of `OPERATIONS`, and parts."""

    operation: int
    parts: tuple[Role, ...]


def label(question: Question) -> Label:
    """By where its numbers stand."""
    parts = dict.fromkeys((span.begin for span in numbers_in(question.text)), Role.NONE)
    for part, span in zip((Role.FIRST, Role.SECOND), question.operands, strict=False):
        parts[span.begin] = part
    if question.places is not None:
        parts[question.places.begin] = Role.PLACES
    operation = OPERATIONS.index(question.wording.operation)
    return Label(operation, tuple(parts.values())[-MOST_NUMBERS:])
