"""Where a program's output goes as it comes; while there is none, how far the run has come."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from curta.terminal import is_terminal

if TYPE_CHECKING:
    from curta.machine.conversation import Figures
    from curta.machine.run import RunOptions
    from curta.machine.toolchain import Watcher

QUIET_SECONDS = 1.0
"""How long a program may be silent before progress is shown."""
BETWEEN_SECONDS = 0.2


class Screen:
    """Output, and one line that is written over and over."""

    def __init__(self, *, show_output: bool = True) -> None:
        self.reached: Figures | None = None
        self.show_output = show_output
        self.line = ""
        self.heard = self.drawn = time.perf_counter()
        self.terminal = is_terminal()

    @property
    def figures(self) -> Figures:
        """How far the run has come, as far as that was told."""
        from curta.machine.conversation import Figures

        return self.reached or Figures()

    @property
    def told(self) -> RunOptions:
        """What a run has to tell somebody, it tells this."""
        return {
            "on_stdout": self.write,
            "on_stderr": self.write_error,
            "on_progress": self.progress,
            "watcher": self.watcher,
        }

    @property
    def watcher(self) -> Watcher:
        """Shows how a compilation goes."""
        from curta.machine.toolchain import Watcher

        return Watcher(self.compiling, self.warned)

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

    def progress(self, figures: Figures) -> None:
        self.reached = figures
        if time.perf_counter() - self.heard > QUIET_SECONDS:
            self.draw(str(figures))

    def compiling(self, seconds: float) -> None:
        hint = "" if seconds < 3 else " (the first time, libraries too: half a minute or so)"
        if seconds > QUIET_SECONDS / 2:
            self.draw(f"compiling{hint} {seconds:.0f} s")

    def building(self, name: str) -> None:
        """The machine is made ready, which takes long the first time."""
        self.drawn = 0.0
        self.draw(f"preparing the machine, the first time: {name}")

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
