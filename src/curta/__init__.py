"""curta: language models that compute exactly."""

from __future__ import annotations

import time

from curta.later import later

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
__getattr__ = later(  # the other rooms do not need the machine
    __name__,
    {
        "Machine": "curta.machine.machine",
        "Trap": "curta.errors",
        "bake": "curta.machine.bake",
        "load_baked": "curta.machine.bake",
        "resume": "curta.machine.kept.resume",
    },
)


def __dir__() -> list[str]:
    """What can be asked for is listed before anybody did."""
    return sorted({*globals(), *__all__})
