"""The loss of a batch, without computing what it does not need.

Scores of all tokens of a vocabulary are a fifth of the work on a small model, and are computed
only where a token is learned. What all conversations of a batch begin with (a chat template's
system text) goes through the model once, and the rest of each of them reads it from the cache.
Loss and gradients are those of the plain way (`model(**batch(part)).loss`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from accelerate import Accelerator
from torch.nn.functional import cross_entropy
from transformers.cache_utils import DynamicCache

from curta.delegate.interception.beginning import can_be_shared
from curta.delegate.training.encoding import IGNORED

Rows = Mapping[str, torch.Tensor]
"""A batch: tokens, labels, and where there are tokens."""


def total_loss(model: Any, accelerator: Accelerator, rows: Rows) -> torch.Tensor:
    """The sum over all tokens that are learned."""
    rows = {name: each.to(accelerator.device) for name, each in rows.items()}
    count = len(rows["labels"])
    shared = shared_tokens(rows) if can_share(model, accelerator) else 0
    cache = read_once(model, rows["input_ids"][:1, :shared], count) if shared else None
    targets = rows["labels"][:, shared + 1 :]
    learned = targets != IGNORED
    with scores_where(accelerator.unwrap_model(model), learned):
        scores = model(
            input_ids=rows["input_ids"][:, shared:],
            attention_mask=rows["attention_mask"],
            cache=cache,
            use_cache=cache is not None,
        ).logits[0]
    return cross_entropy(scores.float(), targets[learned], reduction="sum")


def shared_tokens(rows: Rows) -> int:
    """With how many tokens all begin, before the one that the first learned token follows."""
    tokens, there = rows["input_ids"], rows["attention_mask"] > 0
    alike = (tokens == tokens[:1]).all(0) & there.all(0)
    ignored = (rows["labels"] == IGNORED).all(0)
    leading, unlearned = (int(each.int().cumprod(0).sum()) for each in (alike, ignored))
    return max(0, min(leading, unlearned - 1))


def can_share(model: Any, accelerator: Accelerator) -> bool:
    """Whether a cache can hold the beginning: one process, attention to all that was before.

    On a GPU two passes take longer than one with more tokens.
    """
    config = accelerator.unwrap_model(model).config
    plain = can_be_shared(DynamicCache(config=config.get_text_config(decoder=True)), config)
    return plain and accelerator.num_processes == 1 and accelerator.device.type != "cuda"


def read_once(model: Any, tokens: torch.Tensor, count: int) -> Any:
    """A cache in which so many rows have read the same tokens; gradients go through it."""
    cache: Any = DynamicCache()
    model(input_ids=tokens, cache=cache, use_cache=True, logits_to_keep=1)
    cache.batch_repeat_interleave(count)
    return cache


@contextmanager
def scores_where(model: Any, learned: torch.Tensor) -> Iterator[None]:
    """Scores are those of the tokens before learned ones, one behind the other in a single row."""

    def chosen(module: Any, given: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
        return (given[0][:, :-1][learned][None],)

    hook = model.get_output_embeddings().register_forward_pre_hook(chosen)
    try:
        yield
    finally:
        hook.remove()
