"""Models by name: where an experiment says `--model NAME`."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from types import MappingProxyType

from curta.errors import ExperimentError
from curta.learn.models.config import ModelConfig

PRESETS: Mapping[str, tuple[str, ModelConfig]] = MappingProxyType(
    {
        "transformer": ("4 layers of width 64, pre-norm", ModelConfig()),
        "tiny": (
            "1 layer of width 32, for trying things out",
            ModelConfig(width=32, layers=1, heads=4, feedforward=64),
        ),
        "catculator": (
            "4 layers of width 64, with dropout",
            ModelConfig(dropout=0.1),
        ),
        "looped": (
            "1 layer of width 64 applied 8 times, with input injection",
            ModelConfig(layers=1, loops=8, injection=True),
        ),
        "wide": (
            "6 layers of width 256",
            ModelConfig(width=256, layers=6, heads=8, feedforward=1024),
        ),
        "abacus": (
            "16 layers deep, as 1 looped 16 times, of width 1024",
            ModelConfig(width=1024, layers=1, heads=16, feedforward=2048, loops=16, injection=True),
        ),
    }
)
"""By name: a line about the model, and its options."""


def model(name: str) -> ModelConfig:
    """The model of this name."""
    if name not in PRESETS:
        near = difflib.get_close_matches(name, PRESETS, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(PRESETS)}"
        raise ExperimentError(f"no model is called {name!r}: {hint}")
    return PRESETS[name][1]
