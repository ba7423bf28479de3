"""The machine's engine for a page: the C made of its weights, compiled to WebAssembly.

The same C as at the native level, and so the same tokens; beside it C that looks at the residual
stream of one step, and in a section of its own what slots that has. Compiling it takes a minute or
more, so that of the machine without extensions comes with curta (`python -m curta.explore.engine`
makes it anew), found under a digest of what it is made of; others are made when they are needed,
and kept.
"""

from __future__ import annotations

import json
import lzma
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path

from curta.engine.toolchain import find_zig, zig_environment
from curta.errors import CompilerNotFoundError, ToolchainError
from curta.explore.slots import residual_stream
from curta.machine.parts.operations import Extension
from curta.machine.wasm.encode import custom_section
from curta.machine.weights import machine_c, machine_model
from curta.store import Shelf, key_of, sources_digest

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
    "-DFLAGS=1",  # look.c tells what was filed from what was not
    *("-Wl,--strip-all", "-Wl,--export=malloc"),
)
SECTION = "slots"
BESIDE = ("engine/native/look_to_c.py", "explore/allocator.c")
"""What C is made by, or is, that stands beside the machine's."""
QUOTED_LINES = 12


def engine_module(extensions: Sequence[Extension] = ()) -> bytes:
    """The engine as a WebAssembly module."""
    native = machine_c(extensions)
    key = engine_key(native)
    packaged = Path(__file__).parent / f"{key}.xz"
    if packaged.is_file():
        return lzma.decompress(packaged.read_bytes())
    kept = PROGRAMS.read(key)
    if kept is None:
        kept = made(native, extensions)
        PROGRAMS.keep(key, kept)
    return kept


def engine_key(native: bytes) -> str | None:
    """Changes whenever anything does that the module is made of."""
    return key_of(sources_digest(*BESIDE), native, " ".join(FLAGS).encode())


def made(native: bytes, extensions: Sequence[Extension] = ()) -> bytes:
    """The module, which looks at streams if it can; only then it has slots."""
    from curta.engine.native.look_to_c import look_to_c

    source = native.decode().partition("\n")[2]
    allocator = (resources.files("curta.explore") / "allocator.c").read_text(encoding="utf-8")
    files = {"engine.c": allocator + source}
    model = machine_model(extensions)
    look = look_to_c(model, source)
    if look is None:
        return compiled(files, FUNCTIONS)
    slots = json.dumps(residual_stream(model.plan)).encode()
    module = compiled({**files, "look.c": look}, (*FUNCTIONS, "look"))
    return module + custom_section(SECTION, slots)


def compiled(files: Mapping[str, str], functions: Sequence[str]) -> bytes:
    """Files of C as WebAssembly, by zig."""
    zig = find_zig()
    if zig is None:
        raise CompilerNotFoundError(
            "the engine of a page is compiled with the ziglang package, which is missing: "
            "pip install ziglang"
        )
    with tempfile.TemporaryDirectory(prefix="curta-") as folder:
        output = Path(folder) / "engine.wasm"
        for name, source in files.items():
            (Path(folder) / name).write_text(source, encoding="utf-8")
        exports = [f"-Wl,--export=curta_{name}" for name in functions]
        finished = subprocess.run(
            [zig.executable, "cc", *FLAGS, *exports, *files, "-o", str(output)],
            cwd=folder,
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
    native = machine_c()
    key = engine_key(native)
    if not (folder / f"{key}.xz").is_file():
        module = PROGRAMS.read(key) or made(native)
        for old in folder.glob("*.xz"):
            old.unlink()
        (folder / f"{key}.xz").write_bytes(lzma.compress(module, preset=9))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
