"""Programs as users have them: C, C++, text, binary."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench.count_instructions import run_in_wasmtime
from curta.errors import SourceError, TextFormatError, UserError
from curta.machine import toolchain
from curta.machine.flags import LIBRARIES
from curta.machine.toolchain import Watcher, read_program, split_flags
from curta.machine.wasm.decode import decode
from tests.machine.toolchain.conftest import long_ago


def test_assertions_hold(folder: Path) -> None:
    with pytest.raises(Exception, match="unreachable"):
        run_in_wasmtime(read_program("hello.c"), args=["1", "2"])


def test_several_files(folder: Path) -> None:
    (folder / "main.c").write_text("int two(void);\nint main(void) { return two(); }\n")
    (folder / "two.c").write_text('#include "answer.h"\nint two(void) { return ANSWER / 21; }\n')
    long_ago(folder / "main.c", folder / "two.c")
    assert run_in_wasmtime(read_program(["main.c", "two.c"])).exit_code == 2
    (folder / "answer.h").write_text("#define ANSWER 63\n")
    long_ago(folder / "answer.h")
    assert run_in_wasmtime(read_program(["main.c", "two.c"])).exit_code == 3


@pytest.mark.slow
def test_cplusplus(tmp_path: Path) -> None:
    source = tmp_path / "sorted.cc"
    source.write_text(
        "#include <algorithm>\n#include <cstdio>\n#include <string>\n#include <vector>\n"
        "int main() {\n"
        '  std::vector<std::string> words{"b", "c", "a"};\n'
        "  std::sort(words.begin(), words.end());\n"
        '  for (auto &word : words) std::printf("%s", word.c_str());\n'
        "}\n"
    )
    assert run_in_wasmtime(read_program(source)).stdout == b"abc"
    source.write_text("int main(int n, char **) { if (n > 3) throw n; }\n")
    with pytest.raises(SourceError, match="exceptions disabled"):
        read_program(source)


def test_programs_for_other_systems(tmp_path: Path) -> None:
    source = tmp_path / "clock.c"
    source.write_text(
        "#include <signal.h>\n#include <sys/mman.h>\n#include <time.h>\n#include <unistd.h>\n"
        "int main(void) { return clock() == (clock_t)-1 || getpid() == 0; }\n"
    )
    assert run_in_wasmtime(read_program(source)).exit_code == 0


def test_functions_to_be_called_one_by_one(tmp_path: Path) -> None:
    source = tmp_path / "library.c"
    source.write_text("int twice(int n) { return 2 * n; }\nstatic int hidden(void) { return 1; }\n")
    names = {entry.name for entry in decode(read_program(source, library=True)).exports}
    assert "twice" in names
    assert not {"hidden", "_start", "malloc"} & names
    with pytest.raises(SourceError, match=r"no function main.*--invoke"):
        read_program(source)


def test_the_stack_is_small_and_addresses_are(folder: Path) -> None:
    (memory,) = decode(read_program("hello.c")).memories
    assert memory.limits.minimum <= 20


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("int main(void) { return x; }", r"undeclared identifier 'x'"),
        ("int f(int); int main(void) { return f(1); }", r"linker: error: .*undefined symbol: f"),
    ],
)
def test_what_does_not_compile(tmp_path: Path, text: str, words: str) -> None:
    source = tmp_path / "wrong.c"
    source.write_text(text)
    with pytest.raises(SourceError, match=words) as caught:
        read_program(source)
    first, *rest = str(caught.value).splitlines()
    assert first == f"{source}: the C compiler refused it"
    assert rest


@pytest.mark.parametrize(
    ("name", "text", "advice"),
    [
        ("jump.c", "#include <setjmp.h>\njmp_buf place;\n", "no setjmp and longjmp"),
        pytest.param(
            "throw.cpp", "int main() { throw 1; }\n", "no exceptions", marks=pytest.mark.slow
        ),
    ],
)
def test_what_no_flag_helps_with(tmp_path: Path, name: str, text: str, advice: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(SourceError) as caught:
        read_program(tmp_path / name)
    assert advice in str(caught.value).splitlines()[0]


def test_a_main_that_cannot_be_called(tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text("int main(int n, char **words, char **more) { return n; }\n")
    with pytest.raises(SourceError, match=r"no function main to start, .*\(int, char \*\*\)"):
        read_program(tmp_path / "main.c")


def test_whoever_waits_is_told() -> None:
    seconds: list[float] = []
    watcher = Watcher(seconds.append, lambda _: None)
    sleeping = [sys.executable, "-c", "import time; time.sleep(0.5)"]
    assert toolchain.run(sleeping, dict(os.environ), watcher) == (0, "")
    assert seconds
    assert seconds == sorted(seconds)


def test_warnings_are_told(folder: Path) -> None:
    (folder / "hello.c").write_text('#warning "careful"\nint main(void) { return 0; }\n')
    warnings: list[str] = []
    watcher = Watcher(lambda _: None, warnings.append)
    read_program("hello.c", [f"-DUNIQUE={folder.name}"], watcher=watcher)
    assert "careful" in "".join(warnings)


def test_who_waits_and_watches_nothing_is_told_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def slow(
        command: Sequence[str], environment: dict[str, str], watcher: Watcher | None
    ) -> tuple[int, str]:
        if watcher is not None:
            for seconds in (0.1, toolchain.LONG + 0.1, toolchain.LONG + 0.2):
                watcher.waiting(seconds)
                told.append(capsys.readouterr().err)
        return run(command, environment, watcher)

    told: list[str] = []
    run = toolchain.run
    monkeypatch.setattr(toolchain, "run", slow)
    monkeypatch.setattr(toolchain.Compilation, "cached", lambda _: None)
    (folder / "hello.c").write_text('#warning "careful"\nint main(void) { return 0; }\n')
    read_program("hello.c")
    assert told[:3] == ["", f"curta: {toolchain.COMPILING}\n", ""]


def test_text_and_binary(tmp_path: Path) -> None:
    text = tmp_path / "f.wat"
    text.write_text('(module (func (export "f") (result i32) (i32.const 7)))')
    binary = tmp_path / "f.wasm"
    binary.write_bytes(read_program(text))
    assert read_program(binary) == binary.read_bytes()
    nameless = tmp_path / "module"
    nameless.write_bytes(binary.read_bytes())
    assert read_program(nameless) == binary.read_bytes()
    text.write_text("(module")
    with pytest.raises(TextFormatError):
        read_program(text)


@pytest.mark.parametrize(
    ("files", "flags", "words"),
    [
        (["missing.c"], [], "missing.c: no such file"),
        (["missing.wasm"], [], "missing.wasm: no such file"),
        ([], [], "no program"),
        (["notes.txt"], [], "not a program that curta can run"),
        (["a.wat", "b.c"], [], "several files have to be C"),
        (["a.wat"], ["-O3"], "mean nothing"),
        (["latin.wat"], [], "not UTF-8"),
        (["."], [], "is a directory"),
        ([""], [], "'': no such file"),
        (["b.c", ""], [], "'': no such file"),
        (["b.c", "b:c.c"], [], "b:c.c: the compiler takes no ':' in a name; rename it"),
    ],
)
def test_what_is_no_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: list[str], flags: list[str], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes.txt").write_text("hello")
    Path("a.wat").write_text("(module)")
    Path("latin.wat").write_bytes(b"\xe9")
    Path("b.c").write_text("")
    Path("b:c.c").write_text("")
    with pytest.raises(UserError, match=words):
        read_program(files, flags)


def test_flags_in_one_word() -> None:
    assert split_flags("-O3 -DX='a b'") == ["-O3", "-DX=a b"]
    with pytest.raises(UserError, match="--cflags"):
        split_flags("'")


@pytest.mark.parametrize("flag", ["-c", "-shared"])
def test_flags_by_which_there_is_no_program(folder: Path, flag: str) -> None:
    with pytest.raises(UserError, match=f"{flag} makes no program"):
        read_program("hello.c", ["-O1", flag])


@pytest.mark.parametrize(
    ("flags", "libraries"),
    [
        ("-nostdlib -Wl,--no-entry", ()),
        # With the emulated ones zig compiles its C library, too.
        pytest.param("-nostdlib", LIBRARIES, marks=pytest.mark.slow),
        pytest.param("-ffreestanding", LIBRARIES, marks=pytest.mark.slow),
    ],
)
def test_functions_alone_need_no_library(
    flags: str, libraries: tuple[str, ...], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(toolchain, "LIBRARIES", libraries)
    (folder / "add.c").write_text("int add(int a, int b) { return a + b; }\n")
    module = read_program("add.c", flags.split(), library=True)
    assert "add" in {entry.name for entry in decode(module).exports}


def test_a_library_has_of_the_c_library_what_it_calls(tmp_path: Path) -> None:
    file = tmp_path / "lib.c"
    file.write_text("int add(int a, int b) { return a + b; }\n")
    exports = {export.name for export in decode(read_program(file, library=True)).exports}
    assert "add" in exports
    assert exports.isdisjoint({"vfprintf", "vsnprintf", "vfscanf", "strtod"})
    file.write_text(
        "#include <stdio.h>\n#include <stdlib.h>\n"
        "int shown(char *to, double x) { return sprintf(to, \"%.3f\", x); }\n"
        "double read(const char *text) { return strtod(text, 0); }\n"
    )  # fmt: skip
    module = read_program(file, library=True)
    assert b"curta_emit" in module
    assert b"curta_read_float" in module
    assert b"printf_core" not in module


@pytest.mark.parametrize("name", ["-dash.c", "@at.c", "a b.c", "ä.c"])
def test_a_name_is_never_a_flag(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_text("int main(void) { return 0; }\n")
    assert read_program(f"./{name}") == read_program(name)


NINE = "int nine(void) { return 9; }\n"


@pytest.mark.slow  # zig compiles its library
def test_sources_among_the_flags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("nine.c").write_text(NINE)
    Path("main.c").write_text("int nine(void);\nint main(void) { return nine(); }\n")
    assert read_program("main.c", ["nine.c"]).startswith(toolchain.WASM_MAGIC)


def test_functions_among_the_flags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same without any library."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(toolchain, "LIBRARIES", ())
    Path("nine.c").write_text(NINE)
    Path("ten.c").write_text("int nine(void);\nint ten(void) { return nine() + 1; }\n")
    alone = ["-nostdlib", "-Wl,--no-entry"]
    exports = decode(read_program("ten.c", ["nine.c", *alone], library=True)).exports
    assert {"nine", "ten"} <= {entry.name for entry in exports}
    with pytest.raises(SourceError, match="nine"):
        read_program("ten.c", alone, library=True)


@pytest.mark.parametrize("flag", ["--version", "-E", "-S"])
def test_flags_by_which_no_program_comes(flag: str, tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text("int main(void) { return 0; }\n")
    with pytest.raises(SourceError, match=f"no program comes of it by the flags {flag}"):
        read_program(tmp_path / "main.c", [flag])
