"""curta: language models that compute exactly."""

from __future__ import annotations

import time

TYPE_CHECKING = False  # type checkers take it for true; `typing` is slow to import
if TYPE_CHECKING:
    from curta.errors import Trap
    from curta.machine.bake import bake, load_baked
    from curta.machine.kept.resume import resume
    from curta.machine.machine import Machine

IMPORTED = time.time()
"""When this process began to import curta: newer files may say something else than what runs
(store.py).
"""
__version__ = "0.1.0"
__all__ = ["Machine", "Trap", "__version__", "bake", "load_baked", "resume"]


def __getattr__(name: str) -> object:
    """The machine is imported when somebody asks for it: the other rooms do not need it."""
    if name == "Machine":
        from curta.machine.machine import Machine

        return Machine
    if name == "Trap":
        from curta.errors import Trap

        return Trap
    if name in ("bake", "load_baked"):
        from curta.machine import bake

        return getattr(bake, name)
    if name == "resume":
        from curta.machine.kept.resume import resume

        return resume
    raise AttributeError(f"module 'curta' has no attribute {name!r}")


def __dir__() -> list[str]:
    """What can be asked for is listed before anybody did."""
    return sorted({*globals(), *__all__})
