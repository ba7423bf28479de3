"""What commands say beside their results: how far they are, and figures for scripts."""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.progress import TaskID

SECONDS_BETWEEN_LINES = 10.0


def is_terminal() -> bool:
    """Whether a person is looking at the standard error."""
    return sys.stderr is not None and sys.stderr.isatty()


def write_json(report: Any, file: TextIO | None = None) -> None:
    """A report as one line: its fields by their names."""
    print(json.dumps(dataclasses.asdict(report), default=str), file=file)


@contextmanager
def spinning(what: str) -> Iterator[None]:
    """Say on a terminal what takes long, as long as it takes."""
    if not is_terminal():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield


class Progress:
    """A bar for each thing that is done; where there is no terminal, a line now and then."""

    def __init__(self, *, bars: bool = True, lines: bool = True) -> None:
        self.lines = lines
        self.last_line = 0.0
        self.tasks: dict[str, TaskID] = {}
        self.bar = None
        if bars and is_terminal():
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            counted = TextColumn("{task.completed:.0f}/{task.total:.0f} {task.fields[words]}")
            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                counted,
                TimeRemainingColumn(),
            )
            self.bar = Bar(*columns, console=Console(stderr=True))

    def __enter__(self) -> Progress:
        if self.bar is not None:
            self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def show(self, name: str, done: int, total: int, words: str = "") -> None:
        """How far a thing is; as a line if the last one is a while ago, or this is its end."""
        if self.bar is not None:
            if name not in self.tasks:
                self.tasks[name] = self.bar.add_task(name, total=total, words=words)
            self.bar.update(self.tasks[name], completed=done, total=total, words=words)
        elif done == total or time.monotonic() - self.last_line > SECONDS_BETWEEN_LINES:
            self.say(f"{name}: {done}/{total} {words}".rstrip())

    def say(self, line: str) -> None:
        """A line, unless there are bars to look at."""
        if self.bar is None and self.lines:
            self.last_line = time.monotonic()
            print(line, file=sys.stderr, flush=True)
