"""Level 2: the transformer as anyone would run it, softmax over the whole prefix (PyTorch).

The module in `engine.transformer` knows nothing of promises. This level reads its residual stream
at every position and stops a run that breaks one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from curta.compiler.model import Model
from curta.engine.base import NOT_ASKED, Engine, Ids, Residuals, Session
from curta.engine.guards import GuardCheck, guards_of
from curta.errors import UserError

try:
    import torch

    from curta.engine.transformer import Transformer
except ImportError as error:
    raise UserError("level 'plain' needs PyTorch: pip install 'curta[torch]'") from error

LOGIT_ROWS = 128
"""Positions whose logits are computed at once."""


class Plain(Engine):
    """Softmax attention in float64, nothing else."""

    level: ClassVar[str] = "plain"

    def __init__(self, model: Model, device: str = "cpu") -> None:
        super().__init__(model)
        tensors = {name: torch.from_numpy(tensor.copy()) for name, tensor in model.weights.items()}
        self.transformer = Transformer(tensors).to(device)
        self.device = device
        self.guards = guards_of(model)

    @property
    def max_tokens(self) -> int:
        return self.model.certificate.softmax_tokens

    def session(self) -> PlainSession:
        return PlainSession(self)

    def residuals(self, ids: Sequence[int]) -> Residuals:
        tokens = self.tensor(self.check_prompt(ids))
        streams = self.transformer.half_layers(tokens, self.transformer.new_cache())
        stacked: Residuals = torch.stack([x[0] for x in streams], dim=1).cpu().numpy()
        return stacked

    def tensor(self, ids: Ids) -> torch.Tensor:
        """A batch of one sequence."""
        return torch.from_numpy(ids.astype(np.int64))[None].to(self.device)


class PlainSession(Session):
    engine: Plain

    def __init__(self, engine: Plain) -> None:
        super().__init__(engine)
        self.cache = engine.transformer.new_cache()

    def _feed(self, token: int) -> int:
        said, check = self.feed_block(np.array([token]), np.array([True]))
        check.finish()
        return int(said[0])

    def feed_block(self, ids: Ids, asked: npt.NDArray[np.bool_]) -> tuple[Ids, GuardCheck]:
        """Checked tokens through all layers; what is said after those that are asked for."""
        transformer = self.engine.transformer
        check = GuardCheck(self.engine.guards, self.cache.length)
        for period, x in enumerate(transformer.half_layers(self.engine.tensor(ids), self.cache)):
            stream = x[0]
            if period in self.engine.guards:
                check.look(period, stream.cpu().numpy())
        said = np.full(len(ids), NOT_ASKED, dtype=np.int32)
        places = np.flatnonzero(asked)
        for first in range(0, len(places), LOGIT_ROWS):
            rows = places[first : first + LOGIT_ROWS]
            ends = stream[torch.from_numpy(rows).to(stream.device)]
            said[rows] = transformer.unembedding(ends).argmax(dim=-1).cpu().numpy()
        return said, check


def use_threads(count: int) -> None:
    """How many cores PyTorch takes in this process."""
    torch.set_num_threads(count)
