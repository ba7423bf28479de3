"""Compiled graphs and the C of models, kept: a changed graph, length or compiler compiles again."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from curta.dyadic import FLOAT64
from curta.errors import FileError
from curta.store import Shelf, key_of, sources_digest

if TYPE_CHECKING:
    from curta.compiler import Graph, Model

COMPILER = ("compiler/*.py", "dyadic.py")
"""What makes models."""
MODELS = Shelf("models", compressed=True)


def compile_cached(graph: Graph, max_tokens: int, arithmetic: str = FLOAT64.name) -> Model:
    """The compiled graph, from the cache if it was compiled before."""
    from curta.compiler import compile
    from curta.compiler.compile import checked_length
    from curta.compiler.resolve import resolve
    from curta.compiler.serialize import graph_to_json

    length, resolved = checked_length(max_tokens), resolve(graph)
    content = json.dumps([graph_to_json(resolved), length, arithmetic]).encode()
    key = key_of(sources_digest(*COMPILER), content)
    return cached_model(key, lambda: compile(graph, length, arithmetic=arithmetic), resolved)


def cached_model(key: str | None, make: Callable[[], Model], graph: Graph | None = None) -> Model:
    """The model from the cache if it was made before. The graph need not be known."""
    with suppress(FileError):
        kept = MODELS.read(key)
        if kept is not None:
            from curta.compiler.model import kept_model

            return kept_model(kept, f"the model {key} in the cache", graph)
    model = make()
    MODELS.keep(key, model.to_bytes())
    return model


NATIVE = Shelf("native", compressed=True)
SOURCES = (*COMPILER, "engine/native/*.py", "engine/native/*.c", "engine/zeros.c")
"""What generates it."""


def cached_source(model: Model, generate: Callable[[Model], str]) -> str:
    """The C source of a model, from the cache if it was generated before from the same weights."""
    content = json.dumps([model.plan, model.certificate.as_json()]).encode()
    tensors = [
        f"{name} {tensor.dtype.str} {tensor.shape}".encode() + tensor.tobytes()
        for name, tensor in sorted(model.weights.items())
    ]
    key = key_of(sources_digest(*SOURCES), content, *tensors)
    kept = NATIVE.read(key)
    if kept is not None:
        return kept.decode()
    source = generate(model)
    NATIVE.keep(key, source.encode())
    return source
