"""Generated C, kept: specialising takes seconds, and finding the library takes none."""

from __future__ import annotations

import json
from collections.abc import Callable

from curta.compiler.model import Model
from curta.store import Shelf, key_of, sources_digest

NATIVE = Shelf("native", compressed=True)
SOURCES = ("compiler/*.py", "engine/native/*.py", "engine/native/*.c", "engine/zeros.c")
"""What generates it."""


def cached_source(model: Model, specialise: bool, generate: Callable[[], str]) -> str:
    """The C source of a model, from the cache if it was generated before."""
    key = source_key(model, specialise)
    kept = NATIVE.read(key)
    if kept is not None:
        return kept.decode()
    source = generate()
    NATIVE.keep(key, source.encode())
    return source


def source_key(model: Model, specialise: bool) -> str | None:
    """Changes whenever the model or the generator does."""
    content = json.dumps([model.plan, model.certificate.as_json(), specialise]).encode()
    tensors = [
        f"{name} {tensor.dtype.str} {tensor.shape}".encode() + tensor.tobytes()
        for name, tensor in sorted(model.weights.items())
    ]
    made_by = sources_digest(*SOURCES)
    return key_of(made_by, content, *tensors)
