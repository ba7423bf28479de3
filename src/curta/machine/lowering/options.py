"""How programs are lowered."""

from __future__ import annotations

from dataclasses import dataclass

from curta.machine.parts.operations import Extension
from curta.machine.wasm.module import MAX_PAGES


@dataclass(frozen=True, slots=True)
class LowerOptions:
    """`max_memory_pages` is what memory.grow can reach, if the module does not say less; a memory
    that starts larger is an error. `seed` is that of WASI's randomness; the host may give another
    one later (`layout.host_segments`). `extensions` are what the machine has in addition.
    """

    max_memory_pages: int = MAX_PAGES
    seed: int = 0
    extensions: tuple[Extension, ...] = ()
