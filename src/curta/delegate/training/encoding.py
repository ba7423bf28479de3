"""Examples as tokens, and which of them a model learns to write.

An answer is cut where the calculator would speak: the model's own text up to a call's end, the
result, the model's text again. Each piece is encoded by itself, as in generation, where the result
is put behind tokens that are there already. The loss counts on the model's own pieces only, and
not on calls that fail: what follows them is learned, they are not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import takewhile
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence

from curta.delegate.data.example import CALL, Example
from curta.delegate.interception.pieces import Fragments
from curta.delegate.training.config import TrainingConfig
from curta.errors import DataError

IGNORED = -100
"""The label of a token that does not count, as in PyTorch's cross-entropy."""


Piece = tuple[str, int]
"""Text that is encoded by itself, and how many of its characters are learned, from the first on."""


@dataclass(frozen=True)
class Encoded:
    """A whole conversation: its tokens, and labels that say which of them are learned.

    ordered_by: the tokens of its longer form, with calls or written out; the order of training
                goes by it, so that both forms are learned in the same order
    """

    tokens: tuple[int, ...]
    labels: tuple[int, ...]
    ordered_by: int = 0

    def __len__(self) -> int:
        return len(self.tokens)


@dataclass
class Encoder:
    """Encodes examples for one tokenizer, as training is told to: with which markers, or
    without calls, and none that is too long. It is sent to other processes before it is used.
    """

    tokenizer: Any
    config: TrainingConfig = field(default_factory=TrainingConfig)

    def __post_init__(self) -> None:
        if self.tokenizer.chat_template is None:
            raise DataError(
                "the tokenizer has no chat template: choose an instruct model, or set "
                "tokenizer.chat_template"
            )

    @cached_property
    def fragments(self) -> Fragments:
        return Fragments(self.tokenizer)

    def __call__(self, example: Example) -> Encoded | None:
        """The form that is learned; nothing if one of the two is too long."""
        forms = {calls: self.conversation(example, calls) for calls in (True, False)}
        longer = max(map(len, forms.values()))
        if longer > self.config.longest:
            return None
        return replace(forms[self.config.calls], ordered_by=longer)

    def conversation(self, example: Example, calls: bool) -> Encoded:
        """One of the two forms: what the chat template puts before an answer, the answer in its
        pieces, and the end token.
        """
        prompt: str = self.tokenizer.apply_chat_template(
            [{"role": "user", "content": example.question}],
            tokenize=False,
            add_generation_prompt=True,
        )
        tokens = self.tokenizer.encode(prompt, add_special_tokens=False)
        labels = [IGNORED] * len(tokens)
        for text, learned in self.pieces(example.answer) if calls else [own(example.inline)]:
            encoded = self.fragments.encode(text)
            count = self.within(encoded, text, learned)
            tokens += encoded
            labels += [*encoded[:count], *[IGNORED] * (len(encoded) - count)]
        ending = self.tokenizer.encode(str(self.tokenizer.eos_token), add_special_tokens=False)
        return Encoded((*tokens, *ending), (*labels, *ending))

    def pieces(self, answer: str) -> Iterator[Piece]:
        """The answer cut up, and how much of each piece the model learns to write."""
        begin = 0
        for call in CALL.finditer(answer):
            before = answer[begin : call.start()]
            text = f"{before}{self.config.open} {call['expression']}{self.config.close}"
            yield text, len(before) if call["failure"] else len(text)
            if call["behind"]:
                yield call["behind"], 0
            begin = call.end()
        if begin < len(answer):
            yield own(answer[begin:])

    def within(self, tokens: Sequence[int], text: str, learned: int) -> int:
        """How many of a piece's tokens say nothing but what is learned of it."""
        if learned in (0, len(text)):
            return len(tokens) if learned else 0
        said = (self.fragments.said(list(tokens[: n + 1])) for n in range(len(tokens)))
        return sum(1 for _ in takewhile(lambda text: len(text) <= learned, said))


def own(text: str) -> Piece:
    """A piece that the model writes from its beginning to its end."""
    return text, len(text)


def batch(encoded: Sequence[Encoded]) -> dict[str, torch.Tensor]:
    """Several conversations, filled up on the right with a token that nobody reads."""

    def filled(rows: Iterable[Sequence[int]], value: int = 0) -> torch.Tensor:
        return pad_sequence(list(map(torch.tensor, rows)), batch_first=True, padding_value=value)

    return {
        "input_ids": filled(one.tokens for one in encoded),
        "labels": filled((one.labels for one in encoded), IGNORED),
        "attention_mask": filled([1] * len(one) for one in encoded),
    }
