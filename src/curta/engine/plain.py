"""Level 2: the transformer as anyone would run it, softmax over the whole prefix (PyTorch).

The module in `engine.transformer` knows nothing of promises. This level reads its residual stream
at every position and stops a run that breaks one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from curta.compiler.model import Model
from curta.engine.base import Engine, Residuals, Session, broken_promise
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

    @property
    def max_tokens(self) -> int:
        return self.model.certificate.softmax_tokens

    def session(self) -> PlainSession:
        return PlainSession(self)

    def residuals(self, ids: Sequence[int]) -> Residuals:
        tokens = torch.tensor([self.check_prompt(ids).tolist()], device=self.device)
        streams = self.transformer.residual_streams(tokens)
        return torch.stack([stream[0] for stream in streams], dim=1).cpu().numpy()

    def predictions(self, ids: Sequence[int], block: int = 256) -> list[int]:
        """What the model says after every position of a given sequence, a block at a time."""
        tokens = torch.tensor([self.check_prompt(ids).tolist()], device=self.device)
        session = PlainSession(self)
        said: list[int] = []
        for start in range(0, tokens.shape[1], block):
            said += session.feed_block(tokens[:, start : start + block])
        return said


class PlainSession(Session):
    def __init__(self, engine: Plain) -> None:
        self.engine = engine
        self.cache: Cache = []
        self.length = 0

    def feed(self, token: int) -> int:
        return self.feed_block(torch.tensor([[token]], device=self.engine.device))[-1]

    def feed_block(self, tokens: torch.Tensor) -> list[int]:
        if self.length + tokens.shape[1] > self.engine.max_tokens:
            raise self.engine.too_long()
        streams = self.engine.transformer.residual_streams(tokens, self.cache)
        values = torch.stack([stream[0] for stream in streams], dim=1).cpu().numpy()
        check_guards(self.engine.model, values, self.length)
        self.length += tokens.shape[1]
        logits = self.engine.transformer.unembedding(streams[-1][0])
        said: list[int] = logits.argmax(dim=-1).tolist()
        return said


def check_guards(model: Model, residuals: Residuals, first: int) -> None:
    """Stop at the first position whose residual stream breaks a promise."""
    broken: list[tuple[int, str, float, float, float]] = []
    for guard in model.plan["guards"]:
        slots = [slot for slot, _ in guard["terms"]]
        weights = np.array([weight for _, weight in guard["terms"]], dtype=np.float64)
        values = residuals[:, guard["period"], slots] @ weights
        wrong = np.flatnonzero((values < guard["low"]) | (values > guard["high"]))
        if len(wrong):
            place = int(wrong[0])
            broken.append((place, guard["name"], values[place], guard["low"], guard["high"]))
    if broken:
        place, name, value, low, high = min(broken, key=lambda found: found[0])
        raise broken_promise(name, first + place, f"{value:.17g}", low, high)
