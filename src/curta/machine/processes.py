"""A machine and a program, in other processes of this computer."""

from __future__ import annotations

import os
import signal
import sys
import threading
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

from curta.engine import Engine, Level
from curta.machine.loaded import LoadedProgram

if TYPE_CHECKING:
    from curta.machine.kept.keeping import Ready


@dataclass(frozen=True, slots=True)
class WorkerSetup:
    """What another process has to know of a machine and its program."""

    level: Level
    program: bytes
    is_baked: bool
    weights: str | None
    extensions: tuple[str, ...]
    folder: str
    """Where modules with extensions are looked for."""
    threads: int | None = None
    """That PyTorch uses; None leaves it to PyTorch."""


def worker_setup(ready: Ready, level: Level) -> WorkerSetup:
    """What others have to know of this; modules with extensions are looked for from here on."""
    program = ready.program
    return WorkerSetup(
        level, program.to_bytes(), program.baked, ready.weights, ready.extensions, os.getcwd()
    )


@cache
def prepared(setup: WorkerSetup) -> tuple[Engine, LoadedProgram]:
    """What every process makes once."""
    if setup.threads is not None and setup.level == "plain":
        from curta.engine.plain import use_threads

        use_threads(setup.threads)
    program = replace(LoadedProgram.from_bytes(setup.program), baked=setup.is_baked)
    if setup.weights is not None:
        from curta.machine.bake import load_baked

        return load_baked(setup.weights, setup.level, prove=False).engine, program
    from curta.machine.extensions import find_extension
    from curta.machine.parts.operations import Operations
    from curta.machine.weights import load_machine

    sys.path.insert(0, setup.folder)
    try:
        extensions = [find_extension(text) for text in setup.extensions]
    finally:
        sys.path.pop(0)
    return load_machine(setup.level, Operations(extensions).extensions), program


def processes(count: int) -> tuple[ProcessPoolExecutor, Connection]:
    """So many of them, which end with this one, however it ends, and when the connection closes."""
    context = get_context("spawn")
    theirs, ours = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(count, mp_context=context, initializer=end_with, initargs=(theirs,))
    return pool, ours


def end_with(parent: Connection) -> None:
    """Have this process end as soon as nobody holds the other end of a pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent

    def watch() -> None:
        with suppress(EOFError, OSError):
            parent.recv_bytes()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
