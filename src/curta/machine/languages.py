"""Programs of Zig and Rust: their own compilers make the module.

Zig is the `ziglang` package that compiles C, too. Rust is what is installed, with its target for
WASI (`rustup target add wasm32-wasip1`). Both find a program's other files themselves, from the one
that is named; what was compiled before, Zig knows by its own cache.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from curta.engine.toolchain import zig_environment
from curta.errors import CompilerNotFoundError, SourceError
from curta.machine import toolchain
from curta.machine.flags import FEATURES
from curta.machine.toolchain import Watcher

WASI, BEFORE = "wasm32-wasip1", "wasm32-wasi"
"""What Rust calls its target, and what it did up to 1.77."""
STACK = "1048576"
"""Bytes, as of C: addresses stay small."""


def compiled(
    source: Path, flags: Sequence[str], *, library: bool, watcher: Watcher | None
) -> bytes:
    """The module of a program, or of a library whose exported functions are called one by one."""
    is_zig = source.suffix.lower() == ".zig"
    with tempfile.TemporaryDirectory(prefix="curta-") as folder:
        output = Path(folder) / "program.wasm"
        command = (zig if is_zig else rust)(output, library=library)
        status, said = toolchain.run([*command, *flags, str(source)], zig_environment(), watcher)
        if status != 0:
            name = "Zig" if is_zig else "Rust"
            remedy = ""
            if "target may not be installed" in said:
                remedy = f"; install its target: rustup target add {WASI}"
            raise SourceError(
                f"{source}: the {name} compiler refused it{remedy}\n{toolchain.diagnostics(said)}"
            )
        if said.strip() and watcher is not None:
            watcher.warned(toolchain.diagnostics(said))
        return toolchain.without_custom_sections(output.read_bytes())


def zig(output: Path, *, library: bool) -> list[str]:
    """Its command, without flags of the user's and the source."""
    return [
        toolchain.zig().executable, "build-exe", "-target", "wasm32-wasi", f"-mcpu={FEATURES}",
        "-OReleaseFast", "--stack", STACK, f"-femit-bin={output}",
        *(("-fno-entry", "-rdynamic") if library else ()),
    ]  # fmt: skip


def rust(output: Path, *, library: bool) -> list[str]:
    """The same of Rust."""
    found = shutil.which("rustc")
    if found is None:
        raise CompilerNotFoundError(
            "Rust is compiled by rustc, which is not there: install it (https://rustup.rs), and "
            f"its target: rustup target add {WASI}"
        )
    listed = subprocess.run([found, "--print=target-list"], capture_output=True, text=True)
    target = WASI if WASI in listed.stdout.split() else BEFORE
    return [
        found, f"--target={target}", "--edition=2021", "-Copt-level=2", "-Cpanic=abort",
        f"-Clink-arg=-zstack-size={STACK}", "-o", str(output),
        *(("--crate-type=cdylib",) if library else ()),
    ]  # fmt: skip
