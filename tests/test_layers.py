"""Imports point down only, as ARCHITECTURE.md says; heavy libraries stay in their rooms."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCES = Path(__file__).parent.parent / "src"
COMMON = {
    *(
        "__version__",
        "dyadic",
        "errors",
        "garbage",
        "intervals",
        "later",
        "options",
        "pages",
        "settings",
    ),
    *("store", "terminal"),
}
BELOW = {
    "compiler": set(),
    "engine": {"compiler"},
    "gallery": {"compiler"},
    "machine": {"compiler", "engine"},
    "export": {"compiler"},
    "learn": set(),
    "delegate": {"engine", "machine"},
    "hybrid": {"compiler", "engine", "gallery", "machine", "delegate", "explore"},
    "explore": {"compiler", "engine", "gallery", "machine", "learn"},
}
HEAVY = {
    "torch": {"engine", "export", "learn", "delegate", "hybrid"},
    "transformers": {"delegate", "export", "hybrid"},
    "peft": {"delegate"},
    "jax": {"learn", "app"},
    "equinox": {"learn"},
    "optax": {"learn"},
}


def imported(room: str) -> Iterator[tuple[str, str]]:
    """Where, and what."""
    for path in (SOURCES / "curta" / room).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                of_curta = node.module == "curta"
                names = [f"curta.{alias.name}" for alias in node.names if of_curta]
                names += [] if of_curta else [node.module or ""]
            else:
                continue
            for name in names:
                yield str(path.relative_to(SOURCES)), name


@pytest.mark.parametrize("room", BELOW)
def test_a_room_imports_from_those_below_it(room: str) -> None:
    allowed = BELOW[room] | COMMON | {room}
    for where, name in imported(room):
        package, _, rest = name.partition(".")
        if package == "curta" and rest:
            assert rest.partition(".")[0] in allowed, f"{where} imports {name}"


@pytest.mark.parametrize("room", [*BELOW, "app"])
def test_heavy_libraries_are_imported_where_they_belong(room: str) -> None:
    for where, name in imported(room):
        package = name.partition(".")[0]
        assert room in HEAVY.get(package, {room}), f"{where} imports {name}"
