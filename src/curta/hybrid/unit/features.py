"""What routers are trained on: questions, and what a frozen model keeps of them.

Each text is read once; what all texts begin with (a chat's system message) is passed once. Of every
text the keys and values of the blocks that a router's rows go through are kept, in 16 bits, so that
training is passes of a few rows; and of each number the residual stream at its last token and the
one behind it. The stream at the last token says where rows begin, and is what a regressor reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache

from curta.delegate.evaluation.systems import generator
from curta.delegate.interception.caches import alike
from curta.hybrid.unit.config import Drawing
from curta.hybrid.unit.model import listening
from curta.hybrid.unit.numbers import numbers_in, numbers_of_tokens
from curta.hybrid.unit.questions import KINDS, Question, Split, questions
from curta.hybrid.unit.router import MOST_NUMBERS, Decision, Readings, Shape, of_numbers


@dataclass(frozen=True)
class Features:
    """Of some texts.

    begin:   the stream at the last token, behind the block where rows begin [texts, width]
    text:    the same behind the block where they are read
    numbers: of each text [numbers, 2 * width]: at a number's last token, and behind it
    shared:  keys and values of what all texts begin with [blocks, 2, heads, tokens, size]
    memory:  those of each text's rest
    """

    begin: Tensor
    text: Tensor
    numbers: Sequence[Tensor]
    shared: Tensor
    memory: Sequence[Tensor]

    def length(self, text: int) -> int:
        """Of its rest, in tokens."""
        return self.memory[text].shape[3]

    def readings(self, texts: Sequence[int], model: Any) -> Readings:
        """What a router is given of some of them: where the model is, padded on the left."""
        most, shared = max(map(self.length, texts)), self.shared.shape[3]
        blocks, _, heads, _, size = self.shared.shape
        kind, device = model.dtype, model.device
        memory = torch.zeros(
            blocks, 2, len(texts), heads, shared + most, size, dtype=kind, device=device
        )
        memory[..., :shared, :] = self.shared[:, :, None]
        there = torch.zeros(len(texts), shared + most, dtype=torch.bool, device=device)
        there[:, :shared] = True
        for row, text in enumerate(texts):
            begin = shared + most - self.length(text)
            memory[:, :, row, :, begin:] = self.memory[text]
            there[row, begin:] = True
        return Readings(
            [(keys, values) for keys, values in memory], there, there.sum(1),
            self.text[list(texts)].to(device), [self.numbers[at].to(device) for at in texts],
        )  # fmt: skip


Part = tuple[Features, Sequence[Question]]
"""Questions of one split, and what was read of them."""


def prepare(
    base: Any, tokenizer: Any, drawing: Drawing, *,
    on_progress: Callable[[str, float, float], None],
) -> tuple[Part, Part]:  # fmt: skip
    """For training and validation."""

    def part(split: Split, divisor: int) -> Part:
        asked = [
            one
            for kind in KINDS
            for one in questions(split, kind, drawing.counts[kind] // divisor, drawing.seed)
        ]
        texts, progress = [one.text for one in asked], partial(on_progress, split)
        return features(base, tokenizer, texts, on_progress=progress), asked

    return part("train", 1), part("valid", 3)


@torch.no_grad()
def features(
    base: Any, tokenizer: Any, texts: Sequence[str], *,
    batch: int = 16, on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> Features:  # fmt: skip
    """Texts of like length together, padded behind their ends, where no token looks."""
    asking = generator(base, tokenizer, None)
    rows = [asking.encoded(asking.asked(text)) for text in texts]
    shape = Shape.of(base.config.get_text_config())
    spans = [numbers_of_tokens(tokenizer, row)[-MOST_NUMBERS:] for row in rows]
    shared = alike(rows)
    decoder, device = base.get_decoder(), base.device
    kept, before = DynamicCache(), torch.empty(0, shape.width)
    if shared:
        ids = torch.tensor([rows[0][:shared]], device=device)
        with listening(base, {shape.numbers}) as streams:
            decoder(input_ids=ids, cache=kept, use_cache=True)
        before = streams[shape.numbers][0].cpu()
    begin, text, numbers, memory = ([torch.empty(0)] * len(rows) for _ in range(4))
    done = 0
    for own in together(range(len(rows)), batch, lambda at: len(rows[at])):
        width = len(rows[own[-1]])
        ids = torch.tensor(
            [rows[at][shared:] + [0] * (width - len(rows[at])) for at in own], device=device
        )
        cache = deepcopy(kept)
        cache.batch_repeat_interleave(len(own))
        with listening(base, {shape.enter, shape.numbers, shape.leave}) as streams:
            decoder(input_ids=ids, cache=cache, use_cache=True)
        for row, at in enumerate(own):
            last = len(rows[at]) - 1
            begin[at], text[at] = (
                streams[block][row, last - shared].half().cpu()
                for block in (shape.enter, shape.leave)
            )
            stream = torch.cat([before, streams[shape.numbers][row].cpu()])
            numbers[at] = of_numbers(stream, spans[at], last).half()
            memory[at] = memory_of(cache, shape, row)[..., shared : last + 1, :].half().cpu()
        done += len(own)
        on_progress(done, len(rows))
    whole = memory_of(kept, shape, 0).float().cpu() if shared else memory[0][..., :0, :].float()
    return Features(torch.stack(begin), torch.stack(text), numbers, whole, memory)


def together(
    texts: Sequence[int], batch: int, length: Callable[[int], int]
) -> Iterator[Sequence[int]]:
    """Texts in batches, those of like length together, the shortest first."""
    order = sorted(texts, key=length)
    return (order[begin : begin + batch] for begin in range(0, len(order), batch))


def memory_of(cache: Any, shape: Shape, row: int) -> Tensor:
    """Keys and values of a row [blocks, 2, heads, tokens, size]."""
    blocks = cache.layers[shape.enter : shape.leave]
    return torch.stack([torch.stack([block.keys[row], block.values[row]]) for block in blocks])


def label(question: Question, count: int) -> Decision:
    """What a router should say that is given so many numbers, the text's own behind others."""
    if not question.operands:
        return Decision(None)
    numbers = numbers_in(question.text)
    at = {span: count - len(numbers) + number for number, span in enumerate(numbers)}
    first, second = (at[span] for span in question.operands)
    places = None if question.places is None else at[question.places]
    return Decision(question.wording.operation, (first, second), places)


def labels(part: Part) -> list[Decision]:
    """Of all questions."""
    read, asked = part
    return [label(one, len(its)) for one, its in zip(asked, read.numbers, strict=True)]
