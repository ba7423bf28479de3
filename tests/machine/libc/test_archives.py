"""Programs are linked with the libraries that come with curta as zig would link them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from curta.errors import SourceError
from curta.machine import toolchain
from curta.machine.flags import COMMON
from curta.machine.libc import archives
from curta.machine.libc.build import BUILT_WITH
from curta.machine.runtime.build import compiler_version
from curta.machine.toolchain import Compilation
from curta.machine.wasm.reader import Reader

pytestmark = pytest.mark.skipif(
    compiler_version() != BUILT_WITH, reason=f"the archives are of ziglang {BUILT_WITH}"
)
PROGRAMS = {
    "words": '#include <stdio.h>\nint main(void) { puts("text"); return 3; }\n',
    "numbers": "#include <stdio.h>\n#include <stdlib.h>\n#include <math.h>\n"
    'int main(int n, char **w) { printf("%g %Lf\\n", pow(atof(w[0]), n), (long double)n); }\n',
    "memory": "#include <stdlib.h>\n#include <string.h>\n#include <time.h>\n#include <unistd.h>\n"
    "__int128 wide;\n"
    "int by(const void *a, const void *b) { return memcmp(a, b, 4); }\n"
    "int main(int n, char **w) { char *p = calloc(n, 4); qsort(p, n, 4, by); wide /= n; "
    "return close(n) + (int)strlen(strcpy(p, w[0])) + (int)clock() + (int)wide; }\n",
    "c++": "#include <iostream>\n#include <map>\n#include <string>\n"
    "int main(int n, char **w) { std::map<std::string, int> all; all[w[0]] = n; "
    'for (auto &[name, count] : all) std::cout << name << " " << count / 3.0 << "\\n"; }\n',
}
FLAGS = {
    "": (),
    "words": ("-DX=1", "-Wall", "-std=gnu11", "-I.", "-lm", "-isystem", "."),
    "fast": ("-O3",),
    "slow": ("-O0", "-w"),
    "debugger": ("-g", "-gdwarf-4"),
    "functions": ("-mexec-model=reactor", "-Dmain=run"),
}
OF_THE_PROGRAM = (
    *("-fwrapv", "-ffp-contract=off", "-fno-strict-aliasing", "-ffast-math", "-fno-builtin-memcpy"),
    *("-funroll-loops", "-fno-vectorize", "-fno-common", "-fno-rtti", "-ferror-limit=3"),
)
"""zig may compile its library otherwise for these."""


def sections(module: bytes) -> list[tuple[int, bytes]]:
    """All but custom ones."""
    reader, found = Reader(module, 8, len(module)), []
    while reader.at < reader.end:
        number, part = reader.byte(), reader.part(reader.length())
        if number:
            found.append((number, module[part.at : part.end]))
    return found


def written(folder: Path, program: str) -> Path:
    path = folder / ("program.cpp" if program == "c++" else "program.c")
    path.write_text(PROGRAMS[program])
    return path


def linked(source: Path, folder: Path, flags: Sequence[str], library: bool = False) -> bytes:
    folder.mkdir()
    return Compilation((str(source),), tuple(flags), library).linked(folder / "program.wasm")


@pytest.mark.slow  # zig compiles its library
@pytest.mark.parametrize("flags", [*FLAGS, "library"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_modules_are_those_that_zig_links(
    program: str, flags: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = written(tmp_path, program)
    library = flags == "library"
    words = tuple(
        flag.replace("gnu11", "gnu++20") if program == "c++" else flag
        for flag in FLAGS.get(flags, ())
    )
    assert Compilation((str(source),), words, library).is_plain
    ours = linked(source, tmp_path / "ours", words, library)
    monkeypatch.setattr(toolchain, "unpacked", lambda *_: None)
    assert sections(ours) == sections(linked(source, tmp_path / "zig", words, library))


@pytest.mark.parametrize("program", ["numbers", "c++"])
def test_zig_compiles_nothing_of_its_libraries(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CURTA_CACHE", str(tmp_path / "cache"))
    source = written(tmp_path, program)
    module = linked(source, tmp_path / "folder", OF_THE_PROGRAM)
    assert module.startswith(toolchain.WASM_MAGIC)
    assert not [*tmp_path.glob("**/zig/**/libc*.a")]


@pytest.mark.parametrize("flags", [*FLAGS.values(), OF_THE_PROGRAM])
def test_most_flags_change_no_library(flags: tuple[str, ...]) -> None:
    assert Compilation(("program.c",), flags).is_plain
    assert Compilation(("program.c",), flags, library=True).is_plain


@pytest.mark.parametrize(
    "flag",
    [
        "-Os",
        "-Oz",
        "-Ofast",
        "-msimd128",
        "-flto",
        "-fsanitize=address",
        "-fshort-enums",
        "-fexceptions",
        "-pthread",
        "-s",
        "-lz",
        "other.c",
        "-Wl,-s",
        "-x",
    ],
)
def test_others_are_left_to_zig(flag: str) -> None:
    assert not Compilation(("program.c",), (flag,)).is_plain
    assert not Compilation(("program.c",), ("-O2", flag, "-w")).is_plain


@pytest.mark.parametrize("parts", [("c",), ("c", "c++")])
def test_another_zig_finds_nothing(
    parts: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert archives.unpacked(parts, COMMON, tmp_path / "this") is not None
    assert archives.unpacked(parts, (*COMMON, "-Os"), tmp_path / "flags") is None
    monkeypatch.setattr("importlib.metadata.version", lambda _: "0.17.0")
    assert archives.unpacked(parts, COMMON, tmp_path / "other") is None


def test_the_linker_names_files_as_people_do(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.c").write_text("int twice;\nint main(void) { return 0; }\n")
    sources = tuple(str(tmp_path / f"{name}.c") for name in ("one", "two"))
    with pytest.raises(SourceError) as refused:
        Compilation(sources).linked(tmp_path / "program.wasm")
    _, *said = str(refused.value).splitlines()
    assert "linker: error: duplicate symbol: twice" in said
    assert ">>> defined in one.o" in said
    assert str(tmp_path) not in "\n".join(said)
