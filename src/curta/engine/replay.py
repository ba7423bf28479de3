"""Going through a sequence that is known already, many positions at a time.

A session computes position after position, because the next token depends on the last. A given
sequence can be taken a block of positions at a time, layer by layer: the maps become products of
matrices, and softmax attention or the caches answer for the whole block. What is said is the same.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from curta.engine.base import Engine, Ids
from curta.engine.guards import GuardCheck
from curta.engine.hull_level import HullLevel
from curta.engine.hull_replay import replay_hull

if TYPE_CHECKING:
    import torch

    from curta.engine.plain import Plain

Mask = npt.NDArray[np.bool_]
NOT_ASKED = -1
BLOCK = 256
"""Positions that softmax takes at a time: few enough for their scores to stay near the processor."""


def replay(engine: Engine, ids: Ids, asked: Mask | None = None) -> Generator[Ids, None, None]:
    """What the model says after every position of the sequence, block by block.

    `asked` has the positions whose logits are of interest; what is said after others is NOT_ASKED.
    """
    ids = engine.check_ids(ids)
    if len(ids) > engine.max_tokens:
        raise engine.too_long()
    if asked is None:
        asked = np.ones(len(ids), dtype=np.bool_)
    if isinstance(engine, HullLevel):
        yield from replay_hull(engine, ids, asked)
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
    cache: list[tuple[torch.Tensor, torch.Tensor]] = []
    for start in range(0, len(ids), BLOCK):
        block = slice(start, start + BLOCK)
        yield _said(engine, ids[block], asked[block], start, cache)


def _said(
    engine: Plain,
    ids: Ids,
    asked: Mask,
    start: int,
    cache: list[tuple[torch.Tensor, torch.Tensor]],
) -> Ids:
    """A block through all layers, from position `start` on; the arg-max where it is asked."""
    import torch

    tokens = torch.tensor([ids.tolist()], device=engine.device)
    check = GuardCheck(engine.guards, start)
    for period, x in enumerate(engine.transformer.half_layers(tokens, cache)):
        stream = x[0]
        check.look(period, stream.cpu().numpy())
    check.finish()
    said = np.full(len(ids), NOT_ASKED, dtype=np.int32)
    places = np.flatnonzero(asked)
    if len(places):
        rows = torch.from_numpy(places).to(engine.device)
        said[places] = engine.transformer.unembedding(stream[rows]).argmax(dim=-1).cpu().numpy()
    return said
