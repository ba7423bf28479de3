"""The bytes of a module in, a program that can be said to the machine out.

Lowered programs are kept in the user's cache directory under a digest of the module and of all the
code that lowers it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from curta.errors import FileError, LimitError, ProofError
from curta.machine.core_program import CoreProgram
from curta.machine.loaded import LoadedProgram
from curta.machine.parts.operations import Extension, Operations
from curta.machine.stored import with_stores
from curta.machine.wasm import MAX_PAGES
from curta.store import Shelf, key_of, sources_digest

if TYPE_CHECKING:
    from curta.machine.proof import Verdict
    from curta.machine.wasm.module import Module

LOWERED = Shelf("lowered")
LOWERING = (
    "machine/*.py",
    *(f"machine/{room}/*.py" for room in ("lower", "proof", "wasm", "parts", "runtime")),
    "machine/runtime/*.wasm",
)
"""What a lowered program depends on besides its module."""


def load_program(
    content: bytes,
    max_memory: int = MAX_PAGES,
    extensions: Sequence[Extension] = (),
    *,
    prove: bool = True,
    stored: bool = False,
) -> LoadedProgram:
    """The module, lowered; its memory can grow to `max_memory` pages at most. It is refused unless
    it is proved that it does what the module does, or `prove` is False. If it is `stored`, there
    are no bytes in its prompt.
    """
    names = [[extension.name, extension.parameters] for extension in extensions]
    settings = json.dumps([max_memory, names, prove, stored]).encode()
    key = key_of(sources_digest(*LOWERING), settings, content)
    lowered = LOWERED.read(key)
    if lowered is not None:
        with suppress(FileError):
            return LoadedProgram.from_bytes(lowered)
    program = lower_program(content, max_memory, extensions, prove=prove, stored=stored)
    LOWERED.keep(key, program.to_bytes())
    return program


def lower_program(
    content: bytes,
    max_memory: int = MAX_PAGES,
    extensions: Sequence[Extension] = (),
    *,
    prove: bool = True,
    stored: bool = False,
) -> LoadedProgram:
    """The same without a cache."""
    program, core, module = _lower(content, max_memory, extensions, stored)
    if prove:
        from curta.machine.proof import not_proved

        for verdict in _verdicts(program, core, module, max_memory, extensions):
            if verdict.refused is not None:
                raise ProofError(not_proved(verdict.name, verdict.refused))
    return program


def prove_program(
    content: bytes, max_memory: int = MAX_PAGES, extensions: Sequence[Extension] = ()
) -> tuple[Verdict, ...]:
    """Whether each function of the lowered module does what its WebAssembly does."""
    program, core, module = _lower(content, max_memory, extensions)
    return _verdicts(program, core, module, max_memory, extensions)


def _lower(
    content: bytes, max_memory: int, extensions: Sequence[Extension], stored: bool = False
) -> tuple[LoadedProgram, CoreProgram, Module]:
    from curta.machine.lower import LowerOptions, lower
    from curta.machine.wasm.decode import decode

    module = decode(content)
    check_memory(module, max_memory)
    core = lower(module, LowerOptions(min(max_memory, MAX_PAGES), extensions=tuple(extensions)))
    if stored:
        core = with_stores(core)
    return LoadedProgram.from_core(core, Operations(extensions).names), core, module


def _verdicts(
    program: LoadedProgram,
    core: CoreProgram,
    module: Module,
    max_memory: int,
    extensions: Sequence[Extension],
) -> tuple[Verdict, ...]:
    from curta.machine.proof import LemmaStore, prove

    pages = min(max_memory, MAX_PAGES)
    digest = sources_digest(*LOWERING)
    lemma_store = None if digest is None else LemmaStore(digest)
    return prove(module, core, program.prompt(), pages, extensions, lemma_store)


def check_memory(module: Module, pages: int) -> None:
    """Refuse what needs more from the beginning. (Growing beyond fails, as it may.)

    No limit would help a module that is wrong in itself: that is said first.
    """
    from curta.machine.wasm.validate import validate

    for memory in module.memories:
        if memory.limits.minimum > pages:
            validate(module)
            raise LimitError(
                f"the program begins with {memory.limits.minimum:,} pages of memory, the limit is "
                f"{pages:,}; allow more with max_memory (--max-memory)"
            )
