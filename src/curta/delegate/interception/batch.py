"""The rows of a batch that a model still works on: those that are done leave it.

Only the model's pass gets smaller. Whatever else `generate` does, with scores or to decide when to
stop, sees all rows as before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from curta.delegate.interception import caches

ROWS_OF = {"attention_mask": 0, "token_type_ids": 0, "position_ids": -2}
"""What a pass is given that has a row for each row of the batch, and in which dimension."""

CACHES = ("past_key_values", "cache_params")
"""What models call their cache."""

WORTHWHILE = 0.75
"""Rows leave when no more than this share of them goes on: it costs a copy of the cache."""


class Batch:
    """Which rows a model works on."""

    def __init__(self, rows: int, device: torch.device) -> None:
        self.rows = rows
        self.going = torch.arange(rows, device=device)

    @property
    def is_whole(self) -> bool:
        """Whether no row has left."""
        return len(self.going) == self.rows

    def leave(self, done: Sequence[bool], model_kwargs: dict[str, Any]) -> dict[str, Any]:
        """Let the rows go that are done, if that is worth it and the cache can do without them."""
        places = [place for place, row in enumerate(self.going.tolist()) if not done[row]]
        if len(places) > WORTHWHILE * len(self.going) or not can_leave(model_kwargs):
            return model_kwargs
        kept = torch.tensor(places, device=self.going.device)
        self.going = self.going[kept]
        fewer = dict(model_kwargs)
        for name, value in model_kwargs.items():
            if name in CACHES:
                fewer[name] = caches.keep(value, places)
            elif isinstance(value, torch.Tensor):
                fewer[name] = value.index_select(ROWS_OF[name], kept)
        return fewer

    def of(self, everything: torch.Tensor) -> torch.Tensor:
        """The rows that go on."""
        return everything if self.is_whole else everything[self.going]

    def spread(self, rows: torch.Tensor) -> torch.Tensor:
        """A model's rows among all; zeros where there is none any more."""
        if self.is_whole:
            return rows
        everything = rows.new_zeros((self.rows, *rows.shape[1:]))
        everything[self.going] = rows
        return everything


def can_leave(model_kwargs: dict[str, Any]) -> bool:
    """Whether all that a pass is given is known to have rows, or none."""
    given = [model_kwargs[name] for name in CACHES if model_kwargs.get(name) is not None]
    tensors = {name for name, value in model_kwargs.items() if isinstance(value, torch.Tensor)}
    return len(given) == 1 and caches.can_be_parted(given[0]) and tensors <= ROWS_OF.keys()
