"""The pieces' C sources in, the objects that programs are linked with out.

`python -m curta.machine.libc.build` compiles with the `ziglang` package and replaces the committed
files; `--check` only says whether they are what the sources give.

The linker takes from a library what no object defines, so these are objects: the compiler's C
library would come before another library. What they define is *weak*: a program's own `vfprintf`
goes before it. But what an object needs is always taken from the library, whether or not the object
is of use: with output come the buffers that are emptied at the end. So each piece has a sign, the
name of a function that is in every program that the piece is for; functions of the C library that
it replaces; and burdens, names of functions that it may bring into others.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
BUILT_WITH = "0.17.1"  # the version of ziglang that the committed files come from

FLAGS = (
    "--target=wasm32-wasi",
    "-mcpu=mvp+sign_ext+mutable_globals+bulk_memory+nontrapping_fptoint+multivalue",
    "-std=gnu11",
    "-Oz",
    "-g0",
    "-Wall",
    "-Wextra",
    "-Wno-sign-compare",
    "-Werror",
    "-fvisibility=hidden",
    "-ffunction-sections",
    "-fno-sanitize=undefined",
    "-fno-builtin",  # loops of a few bytes stay loops
    "-fno-jump-tables",
)


@dataclass(frozen=True)
class Piece:
    """Objects that go together."""

    name: str
    sources: tuple[str, ...]
    sign: str
    replaces: tuple[str, ...]
    burdens: tuple[str, ...] = ()

    @property
    def objects(self) -> tuple[Path, ...]:
        """The built files of its sources."""
        return tuple(object_of(source) for source in self.sources)


SOURCES = (
    "digits.c",
    "field.c",
    "print_float.c",
    "print_wide.c",
    "printf.c",
    "read_float.c",
    "scanf.c",
    "strtod.c",
)
PIECES = (
    Piece(
        "print",
        ("printf.c", "field.c", "print_float.c", "print_wide.c", "digits.c"),
        sign="curta_emit",
        replaces=("vfprintf", "vsnprintf"),
        burdens=("__stdio_exit",),
    ),
    Piece(
        "scan",
        ("scanf.c", "read_float.c", "digits.c"),
        sign="curta_scan",
        replaces=("vfscanf", "vsscanf"),
        burdens=("__stdio_exit", "getc"),
    ),
    Piece(
        "float",
        ("strtod.c", "read_float.c", "digits.c"),
        sign="curta_read_float",
        replaces=("strtod", "strtof", "strtold"),
    ),
)


def object_of(source: str) -> Path:
    """Where the built file is kept."""
    return FOLDER / source.replace(".c", ".o")


def compile_object(source: str) -> bytes:
    """The bytes of an object, compiled now."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "object.o"
        command = [sys.executable, "-m", "ziglang", "cc", *FLAGS, "-c", source]
        subprocess.run([*command, "-o", str(output)], cwd=FOLDER, check=True)
        return output.read_bytes()


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the objects, or say which of the committed ones are stale."""
    from argparse import ArgumentParser

    parser = ArgumentParser(description=main.__doc__)
    parser.add_argument("--check", action="store_true", help="build nothing, only compare")
    check = parser.parse_args(arguments).check
    stale = 0
    for source in SOURCES:
        path, built = object_of(source), compile_object(source)
        if check:
            same = path.exists() and path.read_bytes() == built
            print(f"{path.name}: {'up to date' if same else 'stale'}")
            stale += not same
        else:
            path.write_bytes(built)
            print(f"{path.name}: {len(built)} bytes")
    return 1 if stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
