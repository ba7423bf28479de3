"""Run a command within limits: of time, memory, output and files that it may see.

As a script (`confine.py JSON COMMAND...`) it limits itself and becomes the command, so that nothing
of the command happens before; it imports nothing of curta, as it starts for every call. What an
operating system does not have is left out: only the clock of `run` is everywhere.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

GLANCE = 0.2
"""Seconds between looks whether somebody waits for a command."""


@dataclass(frozen=True)
class Limits:
    """What a command may use.

    seconds:  of a clock, and of a processor
    memory:   bytes of addresses
    output:   bytes of a file, standard output and error among them
    readable: folders that it may read; None does not limit files
    alone:    whether it may not start others
    """

    seconds: float
    memory: int
    output: int
    readable: tuple[str, ...] | None = None
    alone: bool = False


@dataclass(frozen=True)
class Finished:
    """What a command did; its status is None if it took too long, negative if it was killed."""

    status: int | None
    output: bytes
    error: str


def run(
    command: Sequence[str],
    given: bytes,
    limits: Limits,
    folder: str,
    environment: dict[str, str] | None = None,
    given_up: Callable[[], bool] = lambda: False,
) -> Finished:
    """Run it to its end, in a folder that it may write to; all that it started ends with it. Once
    nobody waits for it, it ends as if its time were over.
    """
    script = [sys.executable, "-I", "-S", __file__, json.dumps(asdict(limits))]
    with (
        tempfile.TemporaryFile() as standard_input,
        tempfile.TemporaryFile() as output,
        tempfile.TemporaryFile() as error,
    ):
        standard_input.write(given)
        standard_input.seek(0)
        process = subprocess.Popen(
            [*script, *command],
            stdin=standard_input,
            stdout=output,
            stderr=error,
            cwd=folder,
            env={"PATH": os.defpath, "TMPDIR": folder} | (environment or {}),
            start_new_session=True,
        )
        status: int | None = None
        try:
            ends = time.monotonic() + limits.seconds
            while status is None and not given_up() and (left := ends - time.monotonic()) > 0:
                with suppress(subprocess.TimeoutExpired):
                    status = process.wait(min(left, GLANCE))
        finally:
            end(process)
        output.seek(0)
        error.seek(0)
        return Finished(status, output.read(), error.read().decode(errors="replace"))


def end(process: subprocess.Popen[bytes]) -> None:
    """End it, and all of its session, if the system has such."""
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()


# -- within the process ---------------------------------------------


def confine(limits: Limits, folder: str) -> None:
    """Limit this process for good. Where Linux is, it ends with the one that started it, which may
    be such a process itself, killed at the end of its time.
    """
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(END_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
    with suppress(ImportError):
        import resource

        wanted = {
            "RLIMIT_CPU": int(limits.seconds) + 1,
            "RLIMIT_AS": limits.memory,
            "RLIMIT_FSIZE": limits.output,
            "RLIMIT_CORE": 0,
        } | ({"RLIMIT_NPROC": 0} if limits.alone else {})
        for name, most in wanted.items():
            with suppress(ValueError, OSError):  # less is allowed, or the system has no such
                resource.setrlimit(getattr(resource, name), (most, most))
    if limits.readable is not None and sys.platform == "linux":
        see_only((*limits.readable, folder), folder)


END_WITH_PARENT, NO_NEW_PRIVILEGES = 1, 38
"""Of prctl."""
SYSTEM_CALLS = 444
"""The first of Landlock's three, on every processor: create_ruleset, add_rule, restrict_self."""
VERSION = 1
EXECUTE, READ_FILE, READ_DIRECTORY = 1 << 0, 1 << 2, 1 << 3
ACCESS = ((1, 13), (2, 14), (3, 15), (5, 16))
"""Since which version how many kinds of access are known."""


def see_only(readable: Sequence[str], writable: str) -> None:
    """Have the kernel refuse all other files, if it can: one wall more, which nothing rests on."""
    import ctypes
    import struct

    call = ctypes.CDLL(None, use_errno=True).syscall
    version = call(SYSTEM_CALLS, None, 0, VERSION)
    kinds = max((count for since, count in ACCESS if version >= since), default=0)
    if not kinds:
        return
    network = 3 if version >= 4 else 0
    everything = (1 << kinds) - 1
    attributes = struct.pack("QQ", everything, network)[: 16 if version >= 4 else 8]
    rules = call(SYSTEM_CALLS, attributes, len(attributes), 0)
    looking = EXECUTE | READ_FILE | READ_DIRECTORY
    for path in (*readable, writable):
        with suppress(OSError):
            handle = os.open(path, os.O_PATH)
            allowed = everything if path == writable else looking
            call(SYSTEM_CALLS + 1, rules, 1, struct.pack("=Qi", allowed, handle), 0)
            os.close(handle)
    ctypes.CDLL(None).prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    call(SYSTEM_CALLS + 2, rules, 0)


if __name__ == "__main__":
    confine(Limits(**json.loads(sys.argv[1])), str(Path.cwd()))
    os.execve(sys.argv[2], sys.argv[2:], os.environ)
