"""A long source in units: the first is a library that says every token; the others make it faster.

A run begins as soon as the first is compiled. Another process compiles the others, side by side,
whether this one ends meanwhile or not; libraries are given them when they are there.
"""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from curta.engine.toolchain import LIBRARIES, build_library, find_library
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
SLOW = (
    "a part of the engine's code could not be compiled: what runs says the same tokens, but many "
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
        self.next_look = 0.0

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
                    list(workers.map(self.build, self.absent))
        self.next_look = 0.0

    def found(self) -> Iterator[tuple[int, Path]]:
        """Others that are there by now; those that are not are compiled beside."""
        if not self.absent or time.monotonic() < self.next_look:
            return
        self.next_look = time.monotonic() + BETWEEN_LOOKS
        for unit in sorted(self.absent):
            path = find_library(self.source, name="native", flags=self.flags(unit))
            if path is not None:
                self.absent.remove(unit)
                yield unit, path
        if self.absent and read_settings().places != "off":
            self.have_built()

    def have_built(self) -> None:
        from curta.engine import beside

        if self.process is None:
            self.process = beside.begin(build_others_of, self.source)
        if self.process is None or self.process.poll():
            self.next_look = float("inf")
            warnings.warn(SLOW, stacklevel=2)


def build_others_of(source: str) -> int:
    Units(source).build_others(patient=False)
    return 0
