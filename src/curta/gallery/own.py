"""Programs of the user's own: the graph that a Python file builds."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType

from curta.compiler import Graph
from curta.dyadic import short
from curta.errors import CurtaError, UserError


def own_graph(name: str) -> Graph:
    """What the file's function `build()` returns."""
    graph = from_file(name, "build")
    if not isinstance(graph, Graph):
        raise UserError(f"{name}: build() returned {short(graph)}, expected a Graph")
    return graph


def from_file(name: str, function: str, *given: object) -> object:
    """What a function of the file returns; an error says which of its lines is wrong."""
    path = Path(name)
    if not path.exists():
        raise UserError(f"{name}: no such file")
    try:
        module = run_file(path)
        if not callable(getattr(module, function, None)):
            raise UserError(f"{name} has no function {function}()")
        return getattr(module, function)(*given)
    except CurtaError as error:
        raise type(error)(f"{where(path, error)}: {error}") from error
    except SystemExit as error:
        raise UserError(
            f"{name} ended Python (SystemExit {error.code}) instead of building"
        ) from error
    except Exception as error:  # whatever the user's own code raises
        text = " ".join(str(error).split())
        raise UserError(f"{where(path, error)}: {type(error).__name__}: {text}") from error


def run_file(path: Path) -> ModuleType:
    """A Python file as a module, under a name that hides no other module."""
    name = f"program in {path.name}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def where(path: Path, error: Exception) -> str:
    """The file, and the last of its lines that the error came through."""
    if isinstance(error, SyntaxError) and error.lineno:
        return f"{path}, line {error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename) == path.absolute()]
    return f"{path}, line {lines[-1]}" if lines else str(path)
