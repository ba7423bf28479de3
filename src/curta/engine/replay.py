"""Going through a sequence that is known already, many positions at a time.

A session computes position after position, because the next token depends on the last. A given
sequence can be taken many positions at a time, layer by layer: the maps become products of large
matrices, and softmax attention or the caches answer for all of them. What is said is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from curta.engine.base import Engine, Ids
from curta.engine.hull_level import HullLevel

if TYPE_CHECKING:
    from curta.engine.plain import Plain

Mask = npt.NDArray[np.bool_]
OnProgress = Callable[[float], object]
"""Told which share of the work is done."""
BLOCK = 256
"""Positions that the plain level takes at a time: their residual stream stays in a cache."""


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
    for said in _blocks(engine, ids, asked):
        done += len(said)
        if on_progress is not None:
            on_progress(done / len(ids))
        yield said


def _blocks(engine: Engine, ids: Ids, asked: Mask) -> Generator[Ids, None, None]:
    if isinstance(engine, HullLevel):
        yield from engine.replay(ids, asked)
    elif engine.level == "plain":
        from curta.engine.plain import Plain

        assert isinstance(engine, Plain)
        yield from _replay_plain(engine, ids, asked)
    else:
        session = engine.session()
        for token in ids.tolist():
            yield np.array([session.feed(token)], dtype=np.int32)


def _replay_plain(engine: Plain, ids: Ids, asked: Mask) -> Generator[Ids, None, None]:
    """Softmax over all of the sequence so far."""
    session = engine.session()
    for start in range(0, len(ids), BLOCK):
        block = slice(start, start + BLOCK)
        said, check = session.feed_block(ids[block], asked[block])
        yield said[: check.kept(len(said))]
        check.finish()
