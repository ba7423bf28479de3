"""Going through a sequence that is known already, many positions at a time.

A session computes position after position, because the next token depends on the last. A given
sequence can be taken many positions at a time, layer by layer: the maps become products of large
matrices, and softmax attention or the caches answer for all of them. What is said is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Generator

import numpy as np

from curta.engine.base import Engine, Ids, Mask

OnProgress = Callable[[float], object]
"""Told which share of the work is done."""


def replay(
    engine: Engine, ids: Ids, asked: Mask | None = None, on_progress: OnProgress | None = None
) -> Generator[Ids, None, None]:
    """What the model says after every position of the sequence, block by block.

    A position that breaks a promise is an error, after what was said before it.

    `asked` has the positions whose logits are of interest; what is said after others is NOT_ASKED.
    """
    ids = engine.check_ids(ids)
    if len(ids) > engine.max_tokens:
        raise engine.too_long()
    if asked is None:
        asked = np.ones(len(ids), dtype=np.bool_)
    done = 0
    for said in engine.replay(ids, asked):
        done += len(said)
        if on_progress is not None:
            on_progress(done / len(ids))
        yield said
