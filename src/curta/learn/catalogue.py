"""Tasks, formats and position schemes by name, and those of the user's own files.

A part is written as it would be called: `abacus`, `abacus(offset=50)`. The name of a Python file
does as well: `my_task.py`, `my_task.py(limit=7)`; the file defines one such part.
"""

from __future__ import annotations

import ast
import dataclasses
import difflib
import importlib
import importlib.util
import inspect
import pkgutil
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, get_type_hints

from curta.errors import ExperimentError
from curta.learn.formats.base import Format
from curta.learn.positions.base import Positions
from curta.learn.tasks.base import Task

Part = TypeVar("Part", Task, Format, Positions)

PACKAGES: dict[type[Any], str] = {Task: "tasks", Format: "formats", Positions: "positions"}

KINDS = {int: "a whole number", float: "a number", bool: "True or False", str: "quoted text"}

FILE = re.compile(r"""[^"'()=,]+\.py(?=\s*(?:["'(]|$))""")
"""A file of the user's, as the name of a part or within quotes."""

WRITTEN = re.compile(r"(?P<name>[^()]+?)\s*(\((?P<options>.*)\))?")


def task(written: str) -> Task:
    """The task of this name, or in this file."""
    return part(Task, written)  # type: ignore[type-abstract]


def format_(written: str) -> Format:
    """The format of this name, or in this file."""
    return part(Format, written)


def positions(written: str) -> Positions:
    """The position scheme of this name, or in this file."""
    return part(Positions, written)


def part(kind: type[Part], written: str) -> Part:
    """Build a part from how it is written."""
    match = WRITTEN.fullmatch(written.strip())
    what = PACKAGES[kind].removesuffix("s")
    if match is None:
        raise ExperimentError(f"{what} {written!r}: write name or name(option=value, ...)")
    name, options = match["name"], match["options"] or ""
    made = in_file(kind, Path(name)) if name.endswith(".py") else named(kind, name)
    return made(**checked_options(made, what, name, options))


def is_own(written: str) -> bool:
    """Whether it is a part, or contains one, of the user's own files."""
    return ".py" in written


def files_of(written: str) -> list[Path]:
    """The user's own files that a part is defined in, and the parts within it."""
    return [Path(found) for found in dict.fromkeys(FILE.findall(written.strip()))]


def moved(written: str, folder: Path) -> str:
    """The same part, with the files in another folder."""
    return FILE.sub(lambda found: str(folder / Path(found[0]).name), written.strip())


def named(kind: type[Part], name: str) -> type[Part]:
    """The class of a part that comes with curta."""
    known = parts(kind)
    if name not in known:
        near = difflib.get_close_matches(name, known, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(sorted(known))}"
        raise ExperimentError(f"no {PACKAGES[kind].removesuffix('s')} is called {name!r}: {hint}")
    return known[name]


def parts(kind: type[Part]) -> dict[str, type[Part]]:
    """All parts of a kind that come with curta, by name."""
    package = importlib.import_module(f"curta.learn.{PACKAGES[kind]}")
    found: dict[str, type[Part]] = {}
    for module in sorted(pkgutil.iter_modules(package.__path__), key=lambda module: module.name):
        loaded = importlib.import_module(f"{package.__name__}.{module.name}")
        found.update({made.name: made for made in defined_in(kind, loaded)})
    return found


def defined_in(kind: type[Part], module: ModuleType) -> Iterator[type[Part]]:
    """The parts that a module defines itself."""
    for value in vars(module).values():
        own = inspect.isclass(value) and value.__module__ == module.__name__
        if own and issubclass(value, kind) and value is not kind and hasattr(value, "name"):
            yield value


def in_file(kind: type[Part], path: Path) -> type[Part]:
    """The part that a file of the user's defines."""
    what = PACKAGES[kind].removesuffix("s")
    if not path.is_file():
        raise ExperimentError(f"{what} {path}: there is no such file")
    name = f"curta_user_{path.resolve().as_posix().replace('/', '_').removesuffix('.py')}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except Exception as error:
            del sys.modules[name]
            raise ExperimentError(f"{what} {path}: {type(error).__name__}: {error}") from error
    found = list(defined_in(kind, sys.modules[name]))
    if len(found) != 1:
        raise ExperimentError(
            f"{what} {path}: defines {len(found)} subclasses of curta.learn's {kind.__name__} "
            "with a name; it has to be one"
        )
    return found[0]


def checked_options(made: type[Any], what: str, name: str, options: str) -> dict[str, Any]:
    """The values in `option=value, ...`, which are Python literals."""
    try:
        call = ast.parse(f"f({options})", mode="eval").body
        assert isinstance(call, ast.Call)
        if call.args:
            raise ValueError("each option needs its name")
        values = {word.arg or "**": ast.literal_eval(word.value) for word in call.keywords}
    except (SyntaxError, ValueError) as error:
        raise ExperimentError(
            f"{what} {name}({options}): write option=value with numbers or quoted text"
        ) from error
    known = {field.name: field for field in dataclasses.fields(made)}
    for option in values:
        if option not in known:
            there = ", ".join(known) or "none"
            raise ExperimentError(f"{what} {name} has no option {option!r}; its options: {there}")
    hints = get_type_hints(made)
    for option, value in values.items():
        wanted = hints[option]
        fits = isinstance(value, wanted) if isinstance(wanted, type) else True
        if isinstance(value, bool) and wanted is not bool:
            fits = False
        if wanted is float and type(value) is int:
            fits = True
        if not fits:
            raise ExperimentError(
                f"{what} {name}: {option} = {value!r}: must be {KINDS.get(wanted, wanted.__name__)}"
            )
    return values
