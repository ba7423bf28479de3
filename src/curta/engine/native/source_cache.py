"""Generated C, kept in the user's cache directory.

Specialising takes seconds, and finding the library takes none: a library is kept under a hash of
its source, and the source here under a hash of the model and of the code that generates it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import curta.compiler
from curta.compiler.model import Model
from curta.engine.model_cache import keep
from curta.engine.settings import read_settings


def cached_source(model: Model, specialise: bool, generate: Callable[[], str]) -> str:
    """The C source of a model, from the cache if it was generated before.

    A file begins with the hash of the rest, so that damage is seen; a cache that cannot be read or
    written costs time and nothing else.
    """
    key = source_key(model, specialise)
    path = read_settings().cache_directory / "sources" / f"{key}.c"
    with suppress(OSError, UnicodeDecodeError):
        digest, _, source = path.read_text(encoding="utf-8").partition("\n")
        if digest == digest_of(source):
            return source
    source = generate()
    keep(path, f"{digest_of(source)}\n{source}".encode())
    return source


def digest_of(source: str) -> str:
    return f"/* {hashlib.sha256(source.encode()).hexdigest()} */"


def source_key(model: Model, specialise: bool) -> str:
    """Changes whenever the model or the generator does."""
    total = hashlib.sha256(generator_digest())
    content = [model.plan, model.certificate.as_json(), specialise]
    total.update(json.dumps(content).encode())
    for name, tensor in sorted(model.weights.items()):
        total.update(f"{name} {tensor.dtype.str} {tensor.shape}".encode())
        total.update(tensor.tobytes())
    return total.hexdigest()[:32]


def generator_digest() -> bytes:
    """Changes whenever the source of the generator, or of what it uses of the compiler, does."""
    total = hashlib.sha256()
    for folder in (Path(__file__).parent, Path(curta.compiler.__file__).parent):
        for path in sorted(folder.iterdir()):
            if path.suffix in (".py", ".c"):
                total.update(path.read_bytes())
    return total.digest()
