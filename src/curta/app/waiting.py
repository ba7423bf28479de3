"""Something that moves while there is nothing to show yet."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def spinning(what: str) -> Iterator[None]:
    """Say on a terminal what takes long, as long as it takes."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield
