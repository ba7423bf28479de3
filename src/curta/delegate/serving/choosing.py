"""Which token is next: the most likely one, or one drawn with a row's own random numbers."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch

from curta.delegate.serving.stops import Score
from curta.delegate.serving.writing import Writing

COLDEST = 1e-6
"""Temperatures up to this one choose the most likely token."""

NewProcessor = Callable[[int], Any]


def choices(logits: torch.Tensor, writings: Sequence[Writing]) -> list[int]:
    """A token for each row of scores."""
    scores = logits.float()
    likely: list[int] = scores.argmax(dim=-1).tolist()
    for number, writing in enumerate(writings):
        is_drawn = writing.wanted.temperature > COLDEST
        is_narrowed = writing.calling.constraint is not None
        if not (is_drawn or writing.processor or is_narrowed):
            continue
        row = scores[number]
        if writing.processor:
            history = torch.tensor([writing.history], device=row.device)
            (row,) = writing.processor(history, row[None])
        row = writing.narrowed(row)
        likely[number] = drawn(row, writing) if is_drawn else int(row.argmax())
    for number, writing in enumerate(writings):
        if writing.wanted.scored is not None and likely[number] not in writing.ends:
            writing.scores.append(scored(scores[number], likely[number], writing))
    return likely


def scored(scores: torch.Tensor, token: int, writing: Writing) -> Score:
    """What the model says of a token, and which others it finds likeliest."""
    logprobs = torch.log_softmax(scores, dim=-1)
    best = logprobs.topk(writing.wanted.scored or 0)
    likeliest = zip(best.indices.tolist(), best.values.tolist(), strict=True)
    text = writing.said.decode
    return Score(
        text([token]),
        float(logprobs[token]),
        tuple((text([each]), value) for each, value in likeliest),
    )


def drawn(scores: torch.Tensor, writing: Writing) -> int:
    """A token by its probability; of the likeliest ones that make up `top_p` together."""
    wanted = writing.wanted
    shares = torch.softmax(scores.double().cpu() / wanted.temperature, dim=-1)
    ordered, tokens = shares.sort(descending=True, stable=True)
    sums = ordered.cumsum(dim=-1)
    kept = int((sums < wanted.top_p).sum()) + 1 if wanted.top_p < 1 else len(sums)
    kept = min(kept, int((ordered > 0).sum()))
    at = writing.random.random() * float(sums[kept - 1])
    place = int(torch.searchsorted(sums[:kept], at, right=True))
    return int(tokens[min(place, kept - 1)])


def own_processors(model: Any) -> NewProcessor:
    """What the model's own generation config does to scores, for a prompt of some length."""
    config = copy.deepcopy(model.generation_config)
    config.do_sample = False
    model._prepare_special_tokens(config, device=model.device)

    def new(prompt_length: int) -> Any:
        return model._get_logits_processor(
            generation_config=config,
            input_ids_seq_length=prompt_length,
            device=model.device,
            model_kwargs={},
        )

    return new
