"""Tiny random language models with units that always or never fire."""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from typing import Any

import torch

from curta.hybrid.unit.arithmetic import Operation
from curta.hybrid.unit.model import Settings, UnitModel
from curta.hybrid.unit.router import OPERATIONS, Router, Shape
from tests.support import tiny_language_models as tiny

BASE = "grouped queries"


def router(operation: Operation | None, seed: int = 0) -> Router:
    """One with random weights that is sure of the operation; the operands are as it happens."""
    torch.manual_seed(seed)
    made = Router(Shape.of(base().config))
    scores = torch.full((len(OPERATIONS),), -200.0)
    scores[OPERATIONS.index(operation)] = 200.0
    with torch.no_grad():
        made.operation.bias.copy_(scores)
    return made.eval()


@cache
def base() -> Any:
    """A copy: units freeze it."""
    return deepcopy(tiny.model(BASE))


def unit(operation: Operation | None, tokenizer: Any = None) -> UnitModel:
    """A model with such a router."""
    settings = Settings(base=BASE, threshold=0.0)
    tokenizer = tokenizer or tiny.tokenizer()
    return UnitModel(base(), tokenizer, router(operation), settings).eval()


def batch(texts: list[str], side: str = "left", tokenizer: Any = None) -> dict[str, torch.Tensor]:
    """Texts as ids and mask."""
    tokens = tokenizer or tiny.tokenizer()
    rows = tokens(texts, padding=True, padding_side=side, return_tensors="pt")
    return {name: rows[name] for name in ("input_ids", "attention_mask")}
