"""A long source in units: the first is a library that says every token; the others make it faster.

A run begins as soon as the first is compiled. Another process compiles the others, side by side,
whether this one ends meanwhile or not; libraries are given them when they are there.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from curta.engine.toolchain import LIBRARIES, build_library, find_library
from curta.errors import CurtaError
from curta.settings import read_settings

if TYPE_CHECKING:
    import subprocess

COUNT = re.compile(r"^#define UNITS (\d+)$", re.MULTILINE)
FLAGS = ("-fwrapv", "-lm")
LESS_OPTIMISED = ("-O1", "-fexpensive-optimizations")
"""The second is one of -O2 that leaves jumps behind templates where they are."""
LARGE = 1_000_000
"""Characters of a source that would take a compiler too long with all of its optimisations."""
BETWEEN_LOOKS = 0.1
"""Seconds until it is looked again for what another process makes."""
BETWEEN_BEGINNINGS = 5.0
"""Seconds, the first time, until there is another such process, if the one before had to leave the
work to others.
"""
SLOW = (
    "a part of the engine's code was not compiled: what runs says the same tokens, but many "
    "times more slowly. CURTA_PLACES=now has it compiled again, and shows what the compiler says."
)


class Units:
    """The libraries of one source."""

    def __init__(self, source: str) -> None:
        self.source = source
        found = COUNT.search(source)
        self.count = int(found[1]) if found else 1
        self.absent = set(range(1, self.count))
        """Those that were not found yet."""
        self.process: subprocess.Popen[bytes] | None = None
        self.is_beside = read_settings().places == "later"
        """Whether another process compiles them, as long as that is of use."""
        self.looking = Lock()
        self.next_look = self.next_beginning = 0.0
        self.between_beginnings = BETWEEN_BEGINNINGS

    def flags(self, unit: int) -> tuple[str, ...]:
        optimised = LESS_OPTIMISED if len(self.source) > LARGE else ()
        divided = (f"-DUNIT={unit}",) if self.count > 1 else ()
        return (*FLAGS, *optimised, *divided)

    def build(self, unit: int = 0) -> Path:
        return build_library(self.source, name="native", flags=self.flags(unit))

    def build_others(self, *, patient: bool = True) -> None:
        """One process at a time does so. Others wait for it, and then find them; or leave it alone
        if they are not patient.
        """
        with LIBRARIES.alone(patient=patient) as is_alone:
            if is_alone:
                with ThreadPoolExecutor(self.count) as workers:
                    list(workers.map(self.build, sorted(self.absent)))
        self.next_look = 0.0

    def look(self, take: Callable[[int, Path], None]) -> None:
        """Give others that are there by now; those that are not are compiled beside. A run that
        looks goes on without them, whatever is wrong with them.
        """
        now = time.monotonic()
        if not self.absent or now < self.next_look or not self.looking.acquire(blocking=False):
            return
        try:
            self.next_look = now + BETWEEN_LOOKS
            with suppress(CurtaError):
                for unit in sorted(self.absent):
                    path = find_library(self.source, name="native", flags=self.flags(unit))
                    if path is not None:
                        take(unit, path)
                        self.absent.remove(unit)
            if self.absent and self.is_beside:
                self.begin_beside(now)
        finally:
            self.looking.release()

    def begin_beside(self, now: float) -> None:
        from curta.engine import beside

        ended = self.process and self.process.poll()
        if self.process is None or (ended == 0 and now >= self.next_beginning):
            self.process = beside.begin(build_others_of, self.source)
            self.next_beginning = now + self.between_beginnings
            self.between_beginnings *= 2
        if ended or self.process is None:
            self.is_beside = False
            if sys.stderr is not None:
                print(f"curta: {SLOW}", file=sys.stderr, flush=True)


def build_others_of(source: str) -> int:
    Units(source).build_others(patient=False)
    return 0
