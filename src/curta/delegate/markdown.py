"""Tables in Markdown, for the cards of data sets and adapters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """One of these columns; a bar in a cell ends none."""
    lines = [header, ["---"] * len(header), *rows]
    cells = [[str(cell).replace("|", "\\|") for cell in line] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)
