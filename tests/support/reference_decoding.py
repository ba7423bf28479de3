"""What decoding with calls is: after every token, the whole row through the model again.

No cache, one row, the most likely token. Every faster way has to say the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from curta.delegate.interception.row import Row


@torch.no_grad()
def decode(
    model: Any,
    prompt: Sequence[int],
    row: Row,
    *,
    tokens: int,
    ends: frozenset[int] = frozenset(),
    processor: Callable[[torch.Tensor, torch.Tensor], torch.Tensor] = lambda tokens, scores: scores,
) -> list[int]:
    """The tokens behind the prompt, answers among them; `processor` is one of `generate`."""
    written: list[int] = []
    row.ends = ends
    while len(written) < tokens:
        given = torch.tensor([[*prompt, *written]], device=model.device)
        logits = model(input_ids=given, use_cache=False).logits
        scores = processor(given, row.narrowed(logits[0, -1].float())[None])
        choice = int(row.narrowed(scores[0]).argmax())
        written += row.take(choice, tokens - len(written))
        if row.closed:
            break
    row.finish()
    return written
