"""Programs are compiled, linked or assembled once, and again when what they are made of changes."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from bench.count_instructions import run_in_wasmtime
from curta.errors import SourceError, ToolchainError
from curta.machine import toolchain
from curta.machine.toolchain import dependencies, read_program
from curta.machine.wasm.decode import decode
from curta.machine.wasm.validate import validate
from tests.machine.toolchain.conftest import long_ago


def test_a_program_is_compiled_once(folder: Path, compilations: list[str]) -> None:
    first = read_program("hello.c")
    assert run_in_wasmtime(first, args=["x"]).stdout == b"program 42 1.500\n"
    assert read_program("hello.c") == read_program(Path("hello.c")) == first
    assert len(compilations) == 1
    validate(decode(first))
    assert "main" in {name for _, name in decode(first).function_names}
    assert sorted(path.name for path in folder.iterdir()) == ["answer.h", "hello.c"]


def test_it_is_compiled_again_when_it_changes_or_what_it_includes(
    folder: Path, compilations: list[str]
) -> None:
    first = read_program("hello.c")
    (folder / "answer.h").write_text("#define ANSWER 43\n")
    long_ago(folder / "answer.h")
    second = read_program("hello.c")
    assert run_in_wasmtime(second).stdout == b"program 43 1.500\n"
    (folder / "answer.h").write_text("#define ANSWER 42\n")
    long_ago(folder / "answer.h")
    assert read_program("hello.c") == first
    assert read_program("hello.c", ["-DNDEBUG"]) != first
    assert len(compilations) == 4
    (folder / "answer.h").unlink()
    with pytest.raises(SourceError, match=r"answer\.h"):
        read_program("hello.c")


def test_a_damaged_cache_costs_time_only(folder: Path) -> None:
    first = read_program("hello.c")
    for path in toolchain.PROGRAMS.folder.iterdir():
        path.write_bytes(path.read_bytes()[:-1])
    assert read_program("hello.c") == first


def test_a_text_is_assembled_once_by_an_assembler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assembled: list[str] = []

    def assemble(source: str) -> bytes:
        assembled.append(source)
        return source.encode()

    monkeypatch.setattr("curta.machine.wasm.text.assemble", assemble)
    path = tmp_path / "f.wat"
    texts = [f"(module) ;; {tmp_path} {number}" for number in (1, 2, 1)]
    for text in texts:
        path.write_text(text)
        assert read_program(path) == text.encode()
    assert assembled == texts[:2]
    monkeypatch.setattr(toolchain, "find_spec", lambda _: None)  # another one
    assert read_program(path) == texts[0].encode()
    assert assembled == [*texts[:2], texts[0]]


def test_a_cache_that_cannot_be_written_is_named_before_the_compiler_is_started(
    folder: Path, compilations: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CURTA_CACHE", str(folder / "answer.h" / "cache"))
    with pytest.raises(ToolchainError, match=r"cannot be written .* Set CURTA_CACHE to"):
        read_program("hello.c")
    assert compilations == []


def test_names_in_lists_of_dependencies() -> None:
    rule = "a.o: a.c \\\n  we\\ ird$$\\#/h.h \\\n /usr/x.h\n"
    assert dependencies(rule) == ["a.c", "we ird$#/h.h", "/usr/x.h"]


def test_two_processes_at_once(folder: Path) -> None:
    code = "from curta.machine.toolchain import read_program; print(len(read_program('hello.c')))"
    said: list[str] = []

    def start() -> None:
        command = [sys.executable, "-c", code]
        finished = subprocess.run(command, capture_output=True, text=True, check=False)
        said.append(finished.stdout + finished.stderr)

    threads = [threading.Thread(target=start) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert said == [f"{len(read_program('hello.c'))}\n"] * 3


@pytest.mark.parametrize(
    ("files", "flags", "changes"),
    [
        ({"main.c": '#if __has_include("conf.h")\n#include "conf.h"\n#else\n#define N 1\n#endif\n'},
         [], {"conf.h": "#define N 2\n"}),
        ({"main.c": "#include <n.h>\n", "b/n.h": "#define N 1\n", "a/other.h": ""},
         ["-Ia", "-Ib"], {"a/n.h": "#define N 2\n"}),
        ({"main.c": '#include "n.h"\n', "b/n.h": "#define N 1\n"},
         ["-Ib"], {"n.h": "#define N 2\n"}),
        ({"main.c": '#include "n.h"\n', "b/n.h": "#define N 1\n"},
         ["-Ia", "-Ib"], {"a/n.h": "#define N 2\n"}),
        pytest.param({"main.c": "", "f.rsp": "-DN=1\n"}, ["@f.rsp"], {"f.rsp": "-DN=2\n"},
                     marks=pytest.mark.slow),  # zig compiles its library
        ({"main.c": '#include <limits.h>\n#ifndef N\n#define N 1\n#endif\n'},
         ["-I."], {"limits.h": "#define N 2\n"}),
    ],
)  # fmt: skip
def test_a_program_is_compiled_again_when_other_files_would_be_read(
    files: dict[str, str],
    flags: list[str],
    changes: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The compiler lists what it read, not what it looked for; the kept result is not asked for."""

    def write(texts: dict[str, str]) -> None:
        for name, text in texts.items():
            path = tmp_path / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text + ("int main(void) { return N; }\n" if name == "main.c" else ""))
            long_ago(path)

    monkeypatch.chdir(tmp_path)
    write(files)
    for number in (1, 2):
        module = read_program("main.c", flags)
        assert run_in_wasmtime(module).exit_code == number
        write(changes)


@pytest.mark.parametrize(
    ("flags", "is_kept"),
    [
        (["-O2", "-DN=2", "-Wall", "-std=c11", "-fno-builtin", "-lm", "-I", "some"], True),
        (["-L.", "-lown"], False),
        (["@flags.txt"], False),
        (["-Wl,--whole-archive"], False),
        (["-fprofile-use"], False),
    ],
)
def test_what_flags_may_read_is_known_or_nothing_is_kept(
    flags: list[str], is_kept: bool, folder: Path
) -> None:
    (folder / "some").mkdir()
    long_ago(folder / "answer.h")
    compilation = toolchain.Compilation(("hello.c",), tuple(flags))
    compilation.keep(b"module", ["hello.c", "answer.h"], time.time())
    assert (compilation.cached() is not None) == is_kept


@pytest.mark.slow  # zig compiles its library
def test_a_program_is_linked_again_when_an_archive_has_changed(folder: Path) -> None:
    (folder / "main.c").write_text("int one(void);\nint main(void) { return one(); }\n")
    zig = [toolchain.zig().executable]
    for number in (1, 2):
        (folder / "one.c").write_text(f"int one(void) {{ return {number}; }}\n")
        environment = toolchain.zig_environment()
        for words in (
            ["cc", "--target=wasm32-wasi", "-c", "one.c"],
            ["ar", "rc", "libo.a", "one.o"],
        ):
            subprocess.run([*zig, *words], check=True, env=environment)
        long_ago(folder / "main.c", folder / "libo.a")
        module = read_program("main.c", ["-L.", "-lo"])
        assert run_in_wasmtime(module).exit_code == number


def test_the_compiler_s_headers_are_no_files_of_the_program_wherever_it_is_called(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Below the working directory, as with an environment in a project, it lists them by shorter
    names; and it has headers that ask for others.
    """
    (folder / "main.c").write_text("#include <stdint.h>\nint main(void) { return 0; }\n")
    long_ago(folder / "main.c")
    monkeypatch.chdir(toolchain.zig().folder.parent)
    compilation = toolchain.Compilation((str(folder / "main.c"),))
    assert compilation.compile() == compilation.cached()
