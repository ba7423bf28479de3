"""The compiler's libraries of C and C++, compiled: files that come with curta.

zig has its C library as some 600 sources, and compiles them for the first program of all, one after
another: half a minute, and as long again for C++. What comes of it is the same for all programs
whose flags do not say how libraries are compiled, so it is packaged (`machine/package.py`) for one
version of zig. For another version there is nothing under the keys, and zig compiles.

`-s` leaves out what debuggers read of a library, two thirds of it. Functions that are written in
Zig then have the names that C gives them (`close`, not `c.unistd.closeWasi`); the code is the same.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from curta.engine.toolchain import Zig
from curta.store import Shelf, key_of

ARCHIVES = Shelf("archives")
ENTRIES = {"command": "_start", "reactor": "_initialize"}
"""Where programs of a kind begin; the object that has it is `crt1-KIND.o`."""
OF_C = ("libc.a", "libzigc.a", "libcompiler_rt.a")
PARTS = {
    "c": (*(f"crt1-{kind}.o" for kind in ENTRIES), *OF_C),
    "c++": ("libc++.a", "libc++abi.a"),
}
"""What is packed together: for all programs, and for C++ besides."""
LICENCES = {
    "zig": "LICENSE",
    "musl": "lib/libc/musl/COPYRIGHT",
    **{f"wasi-libc{kind}": f"lib/libc/wasi/LICENSE{kind}" for kind in ("", "-APACHE", "-MIT")},
    "libcxx": "lib/libcxx/LICENSE.TXT",
}
"""Where zig has the terms of what is in the archives."""

OBJECT = re.compile(rb"o/[0-9a-f]{32}/")
"""Where zig had an object: part of its name in an archive."""


class Archives(NamedTuple):
    """What objects are linked with, unpacked into a folder."""

    folder: Path
    parts: Sequence[str]

    def link(self, kind: str, objects: Sequence[str], flags: Sequence[str]) -> list[str]:
        """Words for the linker, the same as zig's."""
        first, *middle, last = (f"crt1-{kind}.o", *OF_C)
        middle += [name for part in self.parts[1:] for name in PARTS[part]]
        before = [str(self.folder / name) for name in (first, *middle)]
        options = ["--error-limit=0", "--export-memory", "--stack-first", "--build-id=none"]
        words = [*options, *flags, "--entry", ENTRIES[kind], *before, *objects]
        return [*words, str(self.folder / last)]


def key(part: str, flags: Sequence[str]) -> str | None:
    """Of a part, for the installed zig."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        words = (version("ziglang"), part, *flags)
    except PackageNotFoundError:
        return None
    return key_of(b"", *(word.encode() for word in words))


def unpacked(parts: Sequence[str], flags: Sequence[str], folder: Path) -> Archives | None:
    """What programs with these flags are linked with, if it came with curta. What is in the folder
    already stays there.
    """
    import tarfile

    for part in parts:
        if all((folder / name).is_file() for name in PARTS[part]):
            continue
        packed = ARCHIVES.read(key(part, flags))
        if packed is None:
            return None
        folder.mkdir(parents=True, exist_ok=True)
        with tarfile.open(fileobj=BytesIO(packed)) as archive:
            for entry in archive:
                if (content := archive.extractfile(entry)) is not None:
                    (folder / entry.name).write_bytes(content.read())
    return Archives(folder, parts)


def made(zig: Zig, flags: Sequence[str]) -> dict[str, bytes]:
    """All parts, from zig's sources: nothing is taken from a cache."""
    terms = {f"LICENCE.{name}": (zig.folder / path).read_bytes() for name, path in LICENCES.items()}
    with tempfile.TemporaryDirectory(prefix="curta-") as place:
        folder = Path(place)
        (folder / "empty.cpp").write_text("int main() { return 0; }\n")
        caches = dict.fromkeys(("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR"), place)
        for kind in ENTRIES:
            words = (f"-mexec-model={kind}", "-s", "empty.cpp", "-o", "empty.wasm")
            command = [zig.executable, "c++", *flags, *words]
            subprocess.run(command, cwd=folder, env=os.environ | caches, check=True)
        return {
            part: _packed({name: _built(folder, name) for name in names} | terms)
            for part, names in PARTS.items()
        }


def _built(folder: Path, name: str) -> bytes:
    """What zig has made, which is the same wherever it made it."""
    (content,) = {path.read_bytes() for path in folder.glob(f"o/*/{name}")}
    return OBJECT.sub(rb"o/" + b"-" * 32 + rb"/", content)


def _packed(files: dict[str, bytes]) -> bytes:
    import tarfile

    packed = BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, BytesIO(content))
    return packed.getvalue()
