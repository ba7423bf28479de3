"""The file that a kept run's output goes to, if it goes to one: how much of it is there already."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator

from curta.errors import UserError
from curta.machine.kept.file import KeptRun, Kind
from curta.machine.kept.keeping import is_regular

if sys.platform != "win32":
    import fcntl


def output_file() -> tuple[int, int, int] | None:
    """The file that the standard output is, if it is one, and where in it output begins."""
    try:
        number = sys.stdout.fileno()
        found = os.fstat(number)
    except (AttributeError, OSError, ValueError):
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    start = found.st_size if appends(number) else os.lseek(number, 0, os.SEEK_CUR)
    return found.st_dev, found.st_ino, start


def appends(number: int) -> bool:
    """Whether what is written goes to the end, wherever the file is read."""
    if sys.platform == "win32":  # `>>` is at the end to begin with
        return False
    return bool(fcntl.fcntl(number, fcntl.F_GETFL) & os.O_APPEND)


def refuse_own_output(path: str) -> None:
    """A run is not kept in the file that its output goes to."""
    file = output_file()
    if file is not None and os.path.exists(path):
        found = os.stat(path)
        if (found.st_dev, found.st_ino) == file[:2]:
            raise UserError(f"{path} is where the output goes to: keep the run in another file")


def output_there(kept: KeptRun, last: bytes) -> int:
    """How many bytes of the run's output, and of its results behind that, are where output goes to.

    A file that holds a beginning of it, or nothing, gets what it lacks; by its length that is known
    to the byte. Anything else (a terminal, a pipe, a log of other things) got all that was kept.
    """
    stream = kept.streams[Kind.OUTPUT]
    file = output_file()
    if file is None:
        return stream.length
    number, before = sys.stdout.fileno(), kept.beginning.output
    size = os.fstat(number).st_size
    start = before[2] if before is not None and before[:2] == file[:2] else 0
    there = max(size - start, 0)
    os.lseek(number, 0, os.SEEK_END)
    return there if holds(number, kept, start, there, last) else stream.length


def holds(number: int, kept: KeptRun, start: int, length: int, last: bytes) -> bool:
    """Whether so many bytes of a file begin the output and what follows."""
    stream = kept.streams[Kind.OUTPUT]
    behind = max(length - stream.length, 0)
    if behind > len(last):
        return False
    try:
        with open(f"/dev/fd/{number}", "rb") as file:
            file.seek(start)
            same = all(file.read(len(block)) == block for block in stream.blocks(0, length))
            return same and file.read(behind) == last[:behind]
    except OSError:
        return True


def described(kept: KeptRun, handed: int) -> Iterator[str]:
    """Where the run is, and what is left out because it was done before."""
    yield f"{kept.path}: {'at' if kept.ending else 'from'} {kept.state}"
    if handed:
        is_all = handed == kept.streams[Kind.OUTPUT].length
        rest = " (--whole writes them, too)" if is_all else ""
        yield f"{handed:,} bytes of output were written before and are skipped{rest}"
    read = kept.streams[Kind.INPUT].length
    if read and not kept.input_ended:
        yield f"{read:,} bytes of input were read before, standard input gives what follows"
    is_file = sys.stdin is not None and is_regular(sys.stdin.buffer)
    if kept.input_ended and not kept.ending and is_file:
        yield "all of its input is kept, standard input is not read"
