"""What all prompts of a batch begin with, read once: a system text with examples, for instance.

Rows are padded on the left, so the same token stands in another column of each. A row's cache is
that of the beginning, behind as much padding as the row has; what of it comes to stand behind the
beginning of the longest row is read again, with the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.nn.functional import pad
from transformers.cache_utils import DynamicCache, DynamicLayer

from curta.delegate.interception.caches import can_be_joined
from curta.delegate.interception.pieces import common

FEWEST = 64
"""Tokens that are worth a pass of their own."""


@torch.no_grad()
def read_once(model: Any, tokens: torch.Tensor, mask: torch.Tensor) -> Any:
    """The cache of the first columns of a batch; nothing where there is little to share, or where
    the model keeps anything but keys and values of all tokens.
    """
    padding = [int(one) for one in (mask == 0).sum(dim=-1)]
    rows = [row[begin:].tolist() for row, begin in zip(tokens, padding, strict=True)]
    count = alike(rows)
    cache: Any = DynamicCache(config=model.config.get_text_config(decoder=True))
    if len(rows) < 2 or count < FEWEST or not can_be_shared(cache, model.config):
        return None
    model(tokens.new_tensor([rows[0][:count]]), cache=cache, use_cache=True)
    for layer in cache.layers:
        layer.keys = moved(layer.keys, padding)
        layer.values = moved(layer.values, padding)
    return cache


def alike(rows: Sequence[Sequence[int]]) -> int:
    """How many tokens all rows begin with; at least one of each is left."""
    return min(common(*rows), min(map(len, rows)) - 1)


def can_be_shared(cache: Any, config: Any) -> bool:
    """Whether each layer keeps keys and values that depend on what is before them alone."""
    plain = bool(cache.layers) and all(type(layer) is DynamicLayer for layer in cache.layers)
    return plain and can_be_joined(cache, config)


def moved(states: torch.Tensor, padding: Sequence[int]) -> torch.Tensor:
    """A row of states behind each padding, cut off where the first one ends."""
    shifts = [min(each, states.shape[-2]) for each in padding]
    return torch.cat([pad(states, (0, 0, shift, -shift)) for shift in shifts])
