"""Another process that makes something while this one goes on, and does not need it to go on.

What is made is kept in the store, where whoever wants it looks for it.
"""

from __future__ import annotations

import atexit
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import curta

PATIENCE = 10
"""How much later it gets a processor's time, where there are not enough of them."""

BEGUN: list[subprocess.Popen[bytes]] = []


@atexit.register
def leave() -> None:
    """Python complains of processes that it forgets, or leaves, before they end."""
    for process in BEGUN:
        if process.poll() is None:
            process.returncode = 0


Given = TypeVar("Given")


def begin(function: Callable[[Given], int], given: Given) -> subprocess.Popen[bytes] | None:
    """Have another process do this, and end with what is returned; None where no more can be begun.

    It goes on when this one ends, unless it is stopped; and imports nothing from where this one is.
    """
    command = [sys.executable, "-P", "-c", "from curta.engine.beside import main; main()"]
    paths = [str(Path(curta.__file__).parent.parent), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    with suppress(OSError), tempfile.TemporaryFile() as request:
        pickle.dump((function, given), request)
        request.seek(0)
        nothing = subprocess.DEVNULL
        process = subprocess.Popen(
            command,
            stdin=request,
            stdout=nothing,
            stderr=nothing,
            env=environment,
            start_new_session=True,
        )
        BEGUN[:] = [process, *(other for other in BEGUN if other.poll() is None)]
        return process
    return None


def stop(process: subprocess.Popen[bytes]) -> None:
    """End it, and the compiler that works for it."""
    if process.poll() is None:
        if hasattr(os, "killpg"):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.wait()


def main() -> None:
    """What the other process does: a request is on its input."""
    if hasattr(os, "nice"):
        os.nice(PATIENCE)
    function, given = pickle.load(sys.stdin.buffer)
    sys.exit(function(given))
