"""Compiled graphs, kept in the user's cache directory.

The key is the graph itself, the certified length and the compiler's own source, so a changed graph
or a changed curta compiles again. Files are written whole and then renamed: two processes at once
do the work twice and agree on the result.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path

import curta.compiler
from curta.compiler import Graph, Model, compile, load_model
from curta.compiler.resolve import resolve
from curta.compiler.serialize import graph_to_json
from curta.engine.settings import read_settings
from curta.errors import FileError


def compile_cached(graph: Graph, max_tokens: int) -> Model:
    """The compiled graph, from the cache if it was compiled before."""
    path = (
        read_settings().cache_directory / "models" / f"{graph_key(graph, max_tokens)}.safetensors"
    )
    if path.exists():
        try:
            return load_model(path)
        except FileError:
            path.unlink(missing_ok=True)  # damaged: compile again
    model = compile(graph, max_tokens)
    write_atomically(path, model.to_bytes())
    return model


def graph_key(graph: Graph, max_tokens: int) -> str:
    total = hashlib.sha256(compiler_digest())
    text = json.dumps([graph_to_json(resolve(graph)), max_tokens])
    total.update(text.encode())
    return total.hexdigest()[:32]


def compiler_digest() -> bytes:
    """Changes whenever the compiler's source does."""
    total = hashlib.sha256()
    for path in sorted(Path(curta.compiler.__file__).parent.glob("*.py")):
        total.update(path.read_bytes())
    return total.digest()


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file that is either there in full or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
