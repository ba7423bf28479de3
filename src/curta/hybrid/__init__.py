"""A language model and compiled programs in one model."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from curta.hybrid.model import HybridModel
    from curta.hybrid.modules import Module
    from curta.hybrid.transcript import Transcript
    from curta.hybrid.unit.model import UnitModel

LATER = {
    "HybridModel": "curta.hybrid.model",
    "Module": "curta.hybrid.modules",
    "Transcript": "curta.hybrid.transcript",
    "UnitModel": "curta.hybrid.unit.model",
}
"""What is imported when it is used: commands begin without PyTorch."""

__all__ = ["HybridModel", "Module", "Transcript", "UnitModel"]


def __getattr__(name: str) -> Any:
    if name not in LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(LATER[name]), name)
