"""`curta build`: compile a program and write it down."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
import traceback
from pathlib import Path
from types import ModuleType

from curta.app.gallery import find_program
from curta.compiler import Graph, Model
from curta.compiler.compile import DEFAULT_MAX_TOKENS
from curta.compiler.numbers import short
from curta.engine.model_cache import compile_cached
from curta.errors import CurtaError, UserError

MACHINE = "machine"
"""The name that stands for the machine's fixed weights, which `curta run` keeps in its cache."""


def run(name: str, emit: str, output: str, max_tokens: int | None) -> None:
    """Compile the program and write the file or folder."""
    graph, default = find_graph(name)
    model = compile_cached(graph, default if max_tokens is None else max_tokens)
    path = Path(output)
    try:
        if emit == "safetensors":
            model.save(path)
        elif emit == "c":
            from curta.engine.native import model_to_c

            path.write_text(model_to_c(model), encoding="utf-8")
        else:
            write_torch(model, path)
    except OSError as error:
        raise UserError(f"cannot write {output}: {error.strerror}; choose another place") from error
    layers, width = len(model.plan["layers"]), model.plan["width"]
    print(f"{output}: {layers} layers, width {width}, {model.nonzero_weights:,} layer weights")
    print(model.certificate)


def find_graph(name: str) -> tuple[Graph, int]:
    """The machine, a graph of the gallery, or the one that a Python file builds."""
    if name == MACHINE:
        from curta.machine.computer import build
        from curta.machine.instructions import MOST_TOKENS

        return build(), MOST_TOKENS
    if not name.endswith(".py"):
        program = find_program(name)
        return program.build(), program.max_tokens
    path = Path(name)
    if not path.exists():
        raise UserError(f"{name}: no such file")
    try:
        module = run_file(path)
        if not callable(getattr(module, "build", None)):
            raise UserError(f"{name} has no function build() that returns a Graph")
        graph = module.build()
    except CurtaError as error:
        raise type(error)(f"{where(path, error)}: {error}") from error
    except SystemExit as error:
        raise UserError(
            f"{name} ended Python (SystemExit {error.code}) instead of building"
        ) from error
    except Exception as error:  # whatever the user's own code raises
        text = " ".join(str(error).split())
        raise UserError(f"{where(path, error)}: {type(error).__name__}: {text}") from error
    if not isinstance(graph, Graph):
        raise UserError(f"{name}: build() returned {short(graph)}, expected a Graph")
    return graph, DEFAULT_MAX_TOKENS


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


def write_torch(model: Model, folder: Path) -> None:
    """The weights beside the module that loads them: runs with torch and safetensors alone."""
    for token in model.vocabulary:
        if token.splitlines() != [token]:
            raise UserError(f"token {token!r}: vocabulary.txt has one line per token; rename it")
    source = Path(__file__).parent.parent / "engine" / "transformer.py"
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, folder / "transformer.py")
    (folder / "model.safetensors").write_bytes(model.to_bytes())
    limits = {
        "max_tokens": model.certificate.softmax_tokens,
        "stops": model.plan["stops"],
        "promises": model.plan["guards"],
    }
    (folder / "limits.json").write_text(json.dumps(limits, indent=1), encoding="utf-8")
    vocabulary = "".join(f"{token}\n" for token in model.vocabulary)
    (folder / "vocabulary.txt").write_text(vocabulary, encoding="utf-8")
