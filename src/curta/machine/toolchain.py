"""What the user has in, the bytes of a WebAssembly module out.

    .c .cc .cpp .cxx   one or more files, compiled with the `ziglang` package to wasm32-wasi
    .zig .rs           compiled by their own compilers (languages.py)
    .wat               assembled
    .wasm              taken as it is

Flags are in flags.py. The custom sections are dropped, but for the names of functions, which cost
nothing and make traces readable.

**C library.** Some of it is curta's own (`libc`), written for short prompts: objects that are
linked in front of the compiler's library. A piece that is of no use is left out by linking once
more, if what it needs has come in with it. The compiler's libraries come with curta, compiled
(`libc/archives.py`): programs whose flags do not change them are linked with those. For others zig
compiles its libraries first, and links.

**Cache.** A result is kept together with what it was made of: for a command line (sources, flags,
working directory, compiler) there is a note of every file that was read and its digest, as the
compiler's own list of dependencies says. If all are as they were, no compiler is started. Files of
the compiler itself are not listed; its identity stands for them. A module that was assembled is
kept by its text and by where the assembler lies.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from curta.engine.toolchain import Zig, find_zig, zig_environment
from curta.errors import CompilerNotFoundError, SourceError, UserError
from curta.machine.flags import (
    COMMON,
    CPLUSPLUS_FLAGS,
    FLAGS,
    LIBRARIES,
    LIBRARY_FLAGS,
    are_plain,
    check,
    searched,
)
from curta.machine.libc.archives import unpacked
from curta.machine.libc.build import PIECES, Piece
from curta.machine.wasm.reader import Reader
from curta.store import Shelf, key_of

PROGRAMS = Shelf("programs")

C_SUFFIXES = (".c",)
CPLUSPLUS_SUFFIXES = (".cc", ".cpp", ".cxx")
SOURCE_SUFFIXES = C_SUFFIXES + CPLUSPLUS_SUFFIXES
LANGUAGES = (".zig", ".rs")
SUFFIXES = (*SOURCE_SUFFIXES, *LANGUAGES, ".wat", ".wasm")
WASM_MAGIC = b"\0asm"

QUOTED_LINES = 40
PLACE = r"\S*/(?:o/[0-9a-f]{32}|objects/\d+)/(?=\S+\.o\b)"
"""Where an object lies of which the linker speaks."""
MISREAD = re.compile(r"[:\\\n\r]")
"""Characters of the name of a source that end it in the lists of names that the compiler keeps."""
REMEDIES = {
    "Setjmp/longjmp support requires": "curta has no setjmp and longjmp, whatever the flags: "
    "return error codes instead",
    "with exceptions disabled": "curta has no exceptions: return error codes instead",
}
"""Words of the compiler, and what curta adds to them where its advice would lead nowhere."""
NAMES = b"\4name"
"""What the custom section with the names of functions begins with."""
UNCERTAIN = 0.05
"""Seconds: a file that was changed so shortly before may have been changed during compilation."""
UNLISTED = (b"__has_include", b"__has_embed", b"incbin")
"""In a source: what comes of it may depend on files that the compiler does not list."""
LONGEST_NAME = 4
"""Parts of the name of a header."""
COMPILING = "compiling (with rare flags libraries too, the first time: half a minute or so)"
LONG = 2.0
"""Seconds from which on somebody who waits is told what for."""

SourcePath = str | Path


@dataclass(frozen=True, slots=True)
class Watcher:
    """Who wants to know how a compilation goes: the seconds since its start, now and then; and
    what the compiler warns of.
    """

    waiting: Callable[[float], None]
    warned: Callable[[str], None]


def patient(what: str) -> Watcher:
    """Of those who gave none: what takes long is said once, on the standard error."""
    said = list[str]()

    def waiting(seconds: float) -> None:
        if seconds > LONG and not said and sys.stderr is not None:
            said.append(what)
            print(f"curta: {what}", file=sys.stderr, flush=True)

    return Watcher(waiting, lambda _: None)


def read_program(
    sources: SourcePath | Sequence[SourcePath],
    flags: Sequence[str] = (),
    *,
    library: bool = False,
    watcher: Watcher | None = None,
) -> bytes:
    """The module that these files are, compiled or assembled if need be.

    `flags` are for the C compiler; with `library` all functions are exported.
    """
    paths = [Path(source) for source in _listed(sources)]
    kinds = {kind_of(path) for path in paths}
    watcher = watcher or patient(COMPILING)
    if kinds <= {"c", "c++"}:
        check(flags)
        compilation = Compilation(tuple(map(spelt, paths)), tuple(flags), library)
        return compilation.cached() or compilation.compile(watcher)
    if len(paths) > 1:
        names = ", ".join(map(str, paths))
        raise UserError(f"several files have to be C or C++, all of them: {names}")
    if kinds == {"other"}:
        from curta.machine import languages

        _read(paths[0])
        return languages.compiled(paths[0], flags, library=library, watcher=watcher)
    if flags:
        raise UserError(f"{paths[0]} is not compiled: flags for the compiler mean nothing to it")
    content = _read(paths[0])
    return content if kinds == {"wasm"} else _assembled(paths[0], content)


def _assembled(path: Path, content: bytes) -> bytes:
    """The module of a text, made now or earlier: whoever assembles takes long to be imported."""
    assembler = find_spec("wasmtime")
    place = (assembler and assembler.origin) or os.devnull
    key = key_of(f"{place} {os.stat(place).st_mtime_ns}".encode(), content)
    module = PROGRAMS.read(key)
    if module is None:
        from curta.machine.wasm.text import assemble

        try:
            module = assemble(content.decode())
        except UnicodeDecodeError as error:
            raise UserError(f"{path} is not UTF-8 text (byte {error.start})") from error
        PROGRAMS.keep(key, module)
    return module


def _listed(sources: SourcePath | Sequence[SourcePath]) -> Sequence[SourcePath]:
    names = [sources] if isinstance(sources, str | Path) else sources
    if not names:
        raise UserError("no program: give a file " + " ".join(SUFFIXES))
    if "" in names:  # as a path it would be the working directory
        raise UserError("'': no such file; give a file " + " ".join(SUFFIXES))
    return names


def spelt(path: Path) -> str:
    """A file's name as no compiler takes it for a flag."""
    return f"./{path}" if str(path).startswith(("-", "@")) else str(path)


def kind_of(path: Path) -> str:
    """What a file holds, by its name; what has no telling name must begin like a module."""
    suffix = path.suffix.lower()
    if suffix in C_SUFFIXES:
        return "c"
    if suffix in CPLUSPLUS_SUFFIXES:
        return "c++"
    if suffix in LANGUAGES:
        return "other"
    if suffix in (".wat", ".wasm"):
        return suffix[1:]
    if suffix == ".safetensors":
        raise UserError(
            f"{path}: if that is a baked program, it is a machine of its own: "
            "load_baked(path).run(...) (curta run)"
        )
    if _read(path).startswith(WASM_MAGIC):
        return "wasm"
    raise UserError(f"{path}: not a program that curta can run; it takes {' '.join(SUFFIXES)}")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: {(error.strerror or str(error)).lower()}") from error


@dataclass(frozen=True)
class Compilation:
    """A command line of the C compiler, without what is the same for all of them."""

    sources: tuple[str, ...]
    flags: tuple[str, ...] = ()
    library: bool = False

    # -- what is in the cache ---------------------------------------------

    @property
    def note(self) -> str | None:
        """The key of what says what the result was made of, and where it is."""
        pieces = [path.name for piece in PIECES for path in piece.objects]
        said = [os.getcwd(), zig().identity, self.arguments(), self.sources, pieces]
        return key_of(b"", json.dumps(said).encode())

    def cached(self) -> bytes | None:
        """The result of an earlier compilation of the same files."""
        with suppress(OSError):
            note = json.loads(PROGRAMS.read(self.note) or b"{}")
            same = "looked" in note and _found(*note["looked"]) == note["found"]
            if same and all(_digest(Path(name)) == it for name, it in note["files"].items()):
                return PROGRAMS.read(note["module"])
        return None

    def keep(self, module: bytes, files: Sequence[str], started: float) -> None:
        """Best effort: what was changed while it was read is not kept, nor what may depend on files
        of which the compiler says nothing.
        """
        folders = searched(self.flags)
        if folders is None:
            return
        with suppress(OSError):
            theirs = zig().folder.resolve()
            own = [name for name in files if not Path(name).resolve().is_relative_to(theirs)]
            if max(os.stat(name).st_mtime for name in own) > started - UNCERTAIN:
                return
            if any(word in Path(name).read_bytes() for name in own for word in UNLISTED):
                return
            key = key_of(b"", module)
            looked = (
                sorted({*folders, *(os.path.dirname(name) or "." for name in own)}),
                sorted({name for path in files for name in _endings(path)}),
            )
            note = {
                "module": key,
                "files": {name: _digest(Path(name)) for name in own},
                "looked": looked,
                "found": _found(*looked),
            }
            PROGRAMS.keep(key, module)
            PROGRAMS.keep(self.note, json.dumps(note).encode())

    # -- the compiler ---------------------------------------------

    def arguments(self) -> list[str]:
        """Flags in front of the sources."""
        extra = CPLUSPLUS_FLAGS if self.is_cplusplus else ()
        return [*FLAGS, *extra, *(LIBRARY_FLAGS if self.library else ()), *self.flags]

    @property
    def is_cplusplus(self) -> bool:
        return any(Path(name).suffix.lower() in CPLUSPLUS_SUFFIXES for name in self.sources)

    @property
    def is_plain(self) -> bool:
        """Whether it is linked with the same libraries as most programs."""
        return are_plain(self.flags)

    def compile(self, watcher: Watcher | None = None) -> bytes:
        """Compile and link."""
        for name in self.sources:
            _read(Path(name))
            if found := MISREAD.search(Path(name).name):
                raise UserError(f"{name}: the compiler takes no {found[0]!r} in a name; rename it")
        started = time.time()
        with tempfile.TemporaryDirectory(prefix="curta-") as folder:
            output = Path(folder) / "program.wasm"
            module = self.linked(output, watcher)
            with suppress(SourceError):  # flags with which it makes no list
                self.keep(module, self._files_read(Path(folder) / "dependencies"), started)
        return module

    def linked(self, output: Path, watcher: Watcher | None = None) -> bytes:
        """The module, without what its C library does not need; sources may be objects, too.

        A library exports whatever it is linked with, so its pieces come when they are needed.
        """
        pieces = () if self.library else PIECES
        module = self._link(pieces, output, watcher)
        used = _pieces_called(module) if self.library else _pieces_of_use(module)
        if used != pieces:
            module = self._link(used, output)
        if not self.library and b"undefined_weak:main" in module:
            raise SourceError(
                f"{' '.join(self.sources)}: there is no function main to start, with no "
                "parameters or with (int, char **); functions can be called one "
                "by one with --invoke NAME, or with Machine.instantiate"
            )
        return module

    def _link(self, pieces: Sequence[Piece], output: Path, watcher: Watcher | None = None) -> bytes:
        """The module, with pieces of the C library that are curta's own."""
        objects = [*dict.fromkeys(str(path) for piece in pieces for path in piece.objects)]
        archives = None
        if self.is_plain:
            parts = ("c", "c++") if self.is_cplusplus else ("c",)
            archives = unpacked(parts, COMMON, output.parent / "library")
        if archives is None:
            arguments = [*self.sources, *LIBRARIES, "-o", str(output)]
            self._zig(arguments, output.parent, watcher, objects)
        else:
            objects += self._objects(output.parent, watcher)
            kind = "reactor" if "-mexec-model=reactor" in self.arguments() else "command"
            said = [flag for flag in self.arguments() if flag.startswith("-Wl,")]
            flags = [word for flag in said for word in flag.split(",")[1:]]
            words = ["wasm-ld", *archives.link(kind, objects, flags), "-o", str(output)]
            self._run(words, output.parent, watcher)
        made = output.read_bytes() if output.is_file() else b""
        if not made.startswith(WASM_MAGIC):
            names, given = " ".join(self.sources), shlex.join(self.flags)
            raise SourceError(f"{names}: no program comes of it by the flags {given}")
        return without_custom_sections(made)

    def _objects(self, folder: Path, watcher: Watcher | None) -> Iterator[str]:
        """What the sources are compiled to."""
        for number, source in enumerate(self.sources):
            path = Path(source)
            if path.suffix != ".o":
                path = folder / "objects" / str(number) / f"{path.stem}.o"
                path.parent.mkdir(parents=True, exist_ok=True)
                if not path.is_file():  # it may be linked again, with other pieces
                    self._zig(["-c", source, "-o", str(path)], folder, watcher)
            yield str(path)

    def _files_read(self, listing: Path) -> list[str]:
        """Every file that went into the result."""
        files = [flag for flag in self.flags if os.path.isfile(flag)]
        files += [str(path) for piece in PIECES for path in piece.objects]
        for source in self.sources:
            self._zig(["-M", "-MF", str(listing), source], listing.parent)
            files += dependencies(listing.read_text(encoding="utf-8", errors="surrogateescape"))
        return [*dict.fromkeys(files)]

    def _zig(
        self,
        arguments: Sequence[str],
        folder: Path,
        watcher: Watcher | None = None,
        objects: Sequence[str] = (),  # in front of flags, which may say what files are
    ) -> None:
        """Run the compiler; what it complains about is the user's to read. What it would keep of
        the program is kept in this folder, as it does not see either that other files would be read
        now; its libraries it keeps for all.
        """
        driver = "c++" if self.is_cplusplus else "cc"
        self._run([driver, *objects, *self.arguments(), *arguments], folder, watcher)

    def _run(self, words: Sequence[str], folder: Path, watcher: Watcher | None) -> None:
        environment = zig_environment() | {"ZIG_LOCAL_CACHE_DIR": str(folder / "zig")}
        status, said = run([zig().executable, *words], environment, watcher)
        if status != 0:
            names = " ".join(self.sources)
            advice = [remedy for words, remedy in REMEDIES.items() if words in said]
            first = "; ".join([f"{names}: the C compiler refused it", *advice])
            raise SourceError(f"{first}\n{diagnostics(said)}")
        if said.strip() and watcher is not None:
            watcher.warned(diagnostics(said))


def run(
    command: Sequence[str], environment: dict[str, str], watcher: Watcher | None
) -> tuple[int, str]:
    """Exit status and what was said."""
    started = time.monotonic()
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
        text=True,
        errors="replace",
    ) as process:
        while True:
            try:
                said, _ = process.communicate(timeout=None if watcher is None else 0.1)
                return process.returncode, said
            except subprocess.TimeoutExpired:
                if watcher is not None:
                    watcher.waiting(time.monotonic() - started)
            except BaseException:
                process.kill()
                raise


def diagnostics(said: str) -> str:
    """The compiler's words, with the linker's temporary names shortened."""
    said = re.sub(PLACE, "", said).replace("wasm-ld: ", "linker: ")
    lines = said.strip().splitlines()
    rest = len(lines) - QUOTED_LINES
    return "\n".join([*lines[:QUOTED_LINES], *([f"... and {rest} lines more"] if rest > 0 else [])])


def _pieces_of_use(module: bytes) -> tuple[Piece, ...]:
    """All, if the others do no harm, or where functions have no names, so that nobody can tell."""
    if NAMES not in module:
        return PIECES
    used = tuple(piece for piece in PIECES if piece.sign.encode() in module)
    needed = {name for piece in used for name in piece.burdens}
    burdens = {name for piece in PIECES if piece not in used for name in piece.burdens} - needed
    return used if any(name.encode() in module for name in burdens) else PIECES


def _pieces_called(module: bytes) -> tuple[Piece, ...]:
    """Those in whose place a module without any has something of the compiler's C library."""
    if NAMES not in module:
        return PIECES
    return tuple(
        piece for piece in PIECES if any(name.encode() in module for name in piece.replaces)
    )


def zig() -> Zig:
    found = find_zig()
    if found is None:
        raise CompilerNotFoundError(
            "C and C++ are compiled with the ziglang package, which is missing: pip install ziglang"
        )
    return found


def _endings(path: str) -> Iterator[str]:
    """By what names a file may have been asked for."""
    parts = Path(path).parts[-LONGEST_NAME:]
    return ("/".join(parts[first:]) for first in range(len(parts)))


def _found(folders: Iterable[str], names: Iterable[str]) -> list[str]:
    """Where any of these names is found: a header that is new there may go before another one."""
    begins: dict[str, list[str]] = {}
    for name in names:
        begins.setdefault(name.partition("/")[0], []).append(name)
    found = list[str]()
    for folder in folders:
        with suppress(OSError):
            for entry in begins.keys() & set(os.listdir(folder)):
                places = (os.path.join(folder, name) for name in begins[entry])
                found += (place for place in places if os.path.isfile(place))
    return sorted(found)


def dependencies(rule: str) -> list[str]:
    """The prerequisites of a rule in make's language."""
    _, _, listed = rule.partition(": ")
    words = re.findall(r"(?:\\[ #]|\$\$|[^\s\\]|\\(?![\n\r]))+", listed)
    return [re.sub(r"\\([ #])", r"\1", word).replace("$$", "$") for word in words]


def split_flags(text: str) -> list[str]:
    """Flags as a shell would take them apart."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UserError(f"--cflags {text!r}: {error}") from error


# -- custom sections ---------------------------------------------


def without_custom_sections(module: bytes) -> bytes:
    """The module without debug information and producers' notes, but with its functions' names."""
    reader = Reader(module, 8, len(module))
    kept = [module[:8]]
    while reader.at < reader.end:
        start, number = reader.at, reader.byte()
        section = reader.part(reader.length())
        if number or section.name() == "name":
            kept.append(module[start : reader.at])
    return b"".join(kept)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:32]
