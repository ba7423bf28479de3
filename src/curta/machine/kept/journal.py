"""A file that is only ever written at its end: records, each with a digest over all before it.

    MAGIC, then records: kind (1 byte), length of the content (8), CRC-32 of these nine (4),
    content, SHA-256 over the digest before, the kind, the length and the content (32)

A process can be killed at any moment: what it had begun to write is then the beginning of a record
at the end of the file, and is cut off by whoever writes next. So is an end of zeros,
which a computer that loses its power may leave. Anything else that is not as it was written is
damage, and is refused.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import stat
import struct
import sys
import time
import zlib
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from curta.errors import FileError, ProgramError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

MAGIC = b"curta kept run 2\n"
FAMILY = b"curta kept run "
"""What the magic of every version begins with."""
_HEAD = struct.Struct("<BQ")
_CHECK = struct.Struct("<I")
_BEFORE = _HEAD.size + _CHECK.size
_BEHIND = hashlib.sha256().digest_size
_BEGUN = hashlib.sha256(MAGIC).digest()
_BLOCK = 1 << 20
SYNCED_SECONDS = 1.0
"""The disk is asked to take what was written at most that often (`Journal.sync`)."""


@dataclass(frozen=True, slots=True)
class Record:
    """Where a record's content lies in the file."""

    kind: int
    place: int
    length: int


class Journal:
    """An open one. `records` are those that were there when it was opened."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self.records: list[Record] = []
        self._file = descriptor
        self._tip = 0, _BEGUN
        """Where the last whole record ends, and its digest: one value, as anything can be
        interrupted between two.
        """
        self._is_writing = False
        self._synced = time.monotonic()

    # -- opening ---------------------------------------------

    @classmethod
    def create(
        cls, path: str | Path, is_void: Callable[[Journal], bool] = lambda journal: False
    ) -> Journal:
        """A new one. A file that holds something is not touched, but for a beginning of MAGIC and
        for a journal that means nothing.
        """
        path = Path(path)
        journal = cls(path, _opened(path, os.O_RDWR | os.O_CREAT))
        with ExitStack() as failed:
            failed.callback(journal.close)
            journal._lock()
            start = _read(journal._file, len(MAGIC), 0)
            if not (MAGIC.startswith(start) or start.startswith(FAMILY)):
                raise FileError(f"{path} is there already, and is no kept run; give another name")
            if len(start) == len(MAGIC):
                journal._check()
            if journal.records and not is_void(journal):
                raise FileError(
                    f"{path} is there already: `{command('resume', path)}` goes on with the run "
                    "in it; give another name to keep another"
                )
            os.ftruncate(journal._file, 0)
            journal.records, journal._tip = [], (0, _BEGUN)
            journal._write(MAGIC, _BEGUN)
            _sync_folder(path)
            failed.pop_all()
        return journal

    @classmethod
    def open(cls, path: str | Path, *, to_write: bool = False) -> Journal:
        """One that is there, with all of it checked. Its last record may be incomplete."""
        path = Path(path)
        journal = cls(path, _opened(path, os.O_RDWR if to_write else os.O_RDONLY))
        with ExitStack() as failed:
            failed.callback(journal.close)
            if to_write:
                journal._lock()
            journal._check()
            if to_write:
                os.ftruncate(journal._file, journal._tip[0])
            failed.pop_all()
        return journal

    def _lock(self) -> None:
        try:
            _lock(self._file)
        except (BlockingIOError, PermissionError) as error:
            raise FileError(f"{self.path} is being written by another process") from error
        except OSError as error:
            raise FileError(f"{self.path} cannot be locked: {error.strerror}") from error

    def _check(self) -> None:
        """Find the records. They end where there is no whole one left."""
        size = os.fstat(self._file).st_size
        start = _read(self._file, len(MAGIC), 0)
        if start != MAGIC:
            raise FileError(f"{self.path} {_what_it_is(start)}")
        self._tip = len(MAGIC), _BEGUN
        while size - self._tip[0] >= _BEFORE:
            begin, digest = self._tip
            head = _read(self._file, _BEFORE, begin)
            kind, length = _HEAD.unpack_from(head)
            record = Record(kind, begin + _BEFORE, length)
            end = record.place + length + _BEHIND
            if head != _head(kind, length):
                if self._is_zero(begin, size):
                    return
                raise self._damaged()
            if end > size:
                return
            total = self._digest(record, digest)
            if _read(self._file, _BEHIND, end - _BEHIND) != total:
                if self._is_zero(end - _BEHIND, size):
                    return
                raise self._damaged()
            self._tip = end, total
            self.records.append(record)

    def _digest(self, record: Record, before: bytes) -> bytes:
        total = hashlib.sha256(before + _HEAD.pack(record.kind, record.length))
        for place in range(0, record.length, _BLOCK):
            total.update(self.read(record, place, min(_BLOCK, record.length - place)))
        return total.digest()

    def _is_zero(self, begin: int, end: int) -> bool:
        """Whether a part of the file never came to the disk, or was never more than zeros."""
        blocks = range(begin, end, _BLOCK)
        return not any(any(_read(self._file, min(_BLOCK, end - at), at)) for at in blocks)

    def _damaged(self) -> FileError:
        end, begun = self._tip[0], Path(f"{self.path}-begun")
        while begun.exists():
            begun = Path(f"{begun}-begun")
        rest = f"head -c {end} {_argument(self.path)} > {_argument(begun)}"
        rest += f" && {command('resume', begun)}"
        return FileError(
            f"{self.path} is damaged: record {len(self.records) + 1:,}, which begins at byte "
            f"{end:,}, is not as it was written; take a copy that is whole, or go on with what is "
            f"before it: `{rest}`"
        )

    # -- reading and writing ---------------------------------------------

    @property
    def end(self) -> int:
        """Where the next record begins."""
        return self._tip[0]

    def read(self, record: Record, first: int = 0, count: int | None = None) -> bytes:
        """A record's content, or a part of it."""
        left = record.length - first if count is None else count
        parts, place = [], record.place + first
        while left > 0:
            part = _read(self._file, left, place)
            if not part:
                raise FileError(f"{self.path} became shorter while it was read")
            parts.append(part)
            left, place = left - len(part), place + len(part)
        return b"".join(parts)

    def append(self, kind: int, content: bytes) -> Record:
        """Write a record at the end."""
        place, digest = self._tip
        total = hashlib.sha256(digest + _HEAD.pack(kind, len(content)))
        total.update(content)
        self._write(_head(kind, len(content)) + content + total.digest(), total.digest())
        return Record(kind, place + _BEFORE, len(content))

    def _write(self, content: bytes, digest: bytes) -> None:
        """All of it, or nothing and an error."""
        end, _ = self._tip
        if self._is_writing:  # and was interrupted
            os.ftruncate(self._file, end)
        self._is_writing = True
        view, place = memoryview(content), end
        try:
            while view:
                os.lseek(self._file, place, os.SEEK_SET)
                written = os.write(self._file, view)
                view, place = view[written:], place + written
        except OSError as error:
            os.ftruncate(self._file, end)
            raise ProgramError(
                f"{self.path} cannot be written: {error.strerror}; what was kept before is whole"
            ) from error
        self._tip = place, digest
        self._is_writing = False

    def sync(self, *, now: bool = False) -> None:
        """Have the disk take what was written, if it is some time since it was last asked to."""
        if now or time.monotonic() - self._synced > SYNCED_SECONDS:
            os.fsync(self._file)
            self._synced = time.monotonic()

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def is_journal(path: str | Path) -> bool:
    """Whether a file begins as a journal does, of whichever version."""
    try:
        with open(path, "rb") as file:
            return file.read(len(FAMILY)) == FAMILY
    except OSError:
        return False


def command(verb: str, path: str | Path) -> str:
    """What to type in a shell, in order to do something with a kept run."""
    return f"curta {verb} {_argument(path)}"


def _argument(path: str | Path) -> str:
    name = str(path)
    return shlex.quote(f"./{name}" if name.startswith("-") else name)


def _sync_folder(path: Path) -> None:
    """Have the disk take the name of a new file."""
    with suppress(OSError):  # not everywhere can folders be synced
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _lock(file: int) -> None:
    """Keep others from writing it, or raise an error."""
    if sys.platform == "win32":  # a byte far behind the end: what is locked cannot be read there
        os.lseek(file, 1 << 62, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _read(file: int, count: int, place: int) -> bytes:
    """As os.pread, which not every system has."""
    os.lseek(file, place, os.SEEK_SET)
    return os.read(file, count)


def _head(kind: int, length: int) -> bytes:
    head = _HEAD.pack(kind, length)
    return head + _CHECK.pack(zlib.crc32(head))


def _opened(path: Path, flags: int) -> int:
    try:
        if path.exists() and not stat.S_ISREG(path.stat().st_mode):
            raise FileError(f"{path}: a run is kept in a regular file, which this is not")
        return os.open(path, flags | getattr(os, "O_BINARY", 0), 0o644)
    except FileNotFoundError as error:
        what = "no such folder" if flags & os.O_CREAT else "no such file"
        raise FileError(f"{path}: {what}") from error
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from error


def _what_it_is(start: bytes) -> str:
    """A file that does not begin as a journal of this version does, in words."""
    if MAGIC.startswith(start):
        return "is empty: the run was ended before anything of it was kept; begin it again"
    if start.startswith(FAMILY):
        version = start[len(FAMILY) :].split(b"\n")[0].decode("ascii", "replace")
        return f"is a run kept by another curta (its format is {version}); go on with that one"
    return "is no kept run; `curta run PROG --keep FILE` makes one"
