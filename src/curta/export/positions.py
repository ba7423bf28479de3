"""How many positions are written or looked at, where each of them costs."""

from __future__ import annotations

from curta.compiler import Model

MAX_POSITIONS = 512
"""How many a table has, and how long a sequence is of which one looks at every part."""


def most_positions(model: Model) -> int:
    """As many, if the weights are exact for that many."""
    return min(MAX_POSITIONS, model.certificate.softmax_tokens)
