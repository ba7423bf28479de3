"""C source in, loaded shared library out.

The compiler is the first usable one of: `$CURTA_CC`; `cc`, `clang` or `gcc` on the search
path; the `ziglang` package. A `$CURTA_CC` that cannot be used is an error, never a reason to
take another compiler silently.

**Cache.** A library is a function of its source, its flags, the compiler and the machine, so
it is kept in the user cache directory as `NAME-KEY-DIGEST.so`: KEY is a hash of everything
that goes in, DIGEST a hash of the bytes that came out. The compiler is identified by the
path, modification time and size of its executable, so a library that is already there is
found without starting a process. DIGEST makes damage visible *before* the file is mapped
into memory (loading a truncated library can kill the process). A file that is damaged, or
that cannot be loaded, is built again.

**Two processes at once.** Each compiles into a directory of its own and moves the result into
place in one step (`os.replace`), so a file with a final name is always whole. Both may
compile; the second to finish replaces the first's file with an equal one.

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
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from curta.engine.settings import EngineSettings, read_settings
from curta.errors import CompilerNotFoundError, ToolchainError

SYSTEM_COMPILERS = ("cc", "clang", "gcc")
BASE_FLAGS = (
    "-std=c11",
    "-O2",
    "-ffp-contract=off",
    "-fno-fast-math",
    "-fno-sanitize=undefined",  # `zig cc` would otherwise add checks of its own
    "-fPIC",
    "-shared",
)
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


def find_compiler(settings: EngineSettings | None = None) -> Compiler:
    """The first usable compiler in the documented order; starts no process."""
    settings = settings or read_settings()
    if settings.compiler_command is not None:
        return _chosen_compiler(settings.compiler_command, settings.search_path)
    for name in SYSTEM_COMPILERS:
        path = shutil.which(name, path=settings.search_path)
        if path is not None:
            return Compiler((path,), f"{name} ({path})", _file_identity(path))
    bundled = _bundled_compiler()
    if bundled is not None:
        return bundled
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


def build_library(
    source: str,
    *,
    name: str,
    flags: tuple[str, ...] = (),
    settings: EngineSettings | None = None,
) -> Path:
    """The path of a loadable shared library made of `source`, compiled if it is not cached.

    `flags` come after the source file, so `-lm` links where it should.
    """
    settings = settings or read_settings()
    compiler = find_compiler(settings)
    stem = f"{name}-{_key(source, flags, compiler)}"
    directory = settings.cache_directory / "libraries"
    return _find_cached(directory, stem) or _compile(source, flags, compiler, directory, stem)


def load_library(path: Path) -> ctypes.CDLL:
    """Map a shared library into this process."""
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise ToolchainError(
            f"the library {path} cannot be loaded ({error}). Delete it to have it built again; "
            "if that does not help, the compiler builds for another machine: set CURTA_CC."
        ) from error


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


def _bundled_compiler() -> Compiler | None:
    specification = importlib.util.find_spec("ziglang")
    if specification is None or not specification.submodule_search_locations:
        return None
    folder = Path(next(iter(specification.submodule_search_locations)))
    executable = folder / ("zig.exe" if sys.platform == "win32" else "zig")
    if not executable.is_file():
        return None
    return Compiler(
        (sys.executable, "-m", "ziglang", "cc"),
        f"the ziglang package ({folder})",
        _file_identity(str(executable)),
    )


def _file_identity(path: str) -> str:
    real_path = os.path.realpath(path)
    status = os.stat(real_path)
    return f"{real_path}:{status.st_mtime_ns}:{status.st_size}"


def _key(source: str, flags: tuple[str, ...], compiler: Compiler) -> str:
    machine = os.uname().machine if hasattr(os, "uname") else str(sys.maxsize)
    parts = (source, *BASE_FLAGS, *flags, *compiler.command, compiler.identity, machine)
    digest = hashlib.sha256()
    for part in (sys.platform, *parts):
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8, "little") + encoded)
    return digest.hexdigest()[:24]


def _content_digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:24]


def _find_cached(directory: Path, stem: str) -> Path | None:
    with suppress(OSError):  # a cache that cannot be read is as good as none
        for path in sorted(directory.glob(f"{stem}-*{_SUFFIX}")):
            if _is_usable(path, stem):
                return path
            path.unlink(missing_ok=True)
    return None


def _is_usable(path: Path, stem: str) -> bool:
    try:
        if path.name != f"{stem}-{_content_digest(path)}{_SUFFIX}":
            return False
        ctypes.CDLL(str(path))
    except OSError:
        return False
    return True


def _compile(
    source: str, flags: tuple[str, ...], compiler: Compiler, directory: Path, stem: str
) -> Path:
    import tempfile

    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{stem}-", dir=directory) as folder:
            source_file = Path(folder) / "source.c"
            built = Path(folder) / f"built{_SUFFIX}"
            source_file.write_text(source, encoding="utf-8")
            arguments = (*BASE_FLAGS, "-o", str(built), str(source_file), *flags)
            _run_compiler(compiler, arguments, built)
            final = directory / f"{stem}-{_content_digest(built)}{_SUFFIX}"
            os.replace(built, final)
    except OSError as error:
        raise unwritable(directory, error) from error
    load_library(final)
    return final


def unwritable(directory: Path, error: OSError) -> ToolchainError:
    """Nothing can be compiled without a place to put it."""
    return ToolchainError(
        f"the cache directory {directory} cannot be written ({error}). "
        "Set CURTA_CACHE to a directory that can."
    )


def _run_compiler(compiler: Compiler, arguments: tuple[str, ...], built: Path) -> None:
    finished = _start(compiler, arguments)
    if finished.returncode == 0 and built.is_file():
        return
    complaint = (finished.stderr or finished.stdout).strip().splitlines()[:QUOTED_ERROR_LINES]
    raise ToolchainError(
        f"{compiler.description} did not build the library (exit status {finished.returncode}). "
        "Set CURTA_CC to use another compiler. It said:\n" + ("\n".join(complaint) or "(nothing)")
    )


@dataclass(frozen=True, slots=True)
class _Finished:
    returncode: int
    stdout: str
    stderr: str


def _start(compiler: Compiler, arguments: tuple[str, ...]) -> _Finished:
    import subprocess

    try:
        finished = subprocess.run(
            (*compiler.command, *arguments),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise ToolchainError(
            f"{compiler.description} could not be started ({error}). "
            "Set CURTA_CC to a C compiler that can."
        ) from error
    return _Finished(finished.returncode, finished.stdout, finished.stderr)
