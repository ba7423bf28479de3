"""The machine's weights, ready to run: one fixed model, compiled once and kept.

Compiling the graph takes seconds, and so does fetching the compiled model to make C of it. The
native level needs neither once its library is there: the C source and the few facts about the model
that a session asks for are kept under a digest of everything that they were made of. The same goes
for machines with extensions, and for weights that are one program.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from curta.engine import LEVELS, Engine, Level, load, model_cache
from curta.engine.model_cache import COMPILER, NATIVE, cached_model
from curta.engine.native_level import Library, Native, written_c
from curta.errors import UserError
from curta.machine.instructions import MOST_TOKENS
from curta.machine.parts.operations import Extension, Operations
from curta.machine.vocabulary import vocabulary
from curta.store import key_of, sources_digest

if TYPE_CHECKING:
    from curta.compiler import Model
    from curta.compiler.compile import OnPass

WEIGHTS = (
    *(*COMPILER, "machine/parts/*.py", "machine/wasm/*.py"),
    *(
        f"machine/{name}.py"
        for name in ("computer", "float_words", "instructions", "core_program", "vocabulary")
    ),
)
"""What the weights are made by."""
SOURCES = (*WEIGHTS, *model_cache.SOURCES, "engine/base.py", "machine/weights.py")
"""What they and their C are made by."""


def load_machine(
    level: Level = "native",
    extensions: Sequence[Extension] = (),
    on_pass: OnPass | None = None,
) -> Engine:
    """The machine at one of the levels of the engine. `on_pass` is told of the native code too."""

    def model() -> Model:
        compiled = machine_model(extensions, on_pass)
        if level == "native" and on_pass is not None:
            on_pass("native code")
        return compiled

    names = vocabulary(Operations(extensions).names)
    return load_weights(level, native_key(extensions), names, model)


def load_weights(
    level: Level, key: str | None, tokens: Sequence[str], model: Callable[[], Model]
) -> Engine:
    """A model at one of the levels. The native one asks for it only if its C is not kept yet.

    The key stands for all that the model is made of.
    """
    if level not in LEVELS:
        raise UserError(f"level={level!r}: expected one of {', '.join(LEVELS)}")
    if level == "speculative":
        from curta.engine.speculative import Speculative

        drafts = load_weights("native", key, tokens, model)
        assert isinstance(drafts, Native)
        return Speculative(drafts.model, drafts)
    if level != "native":
        return load(model(), level)
    once = cache(model)
    head, _, source = kept_c(key, once).decode().partition("\n")
    return CachedNative(source, json.loads(head.removeprefix("//")), tokens, once)


def kept_c(key: str | None, model: Callable[[], Model]) -> bytes:
    """The C of a model, behind a line of facts; it is made only if it is not kept yet."""
    kept = NATIVE.read(key)
    if kept is None:
        compiled = model()
        kept = with_facts(compiled, written_c(compiled))
        NATIVE.keep(key, kept)
    return kept


def machine_c(extensions: Sequence[Extension] = ()) -> bytes:
    """That of the machine's weights, which comes with curta."""
    return kept_c(native_key(extensions), lambda: machine_model(extensions))


def with_facts(model: Model, source: str) -> bytes:
    """The C source of a model, behind the few facts that are asked for without the model."""
    from curta.compiler.model import model_digest

    facts = {
        "max_tokens": model.certificate.max_tokens,
        "stops": sorted(model.plan["stops"]),
        "identity": model.identity,
        "digest": model_digest(model),
    }
    return f"//{json.dumps(facts)}\n{source}".encode()


def machine_model(extensions: Sequence[Extension] = (), on_pass: OnPass | None = None) -> Model:
    """The compiled graph, without building it if that was done before."""

    def make() -> Model:
        from curta.compiler import compile
        from curta.machine.computer import build

        return compile(build(extensions), MOST_TOKENS, on_pass)

    return cached_model(weights_key(extensions), make)


def weights_key(extensions: Sequence[Extension] = ()) -> str | None:
    """Changes whenever anything does that the weights are made of.

    An extension may be anybody's code, so for it there is the graph that it builds.
    """
    return key_of(sources_digest(*WEIGHTS), graph_digest(extensions))


def native_key(extensions: Sequence[Extension] = (), *parts: bytes) -> str | None:
    """Changes whenever anything does that the C of the weights is made of."""
    return key_of(sources_digest(*SOURCES), graph_digest(extensions), *parts)


def graph_digest(extensions: Sequence[Extension]) -> bytes:
    """Of what the extensions build over the words of an instruction."""
    if not extensions:
        return b""
    from curta.compiler import Graph
    from curta.compiler.serialize import graph_to_json
    from curta.machine.parts.operations import Sources
    from curta.machine.parts.words import word_of

    graph = Graph(vocabulary(Operations(extensions).names))
    words = (graph.feature(name, {}, default) for default, name in enumerate("abce"))
    sources = Sources(*map(word_of, words))
    results = [extension.result(sources).index for extension in extensions]
    return hashlib.sha256(json.dumps([graph_to_json(graph), results]).encode()).digest()


class CachedNative(Native):
    """The native engine from its C source alone; the model itself is there when it is asked for."""

    def __init__(
        self,
        source: str,
        facts: dict[str, Any],
        tokens: Sequence[str],
        model: Callable[[], Model],
    ) -> None:
        # Not the constructors of Native and Engine: they want the model.
        self.vocabulary = list(tokens)
        self.stops = frozenset(facts["stops"])
        self._ids = {token: number for number, token in enumerate(self.vocabulary)}
        self._max_tokens = int(facts["max_tokens"])
        self.identity = str(facts["identity"])
        self.digest = str(facts["digest"])
        self._model = model
        self.library = Library(source)

    @property
    def max_tokens(self) -> int:
        return self._max_tokens

    @cached_property
    def model(self) -> Model:  # type: ignore[override]
        return self._model()
