"""C in, a WebAssembly module out; strangers' C, too.

The compiler's front end is clang, as zig has it, called directly. What strangers wrote comes by its
standard input, and the files that it can see are a file system of its own (an *overlay*), in which
there are the C library's headers and nothing else: however an include, an #embed or a question
whether there is a file is spelt, the compiler has no other file. Assembly, which has directives
that read files, is refused by the compiler itself (-fno-gnu-inline-asm). Time, memory and output
are limited, and where the kernel has Landlock, it refuses other files once more.

What comes out is an object. Objects are linked as those of all programs are (machine/toolchain).
"""

from __future__ import annotations

import json
import re
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from curta.delegate.tools import confine
from curta.errors import SourceError, ToolError
from curta.machine.flags import FLAGS as OF_PROGRAMS
from curta.machine.toolchain import PROGRAMS, Compilation, zig
from curta.store import key_of, sources_digest

COMPILING = confine.Limits(seconds=10, memory=1 << 30, output=32 << 20, alone=True)
LONGEST = 200_000
"""Bytes of a source."""
QUOTED = 2_000
"""Characters of what the compiler complains about."""
EXHAUSTED = ("LLVM ERROR", "Stack dump", "File too large")
"""What the compiler says where it reached a limit, or its own end."""
HEADERS = ("include", "libc/include/wasm-wasi-musl", "libc/include/generic-musl")
"""Where zig has those of the compiler and the C library."""
SEEN = "/headers"
"""Where the compiler sees them; no machine's paths are in what it says."""
FLAGS = (
    *("--target=wasm32-wasi", "--no-default-config", "-nostdinc", "-std=gnu17", "-O2", "-w"),
    *("-mcpu=mvp", "-msign-ext", "-mmutable-globals", "-mbulk-memory", "-mnontrapping-fptoint"),
    *("-mmultivalue", "-fno-gnu-inline-asm", "-ferror-limit=5", "-fmacro-backtrace-limit=1"),
    *("-fno-crash-diagnostics", "-fno-color-diagnostics", "-Xclang", "-disable-pragma-debug-crash"),
    *(flag for flag in OF_PROGRAMS if flag.startswith("-D")),
)
MADE_BY = (
    *("machine/libc/*.o", "machine/libc/*.py", "machine/toolchain.py", "machine/flags.py"),
    "delegate/tools/*.py",
)
REACTOR = ("-mexec-model=reactor",)
"""For a program without a main, whose functions are called."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file of C: its name, its text, and the folder whose headers it may include, if any."""

    name: str
    text: str
    folder: str | None = None


def dumped(source: Source, *flags: str) -> bytes:
    """What the front end says of a source, by these flags, instead of compiling it."""
    with tempfile.TemporaryDirectory(prefix="curta-") as folder:
        return front_end(source, ["-fsyntax-only", *flags], folder)


def build(source: Source, wrapper: str = "") -> bytes:
    """The module: with a main, or with what the wrapper exports. It is kept."""
    expanded = dumped(source, "-E", "-P")
    made_by = sources_digest(*MADE_BY)
    key = key_of(made_by, expanded, wrapper.encode(), zig().identity.encode())
    kept = PROGRAMS.read(key)
    if kept is None:
        kept = compiled(source, wrapper)
        PROGRAMS.keep(key, kept)
    return kept


def compiled(source: Source, wrapper: str = "") -> bytes:
    """The same, made anew."""
    with tempfile.TemporaryDirectory(prefix="curta-") as folder:
        objects: list[str] = []
        for part in (source, Source("wrapper", wrapper)) if wrapper else (source,):
            objects.append(str(Path(folder, f"{len(objects)}.o")))
            front_end(part, ["-c", "-o", objects[-1]], folder)
        linking = Compilation(tuple(objects), REACTOR if wrapper else ())
        try:
            return linking.linked(Path(folder, "program.wasm"))
        except SourceError as error:
            said = str(error).replace(" ".join(objects), source.name)
            said = said.replace(objects[0], source.name).replace(f"{folder}/", "")
            raise SourceError(said) from None


def front_end(source: Source, flags: list[str], folder: str) -> bytes:
    """Run clang on a source, confined; its standard output."""
    if len(source.text.encode(errors="replace")) > LONGEST:
        raise ToolError(f"{source.name}: more than {LONGEST:,} bytes of C", "source too long")
    limits = COMPILING
    if source.folder is None:
        limits = replace(COMPILING, readable=(str(zig().folder),))
    command = [zig().executable, "clang", *FLAGS, *seen(source, folder), *flags, "-x", "c", "-"]
    given = source.text.encode(errors="replace")
    finished = confine.run(command, given, limits, folder, {"SOURCE_DATE_EPOCH": "0"})
    if finished.status == 0:
        return finished.output
    if finished.status != 1 or any(words in finished.error for words in EXHAUSTED):
        raise ToolError(
            f"{source.name}: the compiler took more than {limits.seconds:g} s, "
            f"{limits.memory >> 20:,} MiB or {limits.output >> 20:,} MiB of output",
            "too much to compile",
        )
    raise SourceError(
        f"{source.name}: the C compiler refused it\n{complaint(source, finished, folder)}"
    )


def seen(source: Source, folder: str) -> list[str]:
    """Flags that say which files there are."""
    headers = Path(zig().folder, "lib")
    if source.folder is not None:
        own = [flag for part in HEADERS for flag in ("-isystem", str(headers / part))]
        return ["-iquote", source.folder, *own]
    places = {f"{SEEN}/{number}": headers / part for number, part in enumerate(HEADERS)}
    overlay = Path(folder, "overlay.json")
    roots = [
        {"type": "directory-remap", "name": name, "external-contents": str(path)}
        for name, path in places.items()
    ]
    rules = {"version": 0, "case-sensitive": True, "use-external-names": False}
    overlay.write_text(json.dumps(rules | {"redirecting-with": "redirect-only", "roots": roots}))
    return ["-ivfsoverlay", str(overlay), *(f for name in places for f in ("-isystem", name))]


def complaint(source: Source, finished: confine.Finished, folder: str) -> str:
    """What the compiler said, as far as it is of use."""
    said = finished.error.replace("<stdin>", source.name).replace(f"{folder}/", "").strip()
    said = re.sub(r"(?m)^zig: warning: .*\n", "", said)
    return said if len(said) <= QUOTED else f"{said[:QUOTED]}\n..."
