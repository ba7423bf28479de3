"""C source in, loaded shared library out.

The compiler is the first usable one of: `$CURTA_CC`; `cc`, `clang` or `gcc` on the search
path; the `ziglang` package. A `$CURTA_CC` that cannot be used is an error, never a reason to
take another compiler silently.

**Cache.** A library is a function of its source, its flags, the compiler and the machine, so
it is kept under a hash of all these (`store.py`). The compiler is identified by the path,
modification time and size of its executable, so a library that is already there is found without
starting a process. Damage is seen *before* the file is mapped into memory (loading a truncated
library can kill the process). A file that is damaged, or that cannot be loaded, is built again.

**Numbers.** Code is compiled for strict IEEE 754: no contraction of `a*b + c` into a fused
operation, no reassociation. Exactness proofs elsewhere depend on these flags.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from curta.errors import CompilerNotFoundError, ToolchainError
from curta.settings import Settings, read_settings
from curta.store import Shelf, key_of

if TYPE_CHECKING:
    import subprocess

LIBRARIES = Shelf("libraries")
SYSTEM_COMPILERS = ("cc", "clang", "gcc")
BASE_FLAGS = (
    "-std=c11",
    "-O2",
    "-ffp-contract=off",
    "-fno-fast-math",
    "-fno-sanitize=undefined",  # `zig cc` would otherwise add checks of its own
    "-g0",  # and notes for debuggers, which take it a third of its time
    "-fPIC",
)
ZIG_O1 = ("-Xclang", "-O1")
"""Behind `-O1`, of which `zig cc` makes -O2 for the compiler that it starts."""
QUOTED_ERROR_LINES = 12

_SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")


@dataclass(frozen=True, slots=True)
class Compiler:
    """A C compiler, found but not yet started.

    `description` says where it comes from; `identity` changes when its executable does.
    """

    command: tuple[str, ...]
    description: str
    identity: str
    is_bundled: bool = False
    """Whether it is that of the ziglang package, which keeps things where curta says."""


def find_compiler(settings: Settings | None = None) -> Compiler:
    """The first usable compiler in the documented order; starts no process."""
    settings = settings or read_settings()
    if settings.compiler_command is not None:
        return _chosen_compiler(settings.compiler_command, settings.search_path)
    for name in SYSTEM_COMPILERS:
        path = shutil.which(name, path=settings.search_path)
        if path is not None:
            return Compiler((path,), f"{name} ({path})", _file_identity(path))
    zig = find_zig()
    if zig is not None:
        description = f"the ziglang package ({zig.folder})"
        return Compiler((zig.executable, "cc"), description, zig.identity, is_bundled=True)
    raise CompilerNotFoundError(
        "no C compiler: $CURTA_CC is not set, there is no cc, clang or gcc on the search path, "
        "and the ziglang package is missing. Install one (`pip install ziglang` is enough) or "
        "set CURTA_CC to a compiler. The engine level 'hull' works without one."
    )


def compiler_version(compiler: Compiler) -> str:
    """The first line of what the compiler says about itself (starts it)."""
    finished = _start(compiler, ("--version",))
    lines = (finished.stdout or finished.stderr).splitlines()
    return lines[0].strip() if lines else "unknown version"


def build_library(source: str, *, name: str, flags: tuple[str, ...] = ()) -> Path:
    """The path of a loadable shared library made of `source`, compiled if it is not kept.

    `flags` come after the source file, so `-lm` links where it should.
    """
    compiler = find_compiler()
    key = _key(source, name, flags, compiler)
    return kept_library(key) or _compile(source, flags, compiler, key)


def find_library(source: str, *, name: str, flags: tuple[str, ...] = ()) -> Path | None:
    """The same, if it is kept."""
    return kept_library(_key(source, name, flags, find_compiler()))


def zeros_source() -> str:
    """C that other C begins with: memory that costs nothing until it is written to."""
    return Path(__file__).with_name("zeros.c").read_text(encoding="utf-8")


def load_library(path: Path) -> ctypes.CDLL:
    """Map a shared library into this process."""
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise ToolchainError(
            f"the library {path} cannot be loaded ({error}). Delete it to have it built again; "
            "if that does not help, the compiler builds for another machine: set CURTA_CC."
        ) from error


Signatures = Mapping[str, tuple[Any, ...]]
"""The functions of a library by name: the type of the result, then those of the arguments."""


def load_functions(path: Path, prefix: str, signatures: Signatures) -> dict[str, Any]:
    """Those functions of a library that it has."""
    library = load_library(path)
    functions = dict[str, Any]()
    for name, (result, *arguments) in signatures.items():
        function = getattr(library, prefix + name, None)
        if function is not None:
            function.restype, function.argtypes = result, arguments
            functions[name] = function
    return functions


def _chosen_compiler(command_line: str, search_path: str) -> Compiler:
    try:
        words = shlex.split(command_line, posix=os.name != "nt")
    except ValueError:
        words = []  # a quotation without an end
    path = shutil.which(words[0], path=search_path) if words else None
    if path is None:
        raise CompilerNotFoundError(
            f"CURTA_CC is set to {command_line!r}, which is not a program that can be run. "
            "Set it to a C compiler, or unset it to use the one that curta finds."
        )
    # `ccache gcc`, `zig cc`: any later word that is a program is part of the identity too.
    later_programs = [shutil.which(word, path=search_path) for word in words[1:]]
    identities = [_file_identity(found) for found in (path, *later_programs) if found]
    return Compiler(
        (path, *words[1:]),
        f"$CURTA_CC ({command_line})",
        "|".join((*identities, *words[1:])),
    )


@dataclass(frozen=True, slots=True)
class Zig:
    """The compiler of the `ziglang` package."""

    executable: str
    folder: Path
    identity: str


def find_zig() -> Zig | None:
    """Found by its place in the file system; no process is started, nothing imported."""
    specification = importlib.util.find_spec("ziglang")
    if specification is None or not specification.submodule_search_locations:
        return None
    folder = Path(next(iter(specification.submodule_search_locations)))
    executable = folder / ("zig.exe" if sys.platform == "win32" else "zig")
    if not executable.is_file():
        return None
    return Zig(str(executable), folder, _file_identity(str(executable)))


def zig_environment() -> dict[str, str]:
    """What zig is started with: what it keeps is with all that curta keeps."""
    folder = read_settings().cache_directory / "zig"
    check_writable(folder)
    caches = {"ZIG_GLOBAL_CACHE_DIR": str(folder), "ZIG_LOCAL_CACHE_DIR": str(folder)}
    environment = {**os.environ, **caches}
    for name in ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "ZIG_LIB_DIR"):
        environment.pop(name, None)
    return environment


def check_writable(folder: Path) -> None:
    """Zig complains of a cache that it cannot write as if of the program, or waits for ever."""
    import tempfile

    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise unwritable(folder, error) from error


def _file_identity(path: str) -> str:
    real_path = os.path.realpath(path)
    status = os.stat(real_path)
    return f"{real_path}:{status.st_mtime_ns}:{status.st_size}"


def _key(source: str, name: str, flags: tuple[str, ...], compiler: Compiler) -> str:
    machine = os.uname().machine if hasattr(os, "uname") else str(sys.maxsize)
    parts = (sys.platform, machine, *BASE_FLAGS, *flags, *compiler.command)
    return f"{name}-{key_of(_digest(source), compiler.identity.encode(), *map(str.encode, parts))}"


@lru_cache(1)
def _digest(source: str) -> bytes:
    return hashlib.sha256(source.encode()).digest()


def kept_library(key: str) -> Path | None:
    """One that was compiled, if it is whole and can be loaded."""
    path = LIBRARIES.find_file(key, _SUFFIX)
    if path is not None:
        with suppress(OSError):
            ctypes.CDLL(str(path))
            return path
        path.unlink(missing_ok=True)
    return None


def _compile(source: str, flags: tuple[str, ...], compiler: Compiler, key: str) -> Path:
    import tempfile

    try:
        LIBRARIES.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{key}-", dir=LIBRARIES.folder) as folder:
            source_file = Path(folder) / "source.c"
            source_file.write_text(source, encoding="utf-8")
            built = Path(folder) / f"built{_SUFFIX}"
            _run_compiler(compiler, ("-shared", str(source_file), *flags), built)
            load_library(built)  # what cannot be is not kept
            return LIBRARIES.put_file(key, _SUFFIX, built)
    except OSError as error:
        raise unwritable(LIBRARIES.folder, error) from error


def unwritable(directory: Path, error: OSError) -> ToolchainError:
    """Nothing can be compiled without a place to put it."""
    return ToolchainError(
        f"the cache directory {directory} cannot be written ({error}). "
        "Set CURTA_CACHE to a directory that can."
    )


def _run_compiler(compiler: Compiler, arguments: tuple[str, ...], built: Path) -> None:
    if compiler.is_bundled and "-O1" in arguments:
        arguments = (*arguments, *ZIG_O1)
    finished = _start(compiler, (*BASE_FLAGS, "-o", str(built), *arguments))
    if finished.returncode == 0 and built.is_file():
        return
    complaint = (finished.stderr or finished.stdout).strip().splitlines()[:QUOTED_ERROR_LINES]
    raise ToolchainError(
        f"{compiler.description} did not build the library (exit status {finished.returncode}). "
        "Set CURTA_CC to use another compiler. It said:\n" + ("\n".join(complaint) or "(nothing)")
    )


def _start(compiler: Compiler, arguments: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    import subprocess

    try:
        return subprocess.run(
            (*compiler.command, *arguments),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            env=zig_environment() if compiler.is_bundled else None,
        )
    except OSError as error:
        raise ToolchainError(
            f"{compiler.description} could not be started ({error}). "
            "Set CURTA_CC to a C compiler that can."
        ) from error
