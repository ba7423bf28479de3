"""Published experiments. Every module here that defines RECIPE is one."""

from __future__ import annotations

import difflib
import importlib
import pkgutil

from curta.errors import ExperimentError
from curta.learn.experiment import Experiment
from curta.learn.recipes.base import Claim, Recipe

__all__ = ["Claim", "Recipe", "experiments", "recipe", "recipes"]


def recipes() -> dict[str, Recipe]:
    """All recipes by name."""
    found = {}
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda module: module.name):
        made = getattr(importlib.import_module(f"{__name__}.{module.name}"), "RECIPE", None)
        if isinstance(made, Recipe):
            found[made.name] = made
    return found


def recipe(name: str) -> Recipe:
    """The recipe of this name."""
    known = recipes()
    if name not in known:
        near = difflib.get_close_matches(name, known, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known) or 'none'}"
        raise ExperimentError(f"no recipe is called {name!r}: {hint}")
    return known[name]


def experiments(made: Recipe, preset: str) -> tuple[Experiment, ...]:
    """The experiments of a preset, in order."""
    if preset not in made.presets:
        raise ExperimentError(
            f"recipe {made.name} has no preset {preset!r}; its presets: {', '.join(made.presets)}"
        )
    return made.presets[preset]
