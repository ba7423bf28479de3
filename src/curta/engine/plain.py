"""Level 2: the transformer as anyone would run it, softmax over the whole prefix (PyTorch).

The module in `engine.transformer` knows nothing of promises. This level reads its residual stream
at every position and stops a run that breaks one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from curta.compiler.model import Model
from curta.engine.base import Engine, Residuals, Session
from curta.engine.guards import check_guards, guards_of
from curta.errors import UserError

try:
    import torch

    from curta.engine.transformer import Cache, Transformer
except ImportError as error:
    raise UserError("level 'plain' needs PyTorch: pip install 'curta[torch]'") from error


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
        tokens = torch.tensor([self.check_prompt(ids).tolist()], device=self.device)
        return as_array(self.transformer.residual_streams(tokens))

    def predictions(self, ids: Sequence[int], block: int = 256) -> list[int]:
        """What the model says after every position of a given sequence, a block at a time."""
        tokens = torch.tensor([self.check_prompt(ids).tolist()], device=self.device)
        session = PlainSession(self)
        said: list[int] = []
        for start in range(0, tokens.shape[1], block):
            said += session.feed_block(tokens[:, start : start + block], start)
        return said


class PlainSession(Session):
    engine: Plain

    def __init__(self, engine: Plain) -> None:
        super().__init__(engine)
        self.cache: Cache = []

    def _feed(self, token: int) -> int:
        return self.feed_block(torch.tensor([[token]], device=self.engine.device), self.length)[-1]

    def feed_block(self, tokens: torch.Tensor, start: int) -> list[int]:
        """Checked tokens, the first at position `start`."""
        streams = self.engine.transformer.residual_streams(tokens, self.cache)
        check_guards(self.engine.guards, as_array(streams), start)
        logits = self.engine.transformer.unembedding(streams[-1][0])
        said: list[int] = logits.argmax(dim=-1).tolist()
        return said


def as_array(streams: list[torch.Tensor]) -> Residuals:
    """[position, period, slot] of the first sequence in the batch."""
    stacked: Residuals = torch.stack([stream[0] for stream in streams], dim=1).cpu().numpy()
    return stacked


def use_threads(count: int) -> None:
    """How many cores PyTorch takes in this process."""
    torch.set_num_threads(count)
