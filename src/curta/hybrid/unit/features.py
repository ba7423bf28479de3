"""What routers are trained on: questions, and the residual stream of a frozen model behind them.

The stream is read once and kept in a folder. One pass for each text; what all texts begin with (a
chat's system message) is passed once. Of every text the stream behind one block is kept, at all
positions that a router reads.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from curta.delegate import models
from curta.delegate.data import data_set
from curta.delegate.data.example import Example
from curta.delegate.evaluation.systems import generator
from curta.hybrid.unit.arithmetic import Operation
from curta.hybrid.unit.config import Drawing
from curta.hybrid.unit.model import listening, window_of
from curta.hybrid.unit.numbers import numbers_in
from curta.hybrid.unit.questions import KINDS, Question, Split, questions
from curta.hybrid.unit.router import MOST_NUMBERS, OPERATIONS, Reading, Role


@dataclass(frozen=True)
class Features:
    """Of some texts, one behind another.

    stream:  [positions, width]
    lengths: how many positions each text has
    numbers: which of a text's positions are numbers, for each
    """

    stream: Tensor
    lengths: tuple[int, ...]
    numbers: tuple[tuple[int, ...], ...]

    def readings(self) -> list[Reading]:
        """Text by text."""
        own = self.stream.split(list(self.lengths))
        return [Reading(*each) for each in zip(own, self.numbers, strict=True)]

    def save(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        rows = [torch.tensor(each, dtype=torch.long) for each in self.numbers]
        numbers = pad_sequence(rows, True, -1)
        lengths = torch.tensor(self.lengths)
        save_file({"stream": self.stream, "lengths": lengths, "numbers": numbers}, file)

    @classmethod
    def load(cls, file: Path) -> Features:
        kept = load_file(file)
        numbers = (tuple(at for at in row if at >= 0) for row in kept["numbers"].tolist())
        return cls(kept["stream"], tuple(kept["lengths"].tolist()), tuple(numbers))


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
            features(*language(), texts, drawing.block, on_progress=progress).save(file)
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
    base: Any, tokenizer: Any, texts: Sequence[str], block: int, *,
    batch: int = 16, on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> Features:  # fmt: skip
    """Texts of like length together, padded behind their ends, where no token looks; as far as the
    block that is read.
    """
    asking = generator(base, tokenizer, None)
    rows = [asking.encoded(asking.asked(text)) for text in texts]
    windows = [window_of(tokenizer, row) for row in rows]
    shared = alike(rows)
    decoder, device, memory = base.get_decoder(), base.device, None
    with shortened(decoder, block), listening(base, [block]) as streams:
        if shared:
            begin = torch.tensor([rows[0][:shared]], device=device)
            memory = decoder(input_ids=begin, use_cache=True).past_key_values
            before = streams[block][0]
        found: dict[int, Reading] = {}
        order = sorted(range(len(rows)), key=lambda at: len(rows[at]))
        for begin_at in range(0, len(order), batch):
            own = order[begin_at : begin_at + batch]
            ends = [torch.tensor(rows[at][shared:]) for at in own]
            kept = deepcopy(memory)
            if kept is not None:
                kept.batch_repeat_interleave(len(own))
            ids = pad_sequence(ends, batch_first=True).to(device)
            decoder(input_ids=ids, past_key_values=kept, use_cache=kept is not None)
            for stream, at in zip(streams[block], own, strict=True):
                whole = torch.cat([before, stream]) if shared else stream
                reading = windows[at].reading(whole)
                found[at] = Reading(reading.stream.half().cpu(), reading.numbers)
            on_progress(len(found), len(rows))
    readings = [found[at] for at in range(len(rows))]
    lengths = tuple(len(each.stream) for each in readings)
    numbers = tuple(each.numbers for each in readings)
    return Features(torch.cat([each.stream for each in readings]), lengths, numbers)


@contextmanager
def shortened(decoder: Any, blocks: int) -> Iterator[None]:
    """A pass through no more than so many blocks."""
    whole = decoder.layers
    decoder.layers = whole[:blocks]
    try:
        yield
    finally:
        decoder.layers = whole


def alike(rows: Sequence[Sequence[int]]) -> int:
    """How many tokens all rows begin with; at least one of each is left."""
    most = min(map(len, rows)) - 1
    return next((at for at in range(most) if len({row[at] for row in rows}) > 1), most)


@dataclass(frozen=True)
class Label:
    """What a router should say about a text: the number of one of `OPERATIONS`, and parts."""

    operation: int
    parts: tuple[Role, ...]


def label(question: Question) -> Label:
    """By where its numbers stand; of a sum or product the first operand is the one that does."""
    operation = question.wording.operation
    parts = dict.fromkeys((span.begin for span in numbers_in(question.text)), Role.NONE)
    operands = [span.begin for span in question.operands]
    if operation in (Operation.ADDITION, Operation.MULTIPLICATION):
        operands.sort()
    parts |= dict(zip(operands, (Role.FIRST, Role.SECOND), strict=False))
    if question.places is not None:
        parts[question.places.begin] = Role.PLACES
    return Label(OPERATIONS.index(operation), tuple(parts.values())[-MOST_NUMBERS:])
