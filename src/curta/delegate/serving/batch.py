"""Rows that go through the model together."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from curta.delegate.interception import caches
from curta.delegate.interception.loop import ONE_BY_ONE
from curta.delegate.serving.writing import Writing
from curta.errors import UserError

TOLERANCE = 1e-3
TOLERANCE_OF_HALVES = 0.1
"""Of scores, relative to the largest one: far above rounding, far below wrong positions."""


class Model:
    """One step of any causal language model, and what has to be known about it.

    joins:   whether rows can join a batch and leave it
    appends: whether several tokens can be appended at once
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        given = inspect.signature(model.forward).parameters
        self.cache_name = "past_key_values" if "past_key_values" in given else "cache_params"
        self.takes_mask = self.cache_name == "past_key_values"
        self.takes_positions = "position_ids" in given
        self.keeps_logits = "logits_to_keep" in given
        self.joins = self.probe()
        self.appends = model.config.model_type not in ONE_BY_ONE and self.probe_appending()

    @torch.no_grad()
    def step(self, tokens: torch.Tensor, mask: torch.Tensor, cache: Any) -> tuple[Any, Any]:
        """The scores behind the last token of each row, and the cache with the tokens in it."""
        given: dict[str, Any] = {"input_ids": tokens, "use_cache": True, "return_dict": True}
        if self.takes_mask:
            given["attention_mask"] = mask
        if self.takes_positions:
            places = mask.cumsum(dim=-1) - 1
            given["position_ids"] = places[:, -tokens.shape[1] :].clamp(min=0)
        if self.keeps_logits:
            given["logits_to_keep"] = 1
        if cache is not None:
            given[self.cache_name] = cache
        outputs = self.model(**given)
        return outputs.logits[:, -1], outputs.get(self.cache_name)

    def probe(self) -> bool:
        """Try whether two rows of different lengths say together what they say alone."""
        rows = [torch.arange(1, 4)[None], torch.arange(2, 9)[None]]
        alone, begun = [], []
        for row in rows:
            row = row.to(self.model.device)
            ones = torch.ones_like(row)
            _, cache = self.step(row[:, :-1], ones[:, :-1], None)
            if cache is None:
                raise UserError(
                    f"--model: {self.model.config.model_type} keeps no cache that can be served"
                )
            begun.append(Batch([], cache, ones[:, :-1]))
            scores, _ = self.step(row, ones, None)
            alone.append(scores)
        if not caches.can_be_joined(begun[0].cache, self.model.config):
            return False
        both = joined(begun)
        last = torch.cat([row[:, -1:] for row in rows]).to(self.model.device)
        together, _ = self.step(last, longer(both.mask, 1), both.cache)
        return agree(together, torch.cat(alone))

    def probe_appending(self) -> bool:
        """Try whether two tokens fed at once behind others come to what the whole row does."""
        row = torch.arange(2, 9, device=self.model.device)[None]
        ones = torch.ones_like(row)
        _, cache = self.step(row[:, :-2], ones[:, :-2], None)
        appended, _ = self.step(row[:, -2:], ones, cache)
        whole, _ = self.step(row, ones, None)
        return agree(appended, whole)


def agree(scores: torch.Tensor, right: torch.Tensor) -> bool:
    """Whether they differ by no more than rounding explains."""
    halves = scores.dtype in (torch.float16, torch.bfloat16)
    allowed = TOLERANCE_OF_HALVES if halves else TOLERANCE
    difference = (scores - right).float().abs().max()
    return bool(difference <= allowed * right.float().abs().max())


@dataclass(frozen=True)
class Batch:
    """Rows, padded on the left, and what the model remembers of them.

    mask: which places are tokens; its width is the length of the cache
    """

    writings: list[Writing]
    cache: Any
    mask: torch.Tensor

    def advanced(self, model: Model, count: int) -> tuple[torch.Tensor, Batch]:
        """So many tokens further, and the scores of what is next."""
        tokens = torch.tensor(
            [writing.feed(count) for writing in self.writings], device=self.mask.device
        )
        mask = longer(self.mask, count)
        scores, cache = model.step(tokens, mask, self.cache)
        return scores, Batch(self.writings, cache, mask)

    def going_on(self) -> Batch | None:
        """Without the rows that have ended."""
        rows = [n for n, writing in enumerate(self.writings) if writing.outcome is None]
        return self.part(rows)

    def part(self, rows: Sequence[int]) -> Batch | None:
        """These rows only; padding that all of them have is cut off."""
        if len(rows) == len(self.writings):
            return self
        if not rows:
            return None
        mask = self.mask[list(rows)]
        length = int(mask.sum(dim=-1).max())
        cache = None if self.cache is None else caches.keep(self.cache, rows, length)
        return Batch([self.writings[n] for n in rows], cache, mask[:, mask.shape[1] - length :])


def begun(writings: Sequence[Writing], device: Any) -> Batch:
    """Rows of which the model has seen nothing yet."""
    mask = torch.ones((len(writings), 0), dtype=torch.long, device=device)
    return Batch(list(writings), None, mask)


def joined(batches: Sequence[Batch]) -> Batch:
    """All rows in one batch."""
    if len(batches) == 1:
        return batches[0]
    lengths = [batch.mask.shape[1] for batch in batches]
    masks = [
        torch.nn.functional.pad(batch.mask, (max(lengths) - length, 0))
        for batch, length in zip(batches, lengths, strict=True)
    ]
    writings = [writing for batch in batches for writing in batch.writings]
    cache = caches.join([batch.cache for batch in batches], lengths)
    return Batch(writings, cache, torch.cat(masks))


def longer(mask: torch.Tensor, count: int) -> torch.Tensor:
    """With so many tokens more in every row."""
    return torch.cat([mask, mask.new_ones((len(mask), count))], dim=1)
