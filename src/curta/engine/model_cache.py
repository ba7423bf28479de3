"""Compiled graphs, kept: a changed graph, length or compiler compiles again."""

from __future__ import annotations

import json
from contextlib import suppress

from curta.compiler import Graph, Model, compile
from curta.compiler.compile import OnPass, checked_length
from curta.compiler.model import model_from_bytes
from curta.compiler.resolve import resolve
from curta.compiler.serialize import graph_to_json
from curta.errors import FileError
from curta.store import Shelf, key_of, sources_digest

MODELS = Shelf("models", compressed=True)


def compile_cached(graph: Graph, max_tokens: int, on_pass: OnPass | None = None) -> Model:
    """The compiled graph, from the cache if it was compiled before."""
    length = checked_length(max_tokens)
    key = model_key(graph, length)
    with suppress(FileError):
        kept = MODELS.read(key)
        if kept is not None:
            return model_from_bytes(kept, f"the model {key} in the cache")
    model = compile(graph, length, on_pass)
    MODELS.keep(key, model.to_bytes())
    return model


def model_key(graph: Graph, max_tokens: int) -> str | None:
    content = json.dumps([graph_to_json(resolve(graph)), max_tokens]).encode()
    return key_of(sources_digest("compiler/*.py"), content)
