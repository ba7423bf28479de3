"""How pieces of the C library come into programs, and that they are as their sources say."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bench.count_instructions import run_in_wasmtime
from curta.machine import toolchain
from curta.machine.libc import build
from curta.machine.load import lower_program
from curta.machine.runtime.build import compiler_version
from curta.machine.toolchain import Compilation, read_program
from curta.machine.wasm.decode import decode
from tests.support.slow import all_but


def program(folder: Path, source: str, *flags: str, name: str = "program.c") -> bytes:
    path = folder / name
    path.write_text(source)
    os.utime(path, (1_000_000_000 + hash(source) % 10**8,) * 2)
    return read_program(path, flags)


@pytest.mark.parametrize("source", build.SOURCES)
def test_the_committed_objects_are_what_the_sources_give(source: str) -> None:
    if compiler_version() != build.BUILT_WITH:
        pytest.skip(f"the files were built with ziglang {build.BUILT_WITH}")
    assert build.compile_object(source) == build.object_of(source).read_bytes()


@pytest.mark.parametrize(
    "source",
    [
        "int main(void) { return 3; }",
        '#include <stdio.h>\nint main(void) { puts("text"); }',
        "#include <stdlib.h>\nint main(int n, char **words) { return atoi(words[0]) + n; }",
        "#include <stdio.h>\nint main(void) { return ungetc(getchar(), stdin); }",
    ],
)
def test_programs_that_have_no_use_for_them_are_as_they_were(tmp_path: Path, source: str) -> None:
    module = program(tmp_path, source)
    compilation = Compilation((str(tmp_path / "program.c"),))
    assert module == compilation._link((), tmp_path / "program.wasm")


@pytest.mark.parametrize(
    ("source", "pieces"),
    [
        ('#include <stdio.h>\nint main(int n, char **w) { printf("%d", n); }', ["print"]),
        ('#include <stdio.h>\nint main(void) { printf("%d", getchar()); }', ["print"]),
        (
            "#include <stdio.h>\n#include <stdlib.h>\n"
            'int main(int n, char **w) { printf("%f", strtod(w[0], 0)); }',
            ["print", "float"],
        ),
        ('#include <stdio.h>\nint main(void) { int n; return scanf("%d", &n) + n; }', ["scan"]),
        (
            "#include <stdlib.h>\nint main(int n, char **w) { return (int)atof(w[0]); }",
            ["float"],
        ),
    ],
)
def test_pieces_bring_nothing_in_that_is_not_needed(
    tmp_path: Path, source: str, pieces: list[str]
) -> None:
    functions = {name for _, name in decode(program(tmp_path, source)).function_names}
    compilation = Compilation((str(tmp_path / "program.c"),))
    needed = [piece for piece in build.PIECES if piece.name in pieces]
    alone = decode(compilation._link(needed, tmp_path / "program.wasm"))
    assert functions == {name for _, name in alone.function_names}


OWN = """\
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
"""


@pytest.mark.parametrize(
    ("source", "printed"),
    [
        ('int printf(const char *f, ...) { return puts("mine"); }', b"mine\n5\n"),
        (
            'int vfprintf(FILE *s, const char *f, va_list a) { return fputs("own ", s); }',
            b"own 5\n",
        ),
        (
            "int vsnprintf(char *t, size_t n, const char *f, va_list a) { *t = 'v'; return 1; }",
            b"3 v",
        ),
        ("size_t strnlen(const char *s, size_t n) { return 1; }", b"3 5"),
    ],
)
def test_functions_of_the_program_go_first(tmp_path: Path, source: str, printed: bytes) -> None:
    main = """
    int main(void) {
        char text[9];
        snprintf(text, 9, "%d", 5);
        printf("%d ", 3);
        puts(text);
    }"""
    stdout = run_in_wasmtime(program(tmp_path, OWN + source + main)).stdout
    assert stdout.startswith(printed)


FLOATS = (
    '#include <stdio.h>\nint main(int n, char **w) { printf("%.3f %Lg\\n", n / 8., 1.5L * n); }'
)


@pytest.mark.parametrize("flags", all_but(("-O0", "-g"), ("-O0", "-g", "-x c", "-s", "-flto")))
def test_flags_do_not_matter(tmp_path: Path, flags: str) -> None:
    """For most of them zig compiles a library of its own."""
    module = program(tmp_path, FLOATS, *flags.split())
    assert run_in_wasmtime(module).stdout == b"0.125 1.5\n"
    assert b"printf_core" not in module


def test_flags_that_say_what_files_are_do_not_say_so_of_objects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a program without zig's library, which it would compile for such flags."""
    monkeypatch.setattr(toolchain, "LIBRARIES", ())
    flags = ("-x", "c", "-nostdlib", "-Wl,--no-entry,--import-symbols")
    source = """int vfprintf(void *, const char *, void *);
    __attribute__((export_name("print"))) int print(void *stream, void *arguments) {
        return vfprintf(stream, "%d", arguments);
    }"""
    assert not Compilation(("program.c",), flags).is_plain
    assert b"curta_emit" in program(tmp_path, source, *flags)


@pytest.mark.slow
def test_cplusplus_has_them_too(tmp_path: Path) -> None:
    module = program(tmp_path, FLOATS.replace("stdio.h", "cstdio"), name="program.cc")
    assert run_in_wasmtime(module).stdout == b"0.125 1.5\n"
    assert b"curta_emit" in module


@pytest.mark.parametrize(
    ("statement", "tokens"),
    [
        ('printf("%d\\n", n);', 40_000),
        ('printf("%f %g %e %.17g\\n", n / 8., n / 8., n / 8., n / 8.);', 48_000),
        ('int a = 0; scanf("%d", &a); printf("%d\\n", a);', 72_000),
        ('double a = 0; scanf("%lf", &a); printf("%g\\n", a);', 72_000),
        ('printf("%g\\n", strtod(words[0], 0));', 54_000),
        ('char text[99]; snprintf(text, 99, "%.3f", n / 8.); puts(text);', 46_000),
    ],
)
def test_prompts_are_short(tmp_path: Path, statement: str, tokens: int) -> None:
    source = (
        f"#include <stdio.h>\n#include <stdlib.h>\nint main(int n, char **words) {{ {statement} }}"
    )
    prompt = lower_program(program(tmp_path, source), prove=False).prompt()
    assert len(prompt) <= tokens
