"""Tables in Markdown, for the cards of data sets and adapters."""

from __future__ import annotations

from collections.abc import Sequence


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Its lines."""
    lines = [header, ["---"] * len(header), *rows]
    return [f"| {' | '.join(map(cell, line))} |" for line in lines]


def cell(text: str) -> str:
    """A bar in it ends no cell."""
    return text.replace("|", "\\|")
