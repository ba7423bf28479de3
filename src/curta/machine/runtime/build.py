"""The library's C sources in, its WebAssembly files out.

`python -m curta.machine.runtime.build` compiles with the `ziglang` package and replaces the
committed files; `--check` only says whether they are what the sources give. One version of
ziglang gives the same bytes everywhere: nothing of the machine goes into them.

- `arithmetic.wasm`: 64-bit integers and floats; no memory
- `wasi.wasm`: WASI preview 1; its only memory is the user's
- `bulk.wasm`: instructions on whole stretches of memory and of the table
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

FOLDER = Path(__file__).parent
BUILT_WITH = "0.17.1"  # the version of ziglang that the committed files come from

FLAGS = (
    "--target=wasm32-freestanding",
    "-std=c11",
    "-O2",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-nostdlib",
    "-ffreestanding",
    "-fno-builtin",
    "-fno-delete-null-pointer-checks",  # address 0 is as good as any
    "-fno-jump-tables",  # nor the look-up tables that a switch can become
    "-fno-vectorize",
    "-fno-slp-vectorize",
    "-fno-unroll-loops",  # the sources do it where it pays
    "-mcpu=mvp",
    "-mmultivalue",
    "-msign-ext",
    "-Xclang",
    "-target-abi",
    "-Xclang",
    "experimental-mv",
    "-Wl,--no-entry",
    "-Wl,--strip-all",
    "-Wl,--import-memory",
    "-Wl,-z,stack-size=0",
)


@dataclass(frozen=True)
class Library:
    """One .wasm file and the sources that it is linked from."""

    name: str
    sources: tuple[str, ...]

    @property
    def path(self) -> Path:
        """Where the built file is kept."""
        return FOLDER / f"{self.name}.wasm"


ARITHMETIC = Library(
    "arithmetic",
    (
        "int64.c",
        "int64_constant.c",
        "float32.c",
        "float64.c",
        "convert.c",
    ),
)
WASI = Library("wasi", ("wasi.c", "wasi_absent.c"))
BULK = Library("bulk", ("bulk.c",))
LIBRARIES = (ARITHMETIC, WASI, BULK)


def compiler_version() -> str:
    """The version of the installed ziglang."""
    return version("ziglang")


def compile_library(library: Library) -> bytes:
    """The bytes of a library, compiled now."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "library.wasm"
        command = [sys.executable, "-m", "ziglang", "cc", *FLAGS, *library.sources]
        subprocess.run([*command, "-o", str(output)], cwd=FOLDER, check=True)
        return output.read_bytes()


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the libraries, or say which of the committed ones are stale."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--check", action="store_true", help="build nothing, only compare")
    check = parser.parse_args(arguments).check
    stale = 0
    for library in LIBRARIES:
        built = compile_library(library)
        if check:
            same = library.path.exists() and library.path.read_bytes() == built
            print(f"{library.path.name}: {'up to date' if same else 'stale'}")
            stale += not same
        else:
            library.path.write_bytes(built)
            print(f"{library.path.name}: {len(built)} bytes")
    return 1 if stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
