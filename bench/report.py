"""What every benchmark says about where it ran, and how it writes its tables."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from statistics import median

import curta
from curta.engine.toolchain import compiler_version, find_compiler
from curta.errors import CurtaError
from curta.machine.weights import load_machine


def print_machine(packages: Sequence[str]) -> None:
    """Processor, versions, compiler."""
    print(f"processor  {processor()}, {os.cpu_count()} cores visible, {platform.system()}")
    print(
        f"versions   curta {curta.__version__}, Python {platform.python_version()}, "
        + ", ".join(f"{name} {installed(name)}" for name in packages)
    )
    try:
        print(f"compiler   {compiler_version(find_compiler())}")
    except CurtaError as error:
        print(f"compiler   {error}")
    print()


def complete_machine() -> None:
    """Have all of the machine's code compiled: a run begins with a part of it."""
    from curta.engine.native_level import Native  # not in every checkout that is compared

    engine = load_machine()
    assert isinstance(engine, Native)
    engine.library.complete()


def processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            names = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
        return names[0]
    except (OSError, IndexError):
        return platform.processor() or platform.machine()


def installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"


def spread(values: Sequence[float], digits: int = 2) -> str:
    """Median, and smallest to largest."""
    low, high = min(values), max(values)
    return f"{median(values):.{digits}f} ({low:.{digits}f}-{high:.{digits}f})"


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    print(title)
    for row in (header, ["-" * width for width in widths], *rows):
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        )
    print()
