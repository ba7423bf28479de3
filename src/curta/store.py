"""What can be made again, kept in the user's cache directory.

Things of one kind lie on a *shelf*, a folder. A thing is found by its key, a digest of all that it
is made of: the files of curta that make it among them (`sources_digest`). A file begins with a
digest of the rest, so that damage is seen before anything is believed; it is written whole and then
renamed, so two processes at once do the work twice and agree. A cache that is damaged, or cannot be
read or written, costs time and nothing else; but compilers have to write somewhere, and where they
cannot, an error names the place.

Some things come with curta, compressed (`packaged`): they are found like what was kept.

What is looked at stays young. Once a day, what nobody looked at for 60 days goes, and, if more than
4 GiB are left, what was not looked at for longest. Folders that other programs write (zig, JAX) or
that hold more than files (language models) are shown and cleared, but not pruned.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from glob import escape
from pathlib import Path
from threading import get_ident

import curta
from curta.settings import read_settings

LONGEST_UNUSED = 60 * 86400
MOST_BYTES = 4 << 30
SECONDS_BETWEEN = 86400
PRUNED = "pruned"
"""The file whose age tells when the store was last looked through."""
SHELVES = {
    "libraries": "generated C, compiled",
    "models": "compiled graphs: weights",
    "native": "C generated from weights",
    "hot": "which compiled code knows which program",
    "programs": "C and C++, compiled to WebAssembly",
    "lowered": "WebAssembly as core instructions",
    "proved": "functions whose lowering was proved",
    "zig": "zig's own: the C library, compiled for WebAssembly",
    "learn": "JAX's own: compiled experiments",
    "language_models": "language models out of packages",
}
OTHERS = ("zig", "learn", "language_models")
PACKAGED = Path(curta.__file__).parent / "packaged"
_DIGEST = hashlib.sha256().digest_size


@dataclass(frozen=True, slots=True)
class Shelf:
    """Things of one kind. A key that is None finds nothing, and nothing is kept under it."""

    name: str
    compressed: bool = False

    @property
    def folder(self) -> Path:
        return read_settings().cache_directory / self.name

    def read(self, key: str | None) -> bytes | None:
        """What was kept under a key, if it is as it was, or came with curta."""
        if key is None:
            return None
        packaged = PACKAGED / self.name / f"{key}.xz"
        if packaged.is_file():
            import lzma

            with suppress(OSError, EOFError, lzma.LZMAError):
                return lzma.decompress(packaged.read_bytes())
        with suppress(OSError, zlib.error):
            path = self.folder / key
            content = path.read_bytes()
            rest = content[_DIGEST:]
            if hashlib.sha256(rest).digest() == content[:_DIGEST]:
                _make_young(path)
                return zlib.decompress(rest) if self.compressed else rest
        return None

    def has(self, key: str | None) -> bool:
        """Whether there is something under a key; it may be damaged."""
        packaged = PACKAGED / self.name / f"{key}.xz"
        return key is not None and (packaged.is_file() or (self.folder / key).is_file())

    def keep(self, key: str | None, content: bytes) -> None:
        """Keep it, if it can be kept."""
        if key is None:
            return
        if self.compressed:
            content = zlib.compress(content, 1)
        with suppress(OSError):
            write_atomically(self.folder / key, hashlib.sha256(content).digest() + content)
            prune_daily()

    def find_file(self, key: str, suffix: str) -> Path | None:
        """A file that others read, and that was put here under a key."""
        with suppress(OSError):
            for path in sorted(self.folder.glob(f"{key}-*{suffix}")):
                if path.name == f"{key}-{_short_digest(path)}{suffix}":
                    _make_young(path)
                    return path
                path.unlink(missing_ok=True)
        return None

    def put_file(self, key: str, suffix: str, file: Path) -> Path:
        """Move a file here, which has to be on the same disk; its digest is in its name."""
        path = self.folder / f"{key}-{_short_digest(file)}{suffix}"
        os.replace(file, path)
        prune_daily()
        return path

    @contextmanager
    def alone(self, *, patient: bool = True) -> Iterator[bool]:
        """Others who ask for the same shelf wait, where the system has locks. Who is not patient
        does not, and is told whether he is alone.
        """
        handle, is_alone = None, True
        with suppress(ImportError, OSError):
            import fcntl

            self.folder.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.folder, os.O_RDONLY)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | (0 if patient else fcntl.LOCK_NB))
            except BlockingIOError:
                is_alone = False
        try:
            yield is_alone
        finally:
            if handle is not None:
                os.close(handle)


def key_of(made_by: bytes | None, *parts: bytes) -> str | None:
    """The key of what is made by sources with this digest, from these parts."""
    if made_by is None:
        return None
    total = hashlib.sha256(made_by)
    for part in parts:
        total.update(len(part).to_bytes(8, "little") + part)
    return total.hexdigest()[:32]


def sources_digest(*patterns: str) -> bytes | None:
    """Of the files of curta that match; None if one was changed since this process imported curta:
    then what this process makes is not what the files would.
    """
    root = Path(curta.__file__).parent
    total = hashlib.sha256()
    for path in sorted({path for pattern in patterns for path in root.glob(pattern)}):
        changed = path.stat().st_ctime_ns
        if changed > curta.IMPORTED * 1e9:
            return None
        total.update(path.relative_to(root).as_posix().encode() + _digest_of(path, changed))
    return total.digest()


@cache
def _digest_of(path: Path, changed: int) -> bytes:
    """Of a file's content, as long as it is not changed."""
    return hashlib.sha256(path.read_bytes()).digest()


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file that is either there in full or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


@contextmanager
def whole_folder(place: Path, last_file: str | None = None) -> Iterator[Path]:
    """A folder to write in, which becomes `place` unless something goes wrong; nobody sees a part.

    last_file: what a whole folder has. One that is there by then may be read by others, and stays;
        one without it is replaced. If none is named, only an empty one is.
    """

    def is_there() -> bool:
        return last_file is not None and (place / last_file).is_file()

    place = place.resolve()
    place.parent.mkdir(parents=True, exist_ok=True)
    begun = f".{place.name[:100]}.partial-"
    for left in place.parent.glob(f"{escape(begun)}*"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > SECONDS_BETWEEN:  # of a process that was killed
                shutil.rmtree(left)
    partial = place.with_name(f"{begun}{os.getpid()}-{get_ident()}")
    partial.mkdir()
    try:
        yield partial
        if last_file is not None and not is_there():
            shutil.rmtree(place, ignore_errors=True)
        try:
            with suppress(OSError):
                place.rmdir()
            partial.rename(place)
        except OSError:
            if not is_there():
                raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _make_young(path: Path) -> None:
    with suppress(OSError):  # a cache may be read only
        os.utime(path)


def _short_digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:24]


# -- what is there, and what has to go ---------------------------------------------


@dataclass(frozen=True, slots=True)
class Contents:
    """What lies on a shelf.

    shelf:        its name
    files, bytes: what there is
    """

    shelf: str
    files: int
    bytes: int


def contents() -> list[Contents]:
    """Of every shelf there is."""
    found = []
    for name in SHELVES:
        sizes = [status.st_size for _, status in _files(name)]
        found.append(Contents(name, len(sizes), sum(sizes)))
    return found


def clear(*shelves: str) -> None:
    """Remove all that lies on some shelves."""
    for name in shelves:
        folder = read_settings().cache_directory / name
        if folder.is_dir():
            shutil.rmtree(folder)


def prune_daily() -> None:
    mark = read_settings().cache_directory / PRUNED
    with suppress(OSError):
        if not mark.exists() or time.time() - mark.stat().st_mtime > SECONDS_BETWEEN:
            mark.touch()
            prune()


def prune(most_bytes: int = MOST_BYTES, longest_unused: float = LONGEST_UNUSED) -> None:
    """Remove what was not looked at for long, and the oldest of what is too much."""
    now = time.time()
    files = [file for name in SHELVES if name not in OTHERS for file in _files(name)]
    left = sum(status.st_size for _, status in files)
    for path, status in sorted(files, key=lambda file: file[1].st_mtime):
        if left <= most_bytes and now - status.st_mtime <= longest_unused:
            break
        with suppress(OSError):
            path.unlink()
        left -= status.st_size


def _files(shelf: str) -> Iterator[tuple[Path, os.stat_result]]:
    for folder, _, names in os.walk(read_settings().cache_directory / shelf):
        for name in names:
            path = Path(folder, name)
            with suppress(OSError):
                yield path, path.stat()
