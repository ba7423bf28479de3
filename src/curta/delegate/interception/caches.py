"""Caches of several rows as one cache, and rows taken out of it again.

A batch is padded on the left, so that all its rows end at the same place. What a layer keeps, and
what it takes to put rows together that are of different lengths:

    keys and values of all tokens      zeros on the left, up to the longest row
    those within a sliding window      the same, up to the window
    states without a length            nothing: they are of one size, and see no padding

Zeros are never looked at: the attention mask leaves them out. Layers of other kinds, and positions
that depend on the longest row of a batch, cannot be joined exactly.
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

JOINED = frozenset(
    {
        DummyLayer,
        DynamicLayer,
        DynamicSlidingWindowLayer,
        LinearAttentionAndFullAttentionLayer,
        LinearAttentionLayer,
    }
)


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


def join(caches: Sequence[Any], lengths: Sequence[int]) -> Any:
    """One cache with the rows of all; `lengths` are those of the caches, padding included."""
    joined = copy.copy(caches[0])
    layers = zip(*(cache.layers for cache in caches), strict=True)
    joined.layers = [joined_layer(each, lengths) for each in layers]
    return joined


def joined_layer(layers: Sequence[Any], lengths: Sequence[int]) -> Any:
    """One layer of it."""
    joined = copy.copy(layers[0])
    if has_keys(joined):
        length = max(lengths)
        kept = kept_by(joined, length)
        joined.keys = torch.cat([widened(layer.keys, kept) for layer in layers])
        joined.values = torch.cat([widened(layer.values, kept) for layer in layers])
        note_length(joined, length)
    for name in state_names(joined):
        states = [getattr(layer, name) for layer in layers]
        both = {
            number: None if one is None else torch.cat([each[number] for each in states])
            for number, one in states[0].items()
        }
        setattr(joined, name, both)
    return joined


def keep(cache: Any, rows: Sequence[int], length: int | None = None) -> Any:
    """A cache with these rows only; of this length, if padding that all have is to be cut off."""
    kept = copy.copy(cache)
    kept.layers = [kept_layer(layer, list(rows), length) for layer in cache.layers]
    return kept


def kept_layer(layer: Any, rows: list[int], length: int | None) -> Any:
    """One layer of it."""
    kept = copy.copy(layer)
    if has_keys(layer):
        begin = 0 if length is None else max(layer.keys.shape[-2] - kept_by(layer, length), 0)
        kept.keys = layer.keys[rows, :, begin:]
        kept.values = layer.values[rows, :, begin:]
        if length is not None:
            note_length(kept, length)
    for name in state_names(layer):
        states = getattr(layer, name).items()
        setattr(kept, name, {n: None if each is None else each[rows] for n, each in states})
    return kept


def has_keys(layer: Any) -> bool:
    """Whether it keeps keys and values."""
    return isinstance(layer, DynamicLayer) and layer.keys is not None


def kept_by(layer: Any, length: int) -> int:
    """How many of so many tokens it keeps."""
    if isinstance(layer, DynamicSlidingWindowLayer):
        return min(length, layer.sliding_window - 1)
    return length


def note_length(layer: Any, length: int) -> None:
    """Some layers count the tokens they have seen."""
    if isinstance(layer, DynamicSlidingWindowLayer):
        layer.cumulative_length = length


def state_names(layer: Any) -> tuple[str, ...]:
    """What it keeps besides, by number."""
    if isinstance(layer, LinearAttentionLayer):
        return ("conv_states", "recurrent_states")
    return ()


def widened(states: torch.Tensor, length: int) -> torch.Tensor:
    """Zeros on the left, up to a length."""
    return pad(states, (0, 0, length - states.shape[-2], 0))
