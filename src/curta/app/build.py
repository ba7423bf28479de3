"""`curta build`: compile a program and write it down."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path

from curta.app.gallery import find_program
from curta.compiler import Graph, Model
from curta.compiler.compile import DEFAULT_MAX_TOKENS
from curta.engine.model_cache import compile_cached
from curta.errors import UserError


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
    """A graph of the gallery, or the one that a Python file builds."""
    if not name.endswith(".py"):
        program = find_program(name)
        return program.build(), program.max_tokens
    path = Path(name)
    if not path.exists():
        raise UserError(f"{name}: no such file")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    if not hasattr(module, "build"):
        raise UserError(f"{name} has no function build() that returns a Graph")
    graph = module.build()
    if not isinstance(graph, Graph):
        raise UserError(f"{name}: build() returned a {type(graph).__name__}, expected a Graph")
    return graph, DEFAULT_MAX_TOKENS


def write_torch(model: Model, folder: Path) -> None:
    """The weights beside the module that loads them: runs with torch and safetensors alone."""
    source = Path(__file__).parent.parent / "engine" / "transformer.py"
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, folder / "transformer.py")
    (folder / "model.safetensors").write_bytes(model.to_bytes())
    vocabulary = "".join(f"{token}\n" for token in model.vocabulary)
    (folder / "vocabulary.txt").write_text(vocabulary)
