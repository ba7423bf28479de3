"""Level 2: the transformer as anyone would run it, softmax over the whole prefix (PyTorch).

The module in `engine.transformer` knows nothing of promises: `engine.blocks` looks at its residual
stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from curta.compiler.model import Model
from curta.engine.base import Ids, Residuals
from curta.engine.blocks import BlockEngine, BlockSession
from curta.errors import UserError

try:
    import torch

    from curta.engine.transformer import Transformer
except ImportError as error:
    raise UserError("level 'plain' needs PyTorch: pip install 'curta[torch]'") from error


class Plain(BlockEngine):
    """Softmax attention in float64, nothing else."""

    level: ClassVar[str] = "plain"
    block = 1024

    def __init__(self, model: Model, device: str = "cpu") -> None:
        super().__init__(model)
        tensors = {name: torch.from_numpy(tensor.copy()) for name, tensor in model.weights.items()}
        self.transformer = Transformer(tensors).to(device)
        self.device = device

    @property
    def max_tokens(self) -> int:
        return self.model.certificate.softmax_tokens

    def session(self) -> PlainSession:
        return PlainSession(self)


class PlainSession(BlockSession):
    engine: Plain

    def __init__(self, engine: Plain) -> None:
        super().__init__(engine)
        self.cache = engine.transformer.new_cache()
        self.stream: torch.Tensor

    def half_layers(self, ids: Ids) -> Iterator[Residuals]:
        batch = torch.from_numpy(ids.astype(np.int64))[None].to(self.engine.device)
        for x in self.engine.transformer.half_layers(batch, self.cache):
            self.stream = x[0]
            yield self.stream.cpu().numpy()

    def choose(self, places: npt.NDArray[np.int64]) -> Ids:
        rows = torch.from_numpy(places).to(self.stream.device)
        by_token = self.engine.transformer.logits(self.stream[rows]).T
        numbers = torch.arange(len(by_token), dtype=torch.int32, device=rows.device).unsqueeze(1)
        is_less = by_token < by_token.amax(dim=0)
        return torch.where(is_less, len(by_token), numbers).amin(dim=0).cpu().numpy()


def use_threads(count: int) -> None:
    """How many cores PyTorch takes in this process."""
    torch.set_num_threads(count)
