"""Transformer weights in, tokens out, at levels that always say the same."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from curta.engine.base import Engine, Session
from curta.engine.trace_file import SavedTrace, load_trace, save_trace
from curta.errors import UserError

if TYPE_CHECKING:
    from curta.compiler.model import Model

Level = Literal["evaluate", "plain", "hull", "native", "speculative"]
LEVELS: tuple[Level, ...] = get_args(Level)
_CLASSES = {
    "evaluate": ("evaluate", "Evaluate"),
    "plain": ("plain", "Plain"),
    "hull": ("hull_level", "HullLevel"),
    "native": ("native_level", "Native"),
    "speculative": ("speculative", "Speculative"),
}
"""Each with the module that is imported when it is asked for."""


def load(model: str | Path | Model, level: Level = "native") -> Engine:
    """A model file, or a model, ready to run at one of the levels."""
    if level not in LEVELS:
        raise UserError(f"level={level!r}: expected one of {', '.join(LEVELS)}")
    if isinstance(model, str | Path):
        from curta.compiler.model import load_model

        model = load_model(model)
    module, name = _CLASSES[level]
    engine: Engine = getattr(import_module(f"curta.engine.{module}"), name)(model)
    return engine


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
