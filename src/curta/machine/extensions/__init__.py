"""Operations that a machine can be built with, each a module of its own.

An extension says what its operation computes, as a graph and in Python. A module that stands here
and has an `Extension` in it is found by its name; everybody else's is a module and a name in it.
"""

from __future__ import annotations

import importlib
import pkgutil

from curta.errors import UserError
from curta.machine.parts.operations import Extension, Sources

__all__ = ["Extension", "Sources", "built_in", "find_extension"]


def built_in() -> dict[str, str]:
    """Names of the extensions that come with curta, and the modules that they are in."""
    return {module.name: f"{__name__}.{module.name}" for module in pkgutil.iter_modules(__path__)}


def find_extension(text: str) -> Extension:
    """An extension by its name here, or as `module:NAME`."""
    place, colon, name = text.partition(":")
    if not colon:
        if text not in built_in():
            raise UserError(
                f"no extension {text!r}; there are {', '.join(built_in())}, and module:NAME for "
                "one of your own"
            )
        place, name = built_in()[text], text.upper()
    try:
        found = getattr(importlib.import_module(place), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise UserError(f"extension {text}: {error}") from error
    if not isinstance(found, Extension):
        raise UserError(f"extension {text} is {type(found).__name__}, expected an Extension")
    return found
