"""Caches of several rows as one cache, and rows taken out of it again.

A batch is padded on the left, so that all its rows end at the same place. What a layer keeps, and
what it takes to put rows together that are of different lengths:

    keys and values of all tokens      zeros on the left, up to the longest row
    those within a sliding window      the same, up to the window
    states without a length            nothing: they are of one size, and see no padding

Zeros are never looked at: the attention mask leaves them out. Layers of other kinds, and positions
that depend on the longest row of a batch, cannot be joined exactly.

What all prompts of a batch begin with is read once: a system text with examples, for instance. As
rows are padded, the same token stands in another column of each. A row's cache is that of the
beginning, behind as much padding as the row has; what of it comes to stand behind the beginning of
the longest row is read again, with the rest.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch.nn.functional import pad
from transformers.cache_utils import (
    DummyLayer,
    DynamicCache,
    DynamicLayer,
    DynamicSlidingWindowLayer,
    LinearAttentionAndFullAttentionLayer,
    LinearAttentionLayer,
)

from curta.delegate.interception.pieces import common

JOINED = frozenset(
    {
        DummyLayer,
        DynamicLayer,
        DynamicSlidingWindowLayer,
        LinearAttentionAndFullAttentionLayer,
        LinearAttentionLayer,
    }
)

FEWEST = 64
"""Tokens that are worth a pass of their own."""


def can_be_joined(cache: Any, config: Any) -> bool:
    """Whether rows of such caches can be put together without any change to what they say."""
    text = config.get_text_config(decoder=True)
    chunked = "chunked_attention" in (getattr(text, "layer_types", None) or ())
    return (
        can_be_parted(cache)
        and not chunked
        and not rope_kinds(getattr(text, "rope_parameters", None)) & {"dynamic", "longrope"}
    )


def can_be_parted(cache: Any) -> bool:
    """Whether rows can be taken out of such a cache."""
    return type(cache) is DynamicCache and all(type(layer) in JOINED for layer in cache.layers)


def rope_kinds(parameters: Any) -> set[str]:
    """How positions are rotated, in all layers. Some ways depend on the longest row."""
    if not isinstance(parameters, dict):
        return set()
    nested = [kind for each in parameters.values() for kind in rope_kinds(each)]
    return {str(parameters.get("rope_type", "default")), *nested}


def gathered(caches: Sequence[Any], rows: list[int] | slice, length: int | None) -> Any:
    """One cache with these rows of all, one behind the other; each as long as said: widened by
    zeros on the left, or without padding that stood there. None: they are as long as they are.
    """
    made = copy.copy(caches[0])
    layers = zip(*(cache.layers for cache in caches), strict=True)
    made.layers = [gathered_layer(each, rows, length) for each in layers]
    return made


def gathered_layer(layers: Sequence[Any], rows: list[int] | slice, length: int | None) -> Any:
    made = copy.copy(layers[0])
    if isinstance(made, DynamicLayer) and made.keys is not None:
        if length is not None and isinstance(made, DynamicSlidingWindowLayer):
            made.cumulative_length = length
            length = min(length, made.sliding_window - 1)
        made.keys = torch.cat([fitted(layer.keys[rows], length) for layer in layers])
        made.values = torch.cat([fitted(layer.values[rows], length) for layer in layers])
    if isinstance(made, LinearAttentionLayer):
        for name in ("conv_states", "recurrent_states"):
            states = [getattr(layer, name) for layer in layers]
            both = {
                number: None if one is None else torch.cat([each[number][rows] for each in states])
                for number, one in states[0].items()
            }
            setattr(made, name, both)
    return made


def fitted(states: torch.Tensor, length: int | None) -> torch.Tensor:
    """So long, by zeros on the left or by what is cut off there."""
    return states if length is None else pad(states, (0, 0, length - states.shape[-2], 0))


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
