"""The machine's weights, ready to run: one fixed model, compiled once and kept.

Compiling the graph takes seconds, and so does fetching the compiled model to make C of it. The
native level needs neither once its library is there: the C source and the few facts about the model
that a session asks for are kept under a digest of everything that they were made of.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import curta
from curta.compiler import Model
from curta.engine import LEVELS, Engine, Level, load
from curta.engine.model_cache import compile_cached, write_atomically
from curta.engine.native import Library, Native
from curta.engine.settings import read_settings
from curta.errors import UserError
from curta.machine.vocabulary import TOKENS

MAX_TOKENS = 1 << 26
"""The length of conversation that the machine is certified for."""
SOURCE = Path(curta.__file__).parent
NOT_OF_THE_WEIGHTS = ("wasm", "lower", "runtime")
"""Folders of the machine that only prepare what the weights execute."""


def load_machine(level: Level = "native") -> Engine:
    """The machine at one of the levels of the engine."""
    if level not in LEVELS:
        raise UserError(f"level={level!r}: expected one of {', '.join(LEVELS)}")
    if level != "native":
        return load(machine_model(), level)
    path = read_settings().cache_directory / "machine" / f"{weights_digest()}.c"
    with suppress(OSError, ValueError):
        head, _, source = path.read_text(encoding="utf-8").partition("\n")
        return CachedNative(source, json.loads(head.removeprefix("//")))
    native = Native(model := machine_model())
    facts = {"max_tokens": model.certificate.max_tokens, "stops": sorted(native.stops)}
    with suppress(OSError):
        write_atomically(path, f"//{json.dumps(facts)}\n{native.source}".encode())
    return native


def machine_model() -> Model:
    """The compiled graph."""
    from curta.machine.computer import build

    return compile_cached(build(), MAX_TOKENS)


def weights_digest() -> str:
    """Changes whenever anything does that the weights or their C are made of."""
    total = hashlib.sha256()
    for room in ("compiler", "engine", "machine"):
        for path in sorted((SOURCE / room).rglob("*.py")):
            part = path.relative_to(SOURCE / room)
            if room == "machine" and part.parts[0] in NOT_OF_THE_WEIGHTS:
                continue
            content = path.read_bytes()
            total.update(f"{room}/{part}:{len(content)}:".encode() + content)
    return total.hexdigest()[:32]


class CachedNative(Native):
    """The native engine from its C source alone; the model itself is there when it is asked for."""

    def __init__(self, source: str, facts: dict[str, Any]) -> None:
        # Not the constructors of Native and Engine: they want the model.
        self.vocabulary = list(TOKENS)
        self.stops = frozenset(facts["stops"])
        self._ids = {token: number for number, token in enumerate(self.vocabulary)}
        self._max_tokens = int(facts["max_tokens"])
        self.library = Library(source)

    @property
    def max_tokens(self) -> int:
        return self._max_tokens

    @cached_property
    def model(self) -> Model:  # type: ignore[override]
        return machine_model()
