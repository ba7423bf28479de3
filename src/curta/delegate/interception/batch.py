"""Rows that go through a model together: one step for all of them, rows that join, rows that leave.

A step feeds every row what waits for it, has those choose that have nothing left, and lets those go
that are done. Masks, positions and caches are transformers' own `model_kwargs`, so that whatever a
model makes of them is right; rows are padded on the left. `generate` is a batch that nobody joins.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any
from typing import Protocol as Interface

import torch
from torch.nn.functional import pad

from curta.delegate.interception import caches
from curta.delegate.interception.row import Row

COLUMNS = ("attention_mask", "token_type_ids", "position_ids")
"""What a pass is given that has something for each token: the last two dimensions are rows and
their tokens."""

ONE_BY_ONE = frozenset({"falcon_mamba", "jamba", "mamba", "mamba2", "zamba"})
"""Models whose state is not the same if several tokens are appended to it at once: they begin a new
one. (A server tries it, too; `generate` has no pass to spare.)"""


class Chooses(Interface):
    """What is done with scores."""

    def choose(self, batch: Batch, scores: torch.Tensor) -> None:
        """Have rows take tokens, by the scores of what is next."""

    def all_tokens(self, batch: Batch, fed: torch.Tensor) -> torch.Tensor:
        """What a pass is given: at least the tokens that are fed, or all there are of each row."""


@dataclass(eq=False)
class Batch:
    """Rows, and what a model remembers of them.

    rows:    of the kind that whoever chooses for them has made
    given:   what transformers gives the model with each pass, up to the last one
    outputs: of the last pass, with the cache in it; None before the first
    appends: whether a row that is alone may be fed several tokens at once
    """

    model: Any
    rows: Sequence[Any]
    given: dict[str, Any] = field(default_factory=dict)
    outputs: Any = None
    _: KW_ONLY
    appends: bool
    padding: int = 0

    @property
    def cache(self) -> Any:
        """What the model remembers."""
        return self.outputs.get("cache")

    def step(self, chooses: Chooses, count: int | None = None) -> Batch | None:
        """One pass, and the rows that go on; `count` tokens of each, or as many as can be."""
        if count is None:
            alone = len(self.rows) == 1 and self.appends
            count = len(self.rows[0].waiting) if alone else 1
        fed = torch.tensor([self.popped(row, count) for row in self.rows], device=self.model.device)
        chooses.choose(self, self.scores(chooses.all_tokens(self, fed), count))
        return self.going_on()

    def popped(self, row: Row, count: int) -> list[int]:
        """So many tokens of what waits for a row."""
        if row.done:
            return [self.padding] * count
        row.tokens += count
        return [row.waiting.popleft() for _ in range(count)]

    @torch.no_grad()
    def scores(self, tokens: torch.Tensor, count: int) -> torch.Tensor:
        """One pass with the last `count` tokens: the scores of what is next."""
        is_first = self.outputs is None
        if is_first:
            self.given = beginning(self.model, tokens)
        else:
            self.given = self.model._update_model_kwargs_for_generation(
                self.outputs, dict(self.given), num_new_tokens=count
            )
        inputs = self.model.prepare_inputs_for_generation(
            tokens,
            next_sequence_length=count if self.given["use_cache"] else None,
            is_first_iteration=is_first,
            **self.given,
        )
        self.outputs = self.model(**inputs, return_dict=True)
        scores: torch.Tensor = self.outputs.logits[:, -1]
        return scores

    def due(self) -> list[int]:
        """The places of rows that choose now."""
        return [n for n, row in enumerate(self.rows) if not row.done and not row.waiting]

    def going_on(self) -> Batch | None:
        """Without the rows that are done, if the cache can do without them."""
        places = [n for n, row in enumerate(self.rows) if not row.done]
        if not places or len(places) == len(self.rows) or self.can_be_parted():
            return self.part(places)
        return self

    def can_be_parted(self) -> bool:
        """Whether all that a pass is given is known to have rows, or none."""
        return caches.can_be_parted(self.cache) and all(
            name in COLUMNS and value.shape[-2] == len(self.rows)
            for name, value in self.given.items()
            if isinstance(value, torch.Tensor)
        )

    def part(self, places: Sequence[int]) -> Batch | None:
        """These rows only; padding that all of them have is cut off."""
        if len(places) == len(self.rows):
            return self
        if not places:
            return None
        return gathered([self], [self.rows[n] for n in places], list(places))


def joined(batches: Sequence[Batch]) -> Batch:
    """All rows in one batch."""
    if len(batches) == 1:
        return batches[0]
    return gathered(batches, [row for batch in batches for row in batch.rows], slice(None))


def gathered(batches: Sequence[Batch], rows: list[Row], places: list[int] | slice) -> Batch:
    """A batch of these rows, which are in these places of all; as long as the longest of them."""
    made = copy.copy(batches[0])
    columns = {
        name: [batch.given[name][..., places, :] for batch in batches]
        for name in COLUMNS
        if made.given.get(name) is not None
    }
    masks = columns.get("attention_mask", ())
    length = max((int(mask.sum(dim=-1).max()) for mask in masks), default=None)
    cache = caches.gathered([batch.cache for batch in batches], places, length)
    made.rows, made.outputs = rows, copy.copy(made.outputs)
    made.outputs["cache"] = cache
    made.given = made.given | {"cache": cache}
    for name, found in columns.items():
        if length is not None:
            found = [pad(each, (length - each.shape[-1], 0)) for each in found]
        made.given[name] = torch.cat(found, dim=-2)
    return made


def beginning(model: Any, tokens: torch.Tensor) -> dict[str, Any]:
    """What a pass over the first tokens of rows is given, none of which is padding."""
    ones = torch.ones_like(tokens)
    given: dict[str, Any] = {"attention_mask": ones, "use_cache": True}
    taken = inspect.signature(model.forward).parameters
    if "position_ids" in taken:
        given["position_ids"] = ones.cumsum(dim=-1) - 1
    if "logits_to_keep" in taken:
        given["logits_to_keep"] = 1
    return given
