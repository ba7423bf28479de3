"""Examples as tokens, and which of them a model learns to write.

An answer is cut where the calculator would speak: the model's own text up to a call's end, the
result, the model's text again. Each piece is encoded by itself, as in generation, where the result
is put behind tokens that are there already. The loss counts on the model's own pieces only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from curta.delegate.data.example import CALL, Example
from curta.delegate.interception.pieces import Fragments
from curta.errors import DataError

IGNORED = -100
"""The label of a token that does not count, as in PyTorch's cross-entropy."""


@dataclass(frozen=True)
class Encoded:
    """A whole conversation: its tokens, and labels that say which of them are learned."""

    tokens: tuple[int, ...]
    labels: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.tokens)


class Encoder:
    """Encodes examples for one tokenizer.

    calls:   answers with calls; without, the same answers as a model without a calculator gives
    longest: conversations of more tokens are refused
    """

    def __init__(self, tokenizer: Any, *, calls: bool = True, longest: int = 2_048) -> None:
        if tokenizer.chat_template is None:
            raise DataError(
                "the tokenizer has no chat template: choose an instruct model, or set "
                "tokenizer.chat_template"
            )
        self.tokenizer = tokenizer
        self.fragments = Fragments(tokenizer)
        self.calls = calls
        self.longest = longest

    def __call__(self, example: Example) -> Encoded | None:
        """The conversation; nothing if it is too long."""
        prompt, closing = self.surroundings(example.question)
        tokens = self.tokenizer.encode(prompt, add_special_tokens=False)
        labels = [IGNORED] * len(tokens)
        for piece, learned in self.pieces(example):
            encoded = self.fragments.encode(piece)
            tokens += encoded
            labels += encoded if learned else [IGNORED] * len(encoded)
        ending = self.tokenizer.encode(closing, add_special_tokens=False)
        tokens += ending
        labels += ending
        if len(tokens) > self.longest:
            return None
        return Encoded(tuple(tokens), tuple(labels))

    def surroundings(self, question: str) -> tuple[str, str]:
        """What the chat template puts before an answer, and the end token behind it."""
        prompt: str = self.tokenizer.apply_chat_template(
            [{"role": "user", "content": question}], tokenize=False, add_generation_prompt=True
        )
        return prompt, str(self.tokenizer.eos_token)

    def pieces(self, example: Example) -> Iterator[tuple[str, bool]]:
        """The answer cut up, and whether the model writes the piece itself."""
        if not self.calls:
            yield example.inline, True
            return
        begin = 0
        for call in CALL.finditer(example.answer):
            end = call.start("behind") if call["behind"] else call.end()
            yield example.answer[begin:end], True
            result = (call["behind"] or "").rstrip(".,;:)")
            if result:
                yield result, False
            begin = end + len(result)
        if begin < len(example.answer):
            yield example.answer[begin:], True


def batch(encoded: Sequence[Encoded], padding: int) -> dict[str, torch.Tensor]:
    """Several conversations, filled up on the right."""
    width = max(map(len, encoded))
    filled = [
        (
            [*one.tokens, *[padding] * (width - len(one))],
            [*one.labels, *[IGNORED] * (width - len(one))],
            [1] * len(one) + [0] * (width - len(one)),
        )
        for one in encoded
    ]
    tokens, labels, mask = (torch.tensor(rows) for rows in zip(*filled, strict=True))
    return {"input_ids": tokens, "labels": labels, "attention_mask": mask}
