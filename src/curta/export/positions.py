"""What the embedding of positions says of each: a linear map of integer functions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from curta.compiler import Model

MAX_POSITIONS = 512
"""How many a table has, and how long a sequence is of which one looks at every part."""


def most_positions(model: Model) -> int:
    """As many, if the weights are exact for that many."""
    return min(MAX_POSITIONS, model.certificate.softmax_tokens)


def position_table(model: Model, count: int) -> NDArray[np.float64]:
    """Of the first positions, [position, slot]."""
    divisor, modulus, power, offset = (
        np.asarray(model.weights[f"position.{name}"], np.int64)
        for name in ("divisor", "modulus", "power", "offset")
    )
    digits = np.arange(count)[:, None] // divisor
    digits = np.where(modulus > 0, digits % np.maximum(modulus, 1), digits) - offset
    found: NDArray[np.float64] = (digits**power).astype(np.float64)
    return found @ model.weights["position.weight"].T
