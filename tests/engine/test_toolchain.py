"""The toolchain finds a compiler, builds once, and says what is wrong when it cannot."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from curta import store
from curta.engine import toolchain
from curta.engine.toolchain import (
    Compiler,
    build_library,
    compiler_version,
    find_compiler,
    load_library,
)
from curta.errors import CompilerNotFoundError, ToolchainError, UserError
from curta.settings import Settings, read_settings

SOURCE = "int answer(void) { return 42; }\n"


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.delenv("CURTA_CC", raising=False)
    monkeypatch.setenv("CURTA_CACHE", str(tmp_path / "cache"))
    return read_settings()


def nothing_may_start(compiler: Compiler, arguments: tuple[str, ...]) -> None:
    raise AssertionError(f"the compiler was started: {compiler} {arguments}")


def test_builds_loads_and_runs(settings: Settings) -> None:
    path = build_library(SOURCE, name="answer")
    assert load_library(path).answer() == 42
    assert path.parent == settings.cache_directory / "libraries"
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_the_cached_library_is_found_without_starting_the_compiler(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = build_library(SOURCE, name="answer")
    monkeypatch.setattr(toolchain, "_start", nothing_may_start)
    assert build_library(SOURCE, name="answer") == path


def test_source_and_flags_are_part_of_the_key(settings: Settings) -> None:
    source = "int answer(void) { return ANSWER; }\n"
    one = build_library(source, name="answer", flags=("-DANSWER=1",))
    two = build_library(source, name="answer", flags=("-DANSWER=2",))
    three = build_library(source + "\n", name="answer", flags=("-DANSWER=3",))
    assert [load_library(path).answer() for path in (one, two, three)] == [1, 2, 3]


@pytest.mark.parametrize("damage", ["empty", "truncated", "overwritten"])
def test_a_damaged_library_is_built_again(settings: Settings, damage: str) -> None:
    path = build_library(SOURCE, name="answer")
    contents = path.read_bytes()
    damaged = {"empty": b"", "truncated": contents[: len(contents) // 2], "overwritten": b"no"}
    path.unlink()  # a new file: this process still has the old one mapped
    path.write_bytes(damaged[damage])
    again = build_library(SOURCE, name="answer")
    assert load_library(again).answer() == 42


def test_an_unloadable_library_is_built_again(settings: Settings) -> None:
    path = build_library(SOURCE, name="answer")
    stem = path.stem.rpartition("-")[0]
    path.unlink()
    path.write_bytes(b"whole, but not a library")
    foreign = path.with_name(f"{stem}-{store._short_digest(path)}{path.suffix}")
    path.rename(foreign)
    again = build_library(SOURCE, name="answer")
    assert load_library(again).answer() == 42
    assert not foreign.exists()


def test_what_cannot_be_loaded_is_not_kept(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A compiler may fail and say that it did not."""
    compiler = tmp_path / "cc"
    compiler.write_text('#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done; echo no library > "$2"\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("CURTA_CC", str(compiler))
    with pytest.raises(ToolchainError, match="cannot be loaded"):
        build_library(SOURCE, name="answer")
    assert not list((settings.cache_directory / "libraries").iterdir())


def test_two_processes_at_once(settings: Settings) -> None:
    program = (
        "from curta.engine.toolchain import build_library, load_library\n"
        f"print(load_library(build_library({SOURCE!r}, name='answer')).answer())"
    )
    environment = {"CURTA_CACHE": str(settings.cache_directory), "PATH": settings.search_path}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    assert [process.communicate()[0].strip() for process in processes] == ["42", "42"]
    names = [entry.name for entry in (settings.cache_directory / "libraries").iterdir()]
    assert not [name for name in names if name.startswith(".")]
    assert names


def test_a_compile_error_is_quoted(settings: Settings) -> None:
    with pytest.raises(ToolchainError, match=r"(?s)exit status.*undeclared_thing"):
        build_library("int f(void) { return undeclared_thing; }", name="bad")
    assert not list((settings.cache_directory / "libraries").iterdir())


def test_no_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(CompilerNotFoundError, match=r"(?s)pip install ziglang.*CURTA_CC.*'hull'"):
        find_compiler(Settings(None, tmp_path, search_path=""))


def test_the_chosen_compiler_does_not_exist(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CURTA_CC", "no-such-compiler -x")
    with pytest.raises(CompilerNotFoundError, match="CURTA_CC is set to 'no-such-compiler -x'"):
        build_library(SOURCE, name="answer")


def test_the_chosen_compiler_has_an_open_quotation(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CURTA_CC", 'gcc "-O2')
    with pytest.raises(CompilerNotFoundError, match="CURTA_CC is set to 'gcc \"-O2'"):
        build_library(SOURCE, name="answer")


def test_the_chosen_compiler_does_not_compile(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CURTA_CC", sys.executable)
    with pytest.raises(ToolchainError, match="CURTA_CC"):
        build_library(SOURCE, name="answer")


def test_the_chosen_compiler_comes_first(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    if find_compiler(settings).is_bundled:
        pytest.skip("no system compiler to choose")
    command = f"{find_compiler(settings).command[0]} -DANSWER=7"
    monkeypatch.setenv("CURTA_CC", command)
    path = build_library("int answer(void) { return ANSWER; }", name="answer")
    assert load_library(path).answer() == 7


@pytest.mark.slow
def test_the_bundled_compiler_is_the_last_resort(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ziglang", reason="the ziglang package is not installed")
    monkeypatch.setenv("PATH", "")
    assert find_compiler().command[1:] == ("cc",)
    assert load_library(build_library(SOURCE, name="answer")).answer() == 42


@pytest.mark.parametrize("flags", [(), ("-O1",)])
def test_the_bundled_compiler_wastes_no_time(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...]
) -> None:
    """`zig cc` makes -O2 and notes for debuggers of -O1, unless it is told better."""
    pytest.importorskip("ziglang", reason="the ziglang package is not installed")
    monkeypatch.setenv("PATH", "")
    commands = list[str]()

    def start(compiler: Compiler, arguments: tuple[str, ...]) -> object:
        finished = start_compiler(compiler, (*arguments, "-###"))
        commands.append(finished.stderr)
        return finished

    start_compiler = toolchain._start
    monkeypatch.setattr(toolchain, "_start", start)
    with pytest.raises(ToolchainError, match="did not build"):
        build_library(SOURCE, name="t", flags=(*flags, "-c"))
    words = next(line for line in commands[0].splitlines() if "-cc1" in line).split()
    levels = [word.strip('"') for word in words if word.startswith('"-O')]
    assert levels[-1] == (flags or ("-O2",))[0]
    assert not any("debug-info-kind" in word for word in words)


@pytest.mark.parametrize("name", ["file", "name" * 100])
def test_an_unwritable_cache_is_named(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CURTA_CACHE", str(tmp_path / name))
    with pytest.raises(ToolchainError, match="Set CURTA_CACHE"):
        build_library(SOURCE, name="answer")


def test_a_disk_that_fills_up_is_named(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(source: object, target: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(toolchain.os, "replace", full)
    with pytest.raises(ToolchainError, match="No space left on device"):
        build_library(SOURCE, name="answer")
    assert not list((settings.cache_directory / "libraries").iterdir())


def test_a_cache_in_nobodys_home_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CURTA_CACHE", "~no_such_user/cache")
    with pytest.raises(UserError, match="CURTA_CACHE is set to '~no_such_user/cache'"):
        read_settings()


def test_a_version_is_reported(settings: Settings) -> None:
    assert compiler_version(find_compiler(settings))


def test_the_environment_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CURTA_CC", "some compiler")
    monkeypatch.setenv("CURTA_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", "here")
    assert read_settings() == Settings("some compiler", tmp_path, "here")
    monkeypatch.delenv("CURTA_CC")
    monkeypatch.delenv("CURTA_CACHE")
    assert read_settings().compiler_command is None
    assert "curta" in read_settings().cache_directory.parts


def test_a_missing_library_is_named(tmp_path: Path) -> None:
    with pytest.raises(ToolchainError, match=r"absent\.so"):
        load_library(tmp_path / "absent.so")
