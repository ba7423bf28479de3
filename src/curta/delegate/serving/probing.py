"""What has to be tried before rows of a model can be served together."""

from __future__ import annotations

from typing import Any

import torch

from curta.delegate.interception import caches
from curta.delegate.interception.batch import ONE_BY_ONE, Batch, joined
from curta.errors import UserError

TOLERANCE = 1e-3
TOLERANCE_OF_HALVES = 0.1
"""Of scores, relative to the largest one: far above rounding, far below wrong positions."""


def begun(model: Any) -> Batch:
    """A batch for trying."""
    return Batch(model, [], appends=True)


def joins(model: Any) -> bool:
    """Whether rows can join a batch and leave it: two rows of different lengths say together what
    they say alone.
    """
    rows = [torch.arange(1, 4)[None], torch.arange(2, 9)[None]]
    alone, beginnings = [], []
    for row in rows:
        row = row.to(model.device)
        batch = begun(model)
        batch.scores(row[:, :-1], row.shape[1] - 1)
        if batch.cache is None:
            raise UserError(f"--model: {model.config.model_type} keeps no cache that can be served")
        beginnings.append(batch)
        alone.append(begun(model).scores(row, row.shape[1]))
    if not caches.can_be_joined(beginnings[0].cache, model.config):
        return False
    last = torch.cat([row[:, -1:] for row in rows]).to(model.device)
    return agree(joined(beginnings).scores(last, 1), torch.cat(alone))


def appends(model: Any) -> bool:
    """Whether several tokens can be appended at once: two of them come to what the row does."""
    if model.config.model_type in ONE_BY_ONE:
        return False
    row = torch.arange(2, 9, device=model.device)[None]
    batch, whole = begun(model), begun(model)
    batch.scores(row[:, :-2], row.shape[1] - 2)
    return agree(batch.scores(row[:, -2:], 2), whole.scores(row, row.shape[1]))


def agree(scores: torch.Tensor, right: torch.Tensor) -> bool:
    """Whether they differ by no more than rounding explains."""
    halves = scores.dtype in (torch.float16, torch.bfloat16)
    allowed = TOLERANCE_OF_HALVES if halves else TOLERANCE
    difference = (scores - right).float().abs().max()
    return bool(difference <= allowed * right.float().abs().max())
