"""A language model and compiled programs in one model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from curta.later import later

if TYPE_CHECKING:
    from curta.hybrid.model import HybridModel
    from curta.hybrid.modules import Module
    from curta.hybrid.transcript import Transcript
    from curta.hybrid.unit.model import UnitModel

__all__ = ["HybridModel", "Module", "Transcript", "UnitModel"]
__getattr__ = later(
    __name__,
    {
        "HybridModel": "curta.hybrid.model",
        "Module": "curta.hybrid.modules",
        "Transcript": "curta.hybrid.transcript",
        "UnitModel": "curta.hybrid.unit.model",
    },
)
