"""What decoding with calls is: after every token, the whole row through the model again.

No cache, one row, the most likely token. Every faster way has to say the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from curta.delegate.interception.row import Row


@torch.no_grad()
def decode(
    model: Any, prompt: Sequence[int], row: Row, *, tokens: int, ends: frozenset[int] = frozenset()
) -> list[int]:
    """The tokens behind the prompt, answers among them."""
    written: list[int] = []
    while len(written) < tokens:
        given = torch.tensor([[*prompt, *written]], device=model.device)
        logits = model(input_ids=given, use_cache=False).logits
        choice = int(logits[0, -1].float().argmax())
        written += [choice] if choice in ends else row.take(choice)
        if choice in ends:
            break
    row.finish()
    return written[:tokens]
