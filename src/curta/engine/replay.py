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
from curta.engine.guards import GuardCheck
from curta.engine.hull_level import HullLevel
from curta.engine.hull_replay import NOT_ASKED, replay_hull

if TYPE_CHECKING:
    from curta.engine.plain import Plain
    from curta.engine.transformer import Cache

Mask = npt.NDArray[np.bool_]
OnProgress = Callable[[float], object]
"""Told which share of the work is done."""
BLOCK = 256
"""Positions that softmax takes at a time where PyTorch would keep the scores of all."""
LOGIT_ROWS = 512
"""Positions whose logits are computed at once."""


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
    for said in _blocks(engine, ids, asked, on_progress):
        done += len(said)
        if on_progress is not None:
            on_progress(done / len(ids))
        yield said


def _blocks(
    engine: Engine, ids: Ids, asked: Mask, on_progress: OnProgress | None
) -> Generator[Ids, None, None]:
    if isinstance(engine, HullLevel):
        yield from replay_hull(engine, ids, asked)
    elif engine.level == "plain":
        from curta.engine.plain import Plain

        assert isinstance(engine, Plain)
        yield from _replay_plain(engine, ids, asked, on_progress)
    else:
        session = engine.session()
        for token in ids.tolist():
            yield np.array([session.feed(token)], dtype=np.int32)


def _replay_plain(
    engine: Plain, ids: Ids, asked: Mask, on_progress: OnProgress | None
) -> Generator[Ids, None, None]:
    """Softmax over all of the sequence so far.

    On a CPU, PyTorch's attention goes through queries and keys in tiles, so that the whole sequence
    is one forward pass. Elsewhere it may keep the scores of all queries.
    """
    cache: Cache = []
    most = len(ids) if engine.device == "cpu" else BLOCK
    for start in range(0, len(ids), max(1, most)):
        block = slice(start, start + most)
        report = None if on_progress is None or most < len(ids) else on_progress
        said, check = _forward(engine, ids[block], asked[block], start, cache, report)
        yield said[: check.kept(len(said))]
        check.finish()


def _forward(
    engine: Plain,
    ids: Ids,
    asked: Mask,
    start: int,
    cache: Cache,
    on_progress: OnProgress | None = None,
) -> tuple[Ids, GuardCheck]:
    """A block through all layers, from position `start` on; the arg-max where it is asked."""
    import torch

    tokens = torch.tensor([ids.tolist()], device=engine.device)
    check = GuardCheck(engine.guards, start)
    shares = _shares(engine)
    for period, x in enumerate(engine.transformer.half_layers(tokens, cache)):
        stream = x[0]
        check.look(period, stream.cpu().numpy())
        if on_progress is not None:
            on_progress(shares[period])
    said = np.full(len(ids), NOT_ASKED, dtype=np.int32)
    places = np.flatnonzero(asked)
    for first in range(0, len(places), LOGIT_ROWS):
        rows = places[first : first + LOGIT_ROWS]
        ends = stream[torch.from_numpy(rows).to(engine.device)]
        said[rows] = engine.transformer.unembedding(ends).argmax(dim=-1).cpu().numpy()
    return said, check


def _shares(engine: Plain) -> list[float]:
    """How far a forward pass has come after every half layer: heads take most of the time."""
    work = [1]
    for layer in engine.model.plan["layers"]:
        work += [1 + 10 * len(layer["heads"]), 1]
    done = np.cumsum(work)
    shares: list[float] = (done / (done[-1] + 1)).tolist()
    return shares
