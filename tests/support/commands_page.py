"""The second half of docs/commands.md, from the table of commands and their dataclasses; and what
JSON has to look like by it. `python tests/support/commands_page.py` writes the page anew.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from curta.app.commands import COMMANDS, module_of
from curta.app.parser import usage, written
from curta.options import Option, described_by, meanings_of, options_of

PAGE = Path(__file__).parents[2] / "docs" / "commands.md"
MARK = "<!-- What follows is written by tests/support/commands_page.py. -->\n"
TYPES = {str: "text", int: "whole number", float: "number", bool: "true or false", Any: "anything"}


def modules() -> dict[str, ModuleType]:
    """Every command."""
    return {name: import_module(module_of(name)) for name in COMMANDS}


def generated() -> str:
    """A section for each command."""
    return "\n".join(line for name, module in modules().items() for line in section(name, module))


def section(name: str, module: ModuleType) -> Iterator[str]:
    options = sorted(options_of(module.Options), key=lambda one: not one.is_word)
    yield f"\n## curta {name}\n"
    yield f"    {usage(f'curta {name}', options)}\n"
    yield escaped(" ".join(described_by(module.Options)[0].split()))
    part = ""
    yield "\n| option | meaning |\n|---|---|"
    for option in options:
        if option.part != part:
            part = option.part
            yield f"| *{part.replace('_', ' ')}* | |"
        yield f"| `{escaped(written(option))}` | {escaped(meaning(option))} |"
    if hasattr(module, "Report"):
        where = "standard error" if hasattr(module.Options, "stats") else "standard output"
        yield f"\n`--json` writes to the {where}:\n\n| field | type | meaning |\n|---|---|---|"
        for path, kind, text in shape(module.Report):
            yield f"| `{path}` | {kind_text(kind)} | {escaped(text)} |"


def meaning(option: Option) -> str:
    return option.explained


def escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;") if "`" not in text else text


def shape(report: type[Any], before: str = "") -> Iterator[tuple[str, Any, str]]:
    """Fields, those of fields included."""
    meanings = meanings_of(report)
    for name, kind in get_type_hints(report).items():
        yield f"{before}{name}", kind, meanings.get(name, "")
        inner = next(
            (one for one in (kind, *get_args(kind)) if dataclasses.is_dataclass(one)), None
        )
        if inner is not None:
            dot = "." if inner is kind else "[]."
            yield from shape(inner, f"{before}{name}{dot}")  # type: ignore[arg-type]


def kind_text(kind: Any) -> str:
    """A type in words."""
    arguments = get_args(kind)
    if get_origin(kind) in (Union, UnionType):
        return f"{kind_text(arguments[0])}, or null"
    if get_origin(kind) is Literal:
        return " or ".join(arguments)
    if get_origin(kind) is tuple:
        return f"list of {kind_text(arguments[0])}"
    if get_origin(kind) is dict:
        return f"object of {kind_text(arguments[1])}"
    return "object" if dataclasses.is_dataclass(kind) else TYPES[kind]


def differences(kind: Any, value: Any, path: str = "") -> Iterator[str]:
    """Where JSON is not of a type."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        if value is not None:
            yield from differences(arguments[0], value, path)
    elif origin is Literal:
        if value not in arguments:
            yield f"{path}: {value!r}"
    elif dataclasses.is_dataclass(kind):
        hints = get_type_hints(kind)
        if not isinstance(value, dict) or list(value) != list(hints):
            yield f"{path}: {value!r} has other fields than {list(hints)}"
            return
        for name, inner in hints.items():
            yield from differences(inner, value[name], f"{path}.{name}")
    elif origin is tuple:
        for number, one in enumerate(value):
            yield from differences(arguments[0], one, f"{path}[{number}]")
    elif origin is dict:
        for name, one in value.items():
            yield from differences(arguments[1], one, f"{path}[{name!r}]")
    elif kind is not Any:
        wanted = (int, float) if kind is float else kind
        if not isinstance(value, wanted) or (kind is not bool and isinstance(value, bool)):
            yield f"{path}: {value!r} is not {TYPES[kind]}"


if __name__ == "__main__":
    PAGE.write_text(PAGE.read_text().partition(MARK)[0] + MARK + generated() + "\n")
