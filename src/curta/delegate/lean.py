"""Transformers for a process that answers one question.

PyTorch and transformers import more than that: the compiler of PyTorch, programs that are exported,
operations on shapes alone, attention written by a compiler, `torch.distributed`, SciPy for a loss.
Here they find none of them, as where PyTorch was built without, or stand-ins that give way when
anything is wanted of them. They go on believing that, so this is for commands, and not for a
library.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

SHAPES = "torch._meta_registrations"
"""Operations on shapes alone: for models that are built before their weights are read."""
COMPILER = "torch._dynamo"
STAND_INS = {
    COMPILER: ("allow_in_graph", "assume_constant_result", "disable"),
    "torch.export": (),
    SHAPES: (),
}
"""What is not imported; and what the compiler is told about functions while others are."""


def import_transformers() -> None:
    """Import PyTorch, and of transformers what models like Llama need.

    Threads that wait are to sleep: two that wait in a loop, where somebody else computes too, take
    eight times as much of the processors as one.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    torch = find_spec("torch")
    if torch is None or torch.origin is None:
        raise ModuleNotFoundError("No module named 'torch'", name="torch")
    if "transformers.utils" in sys.modules:  # it has found what there is
        return
    folder = Path(torch.origin).parent
    absent = {name: stand_in(name, folder, marks) for name, marks in STAND_INS.items()}
    absent |= {"scipy": None, "sklearn": None}
    ours = {name: one for name, one in absent.items() if name not in sys.modules}
    sys.modules.update(ours)
    try:
        import_module("torch")
        with (
            replaced("torch.distributed", is_available=never),
            replaced("transformers.utils", is_torch_flex_attn_available=never),
            replaced("transformers.utils.import_utils", is_torch_flex_attn_available=never),
        ):
            import_module("transformers.models.llama.modeling_llama")
    finally:
        for name, one in ours.items():
            if sys.modules.get(name) is one:
                del sys.modules[name]
        sys.meta_path.insert(0, ShapesFirst())


@contextmanager
def replaced(module: str, **ours: Any) -> Iterator[None]:
    """A module has other functions meanwhile."""
    there = vars(import_module(module))
    before = {name: there[name] for name in ours}
    there.update(ours)
    try:
        yield
    finally:
        there.update(before)


def never() -> bool:
    """Said of what is not there."""
    return False


class ShapesFirst(MetaPathFinder):
    """The compiler, if it is imported after all, relies on shapes' having been there before."""

    def find_spec(self, fullname: str, *_: Any) -> None:
        if fullname == COMPILER:
            import_module(SHAPES)


def stand_in(name: str, folder: Path, marks: tuple[str, ...]) -> Any:
    """Stands for a module, to which it gives way when anything but a mark is wanted of it."""
    made: Any = ModuleType(name)
    place = folder.joinpath(*name.split(".")[1:])
    made.__file__ = f"{place}.py"
    if place.is_dir():
        made.__path__, made.__file__ = [str(place)], f"{place}/__init__.py"
    vars(made).update(dict.fromkeys(marks, unmarked))

    def other(wanted: str) -> Any:
        if sys.modules.get(name) is made:
            del sys.modules[name]
        return getattr(import_module(name), wanted)

    made.__getattr__ = other
    return made


def unmarked(function: Any = None, *_: Any, **__: Any) -> Any:
    """The function, or a decorator that leaves one as it is."""
    return unmarked if function is None else function
