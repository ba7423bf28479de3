"""The machine's engine for a page: the C made of its weights, compiled to WebAssembly.

The same C as at the native level, and so the same tokens. Compiling it takes a minute or more, so
that of the machine without extensions comes with curta (`python -m curta.explore.engine` makes it
anew), found under a digest of the C; others are made when they are needed, and kept.
"""

from __future__ import annotations

import lzma
import subprocess
import tempfile
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from curta.engine.model_cache import NATIVE
from curta.engine.native_level import Native
from curta.engine.toolchain import find_zig, zig_environment
from curta.errors import CompilerNotFoundError, ToolchainError
from curta.machine.parts.operations import Extension
from curta.machine.weights import load_machine, native_key
from curta.store import Shelf, key_of

PROGRAMS = Shelf("programs")
"""As of all that is compiled to WebAssembly."""
FEATURES = "mvp+sign_ext+mutable_globals+bulk_memory+nontrapping_fptoint"
FUNCTIONS = ("create", "take", "generate", "broken", "exhausted", "bytes")
FLAGS = (
    "--target=wasm32-wasi",
    f"-mcpu={FEATURES}",
    "-mexec-model=reactor",
    *("-std=c11", "-O2", "-g0", "-fwrapv", "-ffp-contract=off", "-fno-sanitize=undefined"),
    "-fvisibility=hidden",
    *("-Wl,--strip-all", "-Wl,--export=malloc"),
    *(f"-Wl,--export=curta_{name}" for name in FUNCTIONS),
)
QUOTED_LINES = 12


def engine_module(extensions: Sequence[Extension] = ()) -> bytes:
    """The engine as a WebAssembly module."""
    source = source_for_page(machine_source(extensions))
    key = key_of(b"", source.encode(), "\0".join(FLAGS).encode())
    packaged = Path(__file__).parent / f"{key}.xz"
    if packaged.is_file():
        return lzma.decompress(packaged.read_bytes())
    kept = PROGRAMS.read(key)
    if kept is None:
        kept = compiled(source)
        PROGRAMS.keep(key, kept)
    return kept


def machine_source(extensions: Sequence[Extension] = ()) -> str:
    """The C of the machine, as the native level has it."""
    kept = NATIVE.read(native_key(extensions))
    if kept is not None:
        return kept.decode().partition("\n")[2]
    engine = load_machine("native", extensions)
    assert isinstance(engine, Native)
    return str(engine.library.source)


def source_for_page(source: str) -> str:
    """The C behind an allocator that a page can do with."""
    return (resources.files("curta.explore") / "allocator.c").read_text(encoding="utf-8") + source


def compiled(source: str) -> bytes:
    """The C as WebAssembly, by zig."""
    zig = find_zig()
    if zig is None:
        raise CompilerNotFoundError(
            "the engine of a page is compiled with the ziglang package, which is missing: "
            "pip install ziglang"
        )
    with tempfile.TemporaryDirectory(prefix="curta-") as folder:
        file, output = Path(folder) / "engine.c", Path(folder) / "engine.wasm"
        file.write_text(source, encoding="utf-8")
        finished = subprocess.run(
            [zig.executable, "cc", *FLAGS, str(file), "-o", str(output)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            env=zig_environment(),
        )
        if finished.returncode or not output.is_file():
            said = "\n".join(finished.stderr.strip().splitlines()[:QUOTED_LINES])
            raise ToolchainError(f"zig did not compile the engine of a page. It said:\n{said}")
        return output.read_bytes()


def main() -> int:
    """Make the file that comes with curta anew."""
    folder = Path(__file__).parent
    source = source_for_page(machine_source())
    key = key_of(b"", source.encode(), "\0".join(FLAGS).encode())
    if not (folder / f"{key}.xz").is_file():
        module = PROGRAMS.read(key) or compiled(source)
        for old in folder.glob("*.xz"):
            old.unlink()
        (folder / f"{key}.xz").write_bytes(lzma.compress(module, preset=9))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
