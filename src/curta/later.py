"""Names of a package that are imported when somebody asks for them: it loads in no time."""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # type checkers take it for true; `typing` is slow to import
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def later(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """A package's `__getattr__`: of each name, the module that has it."""

    def imported(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(modules[name]), name)

    return imported
