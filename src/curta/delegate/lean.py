"""Transformers for a process that answers one question.

It imports what it finds: `torch.distributed`, SciPy for a loss, and the compiler of PyTorch, to say
which functions that is to leave alone. Here it finds none of them, as where PyTorch was built
without. It goes on believing that, so this is for commands, and not for a library.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from types import ModuleType
from typing import Any

COMPILER = "torch._dynamo"
MARKS = ("allow_in_graph", "assume_constant_result", "disable")
"""What modules call while they are imported, to tell the compiler about functions."""


def import_transformers() -> None:
    """Import PyTorch, and of transformers what models like Llama need.

    Threads that wait are to sleep: two that wait in a loop, where somebody else computes too, take
    eight times as much of the processors as one.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    torch: Any = import_module("torch")
    is_available = torch.distributed.is_available
    absent: dict[str, Any] = {COMPILER: marks(torch.__path__[0]), "scipy": None, "sklearn": None}
    ours = {name: one for name, one in absent.items() if name not in sys.modules}
    sys.modules.update(ours)
    torch.distributed.is_available = lambda: False
    try:
        import_module("transformers.models.llama.modeling_llama")
    finally:
        torch.distributed.is_available = is_available
        for name, one in ours.items():
            if sys.modules.get(name) is one:
                del sys.modules[name]


def marks(torch: str) -> Any:
    """Stands for the compiler, to which it gives way when anything else is wanted of it."""
    made: Any = ModuleType(COMPILER)
    made.__path__, made.__file__ = [f"{torch}/_dynamo"], f"{torch}/_dynamo/__init__.py"
    vars(made).update(dict.fromkeys(MARKS, unmarked))

    def other(name: str) -> Any:
        if sys.modules.get(COMPILER) is made:
            del sys.modules[COMPILER]
        return getattr(import_module(COMPILER), name)

    made.__getattr__ = other
    return made


def unmarked(function: Any = None, *_: Any, **__: Any) -> Any:
    """The function, or a decorator that leaves one as it is."""
    return unmarked if function is None else function
