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
from contextlib import suppress
from pathlib import Path
from typing import Any

import curta
import curta.compiler
from curta.compiler import Graph, Model, compile, load_model
from curta.compiler.compile import OnPass, checked_length
from curta.compiler.resolve import resolve
from curta.compiler.serialize import graph_to_json
from curta.engine.settings import read_settings
from curta.errors import FileError


def compile_cached(graph: Graph, max_tokens: int, on_pass: OnPass | None = None) -> Model:
    """The compiled graph, from the cache if it was compiled before.

    A cache that is damaged, or cannot be read or written, costs time and nothing else.
    """
    length = checked_length(max_tokens)
    content = graph_to_json(resolve(graph))
    path = read_settings().cache_directory / "models" / f"{graph_key(content, length)}.safetensors"
    with suppress(FileError):
        model = load_model(path)
        if (graph_to_json(model.graph), model.certificate.max_tokens) == (content, length):
            return model
    model = compile(graph, length, on_pass)
    keep(path, model.to_bytes())
    return model


def graph_key(content: dict[str, Any], max_tokens: int) -> str:
    total = hashlib.sha256(compiler_digest())
    total.update(json.dumps([content, max_tokens]).encode())
    return total.hexdigest()[:32]


def compiler_digest() -> bytes:
    """Changes whenever the compiler's source does."""
    total = hashlib.sha256()
    for path in sorted(Path(curta.compiler.__file__).parent.glob("*.py")):
        total.update(path.read_bytes())
    return total.digest()


def runs_what_files_say() -> bool:
    """Whether no file of curta was changed since this process imported it. Else what it makes is
    not what the files would, under whose digest it would be found.
    """
    files = (path for path in Path(curta.__file__).parent.rglob("*") if path.suffix in _SOURCES)
    return all(path.stat().st_ctime <= curta.IMPORTED for path in files)


_SOURCES = (".py", ".c", ".wasm")


def keep(path: Path, content: bytes) -> None:
    """Keep what can be made again, if it can be kept."""
    with suppress(OSError):
        if runs_what_files_say():
            write_atomically(path, content)


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
