"""Transformer weights in, tokens out, at levels that always say the same."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

from curta.compiler.model import Model, load_model
from curta.engine.base import Engine, Session
from curta.engine.trace_file import SavedTrace, load_trace, save_trace
from curta.errors import UserError

Level = Literal["evaluate", "plain", "hull", "native", "speculative"]
LEVELS: tuple[Level, ...] = get_args(Level)


def load(model: str | Path | Model, level: Level = "native") -> Engine:
    """A model file, or a model, ready to run at one of the levels."""
    if level not in LEVELS:
        raise UserError(f"level={level!r}: expected one of {', '.join(LEVELS)}")
    loaded = model if isinstance(model, Model) else load_model(model)
    match level:
        case "evaluate":
            from curta.engine.evaluate import Evaluate

            return Evaluate(loaded)
        case "plain":
            from curta.engine.plain import Plain

            return Plain(loaded)
        case "hull":
            from curta.engine.hull_level import HullLevel

            return HullLevel(loaded)
        case "native":
            from curta.engine.native_level import Native

            return Native(loaded)
        case "speculative":
            from curta.engine.speculative import Speculative

            return Speculative(loaded)


__all__ = [
    "LEVELS",
    "Engine",
    "Level",
    "SavedTrace",
    "Session",
    "load",
    "load_trace",
    "save_trace",
]
