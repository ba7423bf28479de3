"""What commands show: output as it comes, how far they are, figures for people or scripts."""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from threading import Timer
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.progress import TaskID

SECONDS_BETWEEN_LINES = 10.0
QUIET_SECONDS = 1.0
"""How long a program may be silent before progress is shown."""
BETWEEN_SECONDS = 0.2


def is_terminal() -> bool:
    """Whether a person is looking at the standard error."""
    return sys.stderr is not None and sys.stderr.isatty()


def write_json(report: Any, file: TextIO | None = None) -> None:
    """A report as one line: its fields by their names."""
    print(json.dumps(dataclasses.asdict(report), default=str), file=file)


@dataclass(frozen=True, kw_only=True)
class AsJson:
    """What came of a command, for people or for scripts.

    json: the figures, as JSON in one line
    """

    json: bool = False

    def show(self, report: Any) -> int:
        """Write a report; the exit code of a command that is done."""
        if self.json:
            write_json(report)
        else:
            print(report)
        return 0


@contextmanager
def spinning(what: str) -> Iterator[None]:
    """Say what takes long: on a terminal as long as it takes, elsewhere in a line."""
    if is_terminal():
        from rich.console import Console

        with Console(stderr=True).status(what):
            yield
        return
    with telling(what):
        yield


@contextmanager
def telling(what: str) -> Iterator[None]:
    """Say what takes long in a line, also where a program may be within one of its own."""
    to = {"file": sys.stderr or StringIO(), "flush": True}
    told = Timer(QUIET_SECONDS, print, [f"{what} ..."], to)
    told.daemon = True
    told.start()
    try:
        yield
    finally:
        told.cancel()


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

    def show(self, name: str, done: float, total: float, words: str = "") -> None:
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


class Screen:
    """Where a program's output goes, and a line that is written over while there is none."""

    def __init__(self, *, show_output: bool = True) -> None:
        self.reached: Any = None
        self.show_output = show_output
        self.line = ""
        self.heard = self.drawn = time.perf_counter()
        self.terminal = is_terminal()

    def write(self, content: bytes) -> None:
        self.pass_on(sys.stdout, content)

    def write_error(self, content: bytes) -> None:
        self.pass_on(sys.stderr, content)

    def pass_on(self, stream: Any, content: bytes) -> None:
        """Bytes as they are, at once."""
        self.clear()
        self.heard = time.perf_counter()
        if not self.show_output:
            return
        raw = getattr(stream, "buffer", None)
        if raw is None:
            stream.write(content.decode(errors="replace"))
        else:
            stream.flush()
            raw.write(content)
        stream.flush()

    def progress(self, figures: object) -> None:
        self.reached = figures
        if time.perf_counter() - self.heard > QUIET_SECONDS:
            self.draw(str(figures))

    def begin(self, what: str) -> None:
        """Something that takes long begins."""
        self.drawn = 0.0
        self.draw(what)

    def warned(self, text: str) -> None:
        self.clear()
        print(text, file=sys.stderr)

    def draw(self, line: str) -> None:
        """Write the line over the last one."""
        now = time.perf_counter()
        if not self.terminal or now - self.drawn < BETWEEN_SECONDS:
            return
        self.drawn = now
        print("\r" + line.ljust(len(self.line)), end="", file=sys.stderr, flush=True)
        self.line = line

    def clear(self) -> None:
        if self.line:
            print("\r" + " " * len(self.line) + "\r", end="", file=sys.stderr, flush=True)
            self.line = ""
