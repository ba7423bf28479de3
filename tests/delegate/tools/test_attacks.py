"""Attacks on the compiler in front of the sandbox: each is refused, and says nothing of files."""

from __future__ import annotations

import base64
import ctypes
import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from curta.delegate.tools import Answer, Bounds, confine
from curta.delegate.tools import strangers as strangers_module
from curta.delegate.tools.compile import Source, build
from curta.delegate.tools.strangers import Strangers
from curta.errors import CurtaError, SourceError, ToolError
from tests.support.waiting import until

SECRET = "curta-secret-4711"


@pytest.fixture(scope="module")
def secret(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file that nobody may read: its path."""
    path = tmp_path_factory.mktemp("secret") / "secret.h"
    path.write_text(f'#define FOUND 1\nconst char *word = "{SECRET}";\n')
    return str(path)


READING = {
    "include": '#include "@"',
    "angles": "#include <@>",
    "import": '#import "@"',
    "next": '#include_next "@"',
    "computed": '#define WHERE "@"\n#include WHERE',
    "pasted": "#define TEXT(x) #x\n#define SAME(x) TEXT(x)\n#include SAME(@)",
    "through headers": "#include </headers/0/../../../../../../../../..@>",
    "parents": '#include "../../../../../../../../../../../../../../../..@"',
    "digraph": '%:include "@"',
    "spliced": '#inc\\\nlude "@"',
    "file url": '#include "file://@"',
    "this process": '#include "/proc/self/root@"',
    "environment": '#include "/proc/self/environ"',
    "itself": "#include __FILE__",
    "standard input": '#include "/dev/stdin"',
    "embed": 'const char kept[] = {\n#embed "@"\n};',
    "asks": '#if __has_include("@")\n#error found\n#endif\nint x = "not";',
    "asks to embed": '#if __has_embed("@")\n#error found\n#endif\nint x = "not";',
    "dependency": '#pragma GCC dependency "@"',
    "pragma": '_Pragma("GCC dependency \\"@\\"")',
    "module": "#pragma clang module import secret",
    "precompiled": '#pragma clang pch_include "@"\nint x = "not";',
    "assembly": 'asm(".incbin \\"@\\"");',
    "assembly inside": 'int main(void) { __asm__ volatile(".incbin \\"@\\""); return 0; }',
    "from macros": "#define A as\n#define B m\n#define C(a, b) a##b\n#define D(a, b) C(a, b)\n"
    'D(A, B)("." "inc" "bin \\"@\\"");',
    "assembly with operands": 'int f(int x) { __asm(".incbin \\"@\\"" : "=r"(x)); return x; }',
    "assembly that jumps": 'void f(void) { asm goto(".incbin \\"@\\"" : : : : a); a:; }',
    "line": '#line 1 "@"\nint x = "not" y;',
}  # fmt: skip


@pytest.mark.parametrize("attack", READING)
def test_no_file_is_read(attack: str, secret: str) -> None:
    source = READING[attack].replace("@", secret)
    with pytest.raises((SourceError, ToolError)) as refused:
        build(Source("program.c", source + "\nint main(void) { return 0; }"))
    said = str(refused.value)
    assert SECRET not in said
    assert "found" not in said.replace("not found", "")


LARGE = {
    "macros": "\n".join(f"#define A{n + 1} A{n} A{n} A{n} A{n}" for n in range(30))
    + "\n#define A0 x\nint y = A30;",
    "counting includes": "#define TWICE TWICE TWICE\nint x[] = { TWICE };\n" + "(" * 100_000,
    "an array": "char large[1 << 30] = {1};",
    "initialisers": "int x[] = {" + "1," * 90_000 + "};\nint *y = &(x;",
    "nested braces": "int x = " + "{" * 50_000,
    "nested types": "int " + "(*" * 20_000 + "x" + ")" * 20_000 + ";",
    "a long sum": "int x = " + "+".join(["1"] * 90_000) + ";\nint y = z;",
    "a long else if": "int f(int x) {" + "if (x) ; else " * 14_000 + ";}\nint y = z;",
    "stack overflow": "#pragma clang __debug overflow_stack\nint y = z;",
    "a crash": "#pragma clang __debug crash\nint y = z;",
    "warnings": "\n".join(["#warning again"] * 14_000) + "\nint y = z;",
    "errors": "\n".join(["int x = y;"] * 15_000),
    "more than is allowed": "/*" + "x" * 200_000 + "*/ int main(void) { return 0; }",
}


SLOW = {"macros", "a long else if"}


@pytest.mark.parametrize(
    "attack",
    [pytest.param(each, marks=[pytest.mark.slow] * (each in SLOW)) for each in LARGE],
)
def test_what_is_large_ends_soon(attack: str) -> None:
    started = time.monotonic()
    with pytest.raises((SourceError, ToolError)) as refused:
        build(Source("program.c", LARGE[attack]))
    assert len(str(refused.value)) < 4_000
    assert "zig" not in str(refused.value)
    assert time.monotonic() - started < 30  # and not how fast: that it does not go on


@pytest.mark.skipif(sys.platform != "linux", reason="what the kernel forbids is Linux's")
def test_the_kernel_forbids_files_too(secret: str, tmp_path: Path) -> None:
    """If it has Landlock: on others the file is read, and nothing rests on that."""
    landlock = ctypes.CDLL(None).syscall(confine.SYSTEM_CALLS, None, 0, confine.VERSION)
    if landlock < 1:
        pytest.skip("this kernel has no Landlock")
    limits = confine.Limits(10, 1 << 30, 1 << 20)
    command = ["/bin/cat", secret]
    assert SECRET in confine.run(command, b"", limits, str(tmp_path)).output.decode()
    seen = replace(limits, readable=("/bin", "/usr", "/lib", "/lib64"))
    assert confine.run(command, b"", seen, str(tmp_path)).status == 1


def test_what_a_command_started_ends_with_it(tmp_path: Path) -> None:
    limits = confine.Limits(0.5, 1 << 30, 1 << 20)
    script = f"(sleep 2; touch {tmp_path}/late) & sleep 60"
    assert confine.run(["/bin/sh", "-c", script], b"", limits, str(tmp_path)).status is None
    time.sleep(2.5)
    assert not (tmp_path / "late").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
def test_a_confined_command_of_a_confined_one_ends_with_it(tmp_path: Path) -> None:
    """As the compiler of a program of a stranger's: it is a session of its own."""
    within = "from curta.delegate.tools import confine; "
    within += "limits = confine.Limits(60, 1 << 30, 1 << 20); "
    within += f"run = ['/bin/sh', '-c', 'echo $$ > {tmp_path}/process; sleep 60']; "
    within += f"confine.run(run, b'', limits, {str(tmp_path)!r})"
    limits = confine.Limits(5, 4 << 30, 1 << 20)
    command = [sys.executable, "-c", within]
    environment = {"PYTHONPATH": os.pathsep.join(sys.path)}
    file = tmp_path / "process"

    def has_begun() -> bool:
        return file.is_file() and bool(file.read_text())

    assert confine.run(command, b"", limits, str(tmp_path), environment, has_begun).status is None
    until(lambda: not Path(f"/proc/{file.read_text().strip()}").exists())


INLINE = "static inline __attribute__((always_inline)) int "
DEEP_C = "\n".join(
    [f"{INLINE}f0(int x) {{ return x * 3 + 1; }}"]
    + [f"{INLINE}f{n}(int x) {{ return f{n - 1}(x) + f{n - 1}(x ^ {n}); }}" for n in range(1, 40)]
    + ["int main(int c, char **v) { return f39(c); }"]
)
MAIN = "int main(void) { f(); return 0; }"


def import_of(module: str, name: str) -> str:
    return (
        f'void f(void) __attribute__((import_module("{module}"), import_name("{name}")));\n{MAIN}'
    )


PROGRAMS = {
    "functions in line": (DEEP_C, "took more than"),
    "a function of the host": (import_of("env", "system"), 'nothing provides "env" "system"'),
    "private memory": (import_of("curta", "peek8"), "no native instruction"),
    "a constructor without end": (
        "__attribute__((constructor)) void f(void) { for (volatile int i = 0;; i++) ; }\n"
        "int main(void) { return 0; }",
        "reached its limit of",
    ),
    "no main": ("int _start(void) { return 7; }", "no _start to run"),
    "output without end": (
        'void put(int, int) __attribute__((import_module("curta"), import_name("write")));\n'
        "int main(void) { for (;;) put(1, 65); }",
        "wrote more than",
    ),
}
MODULES = {
    "memory": ('(module (memory 65536) (func (export "_start")))', "begins with 65,536 pages"),
    "a table": ('(module (table 4294967295 funcref) (func (export "_start")))', "a table of"),
    "calls": ('(module (func $f (export "_start") (call $f)))', "call stack exhausted"),
    "locals": (
        base64.b64encode(
            b"\0asm\1\0\0\0\1\4\1\x60\0\0\3\2\1\0\7\n\1\6_start\0\0"
            b"\n\x0b\1\t\1\xff\xff\xff\xff\x0f\x7f\x0b\0\0"
        ).decode(),
        "too many locals",
    ),
    "parentheses": ("(" * 100_000, "expected valid module field"),
}  # fmt: skip


@pytest.fixture(scope="module")
def strangers() -> Strangers:
    found = Strangers(Bounds(tokens=5_000_000))
    found.prepare()
    return found


def test_a_machine_without_code_is_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strangers_module, "loaded", lambda module, bounds: None)
    monkeypatch.setattr(strangers_module, "computer", lambda: SimpleNamespace(engine=object()))
    found = Strangers(Bounds())
    found.prepare()
    assert found.prepared.is_set()


def words_of(call: Callable[[], Answer]) -> str:
    """Why a call has no result."""
    try:
        return call().error or ""
    except CurtaError as error:
        return str(error)


@pytest.mark.slow
@pytest.mark.parametrize("attack", PROGRAMS)
def test_a_program_of_a_stranger_ends_in_words(attack: str, strangers: Strangers) -> None:
    source, reason = PROGRAMS[attack]
    assert reason in words_of(lambda: strangers.run_c(source))


@pytest.mark.slow
@pytest.mark.parametrize("attack", MODULES)
def test_a_module_of_a_stranger_ends_in_words(attack: str, strangers: Strangers) -> None:
    module, reason = MODULES[attack]
    assert reason in words_of(lambda: strangers.run_wasm(module))


@pytest.mark.slow
def test_a_lowering_without_end_is_killed(strangers: Strangers) -> None:
    body = "(i32.store (i32.const 0) (i32.mul (i32.load (i32.const 0)) (i32.const 3)))" * 100_000
    module = f'(module (memory 1) (func (export "_start") {body}))'
    impatient = Strangers(Bounds(seconds=5), prepared=strangers.prepared)
    assert "took more than 5 s" in words_of(lambda: impatient.run_wasm(module))


@pytest.mark.slow
def test_a_program_sees_nothing_of_this_computer(strangers: Strangers) -> None:
    source = """#include <stdio.h>
    #include <stdlib.h>
    #include <time.h>
    int main(int count, char **words) {
        const char *path = getenv("PATH");
        FILE *file = fopen("/etc/passwd", "r");
        printf("%d %d %d %ld", count, path != NULL, file != NULL, (long)time(NULL) / 1000000000);
    }"""
    assert strangers.run_c(source).text == "1 0 0 0"
