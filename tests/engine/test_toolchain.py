"""The toolchain finds a compiler, builds once, and says what is wrong when it cannot."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from curta.engine import toolchain
from curta.engine.settings import EngineSettings, read_settings
from curta.engine.toolchain import (
    Compiler,
    build_library,
    compiler_version,
    find_compiler,
    load_library,
)
from curta.errors import CompilerNotFoundError, ToolchainError, UserError

SOURCE = "int answer(void) { return 42; }\n"


@pytest.fixture
def settings(tmp_path: Path) -> EngineSettings:
    surroundings = read_settings()
    return EngineSettings(None, tmp_path / "cache", surroundings.search_path)


def nothing_may_start(compiler: Compiler, arguments: tuple[str, ...]) -> None:
    raise AssertionError(f"the compiler was started: {compiler} {arguments}")


def test_builds_loads_and_runs(settings: EngineSettings) -> None:
    path = build_library(SOURCE, name="answer", settings=settings)
    assert load_library(path).answer() == 42
    assert path.parent == settings.cache_directory / "libraries"
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_the_cached_library_is_found_without_starting_the_compiler(
    settings: EngineSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = build_library(SOURCE, name="answer", settings=settings)
    monkeypatch.setattr(toolchain, "_start", nothing_may_start)
    assert build_library(SOURCE, name="answer", settings=settings) == path


def test_source_and_flags_are_part_of_the_key(settings: EngineSettings) -> None:
    source = "int answer(void) { return ANSWER; }\n"
    one = build_library(source, name="answer", flags=("-DANSWER=1",), settings=settings)
    two = build_library(source, name="answer", flags=("-DANSWER=2",), settings=settings)
    three = build_library(source + "\n", name="answer", flags=("-DANSWER=3",), settings=settings)
    assert [load_library(path).answer() for path in (one, two, three)] == [1, 2, 3]


@pytest.mark.parametrize("damage", ["empty", "truncated", "overwritten"])
def test_a_damaged_library_is_built_again(settings: EngineSettings, damage: str) -> None:
    path = build_library(SOURCE, name="answer", settings=settings)
    contents = path.read_bytes()
    damaged = {"empty": b"", "truncated": contents[: len(contents) // 2], "overwritten": b"no"}
    path.unlink()  # a new file: this process still has the old one mapped
    path.write_bytes(damaged[damage])
    again = build_library(SOURCE, name="answer", settings=settings)
    assert load_library(again).answer() == 42


def test_an_unloadable_library_is_built_again(settings: EngineSettings) -> None:
    path = build_library(SOURCE, name="answer", settings=settings)
    stem = path.stem.rpartition("-")[0]
    path.unlink()
    path.write_bytes(b"whole, but not a library")
    foreign = path.with_name(f"{stem}-{toolchain._content_digest(path)}{path.suffix}")
    path.rename(foreign)
    again = build_library(SOURCE, name="answer", settings=settings)
    assert load_library(again).answer() == 42
    assert not foreign.exists()


def test_two_processes_at_once(settings: EngineSettings) -> None:
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


def test_a_compile_error_is_quoted(settings: EngineSettings) -> None:
    with pytest.raises(ToolchainError, match=r"(?s)exit status.*undeclared_thing"):
        build_library("int f(void) { return undeclared_thing; }", name="bad", settings=settings)
    assert not list((settings.cache_directory / "libraries").iterdir())


def test_no_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(CompilerNotFoundError, match=r"(?s)pip install ziglang.*CURTA_CC.*'hull'"):
        find_compiler(EngineSettings(None, tmp_path, search_path=""))


def test_the_chosen_compiler_does_not_exist(settings: EngineSettings) -> None:
    chosen = EngineSettings("no-such-compiler -x", settings.cache_directory, settings.search_path)
    with pytest.raises(CompilerNotFoundError, match="CURTA_CC is set to 'no-such-compiler -x'"):
        build_library(SOURCE, name="answer", settings=chosen)


def test_the_chosen_compiler_has_an_open_quotation(settings: EngineSettings) -> None:
    chosen = EngineSettings('gcc "-O2', settings.cache_directory, settings.search_path)
    with pytest.raises(CompilerNotFoundError, match="CURTA_CC is set to 'gcc \"-O2'"):
        build_library(SOURCE, name="answer", settings=chosen)


def test_the_chosen_compiler_does_not_compile(settings: EngineSettings) -> None:
    chosen = EngineSettings(sys.executable, settings.cache_directory, settings.search_path)
    with pytest.raises(ToolchainError, match="CURTA_CC"):
        build_library(SOURCE, name="answer", settings=chosen)


def test_the_chosen_compiler_comes_first(settings: EngineSettings) -> None:
    if find_compiler(settings).command[0] == sys.executable:
        pytest.skip("no system compiler to choose")
    command = f"{find_compiler(settings).command[0]} -DANSWER=7"
    chosen = EngineSettings(command, settings.cache_directory, settings.search_path)
    path = build_library("int answer(void) { return ANSWER; }", name="answer", settings=chosen)
    assert load_library(path).answer() == 7


def test_the_bundled_compiler_is_the_last_resort(settings: EngineSettings) -> None:
    pytest.importorskip("ziglang", reason="the ziglang package is not installed")
    alone = EngineSettings(None, settings.cache_directory, search_path="")
    assert find_compiler(alone).command[1:] == ("-m", "ziglang", "cc")
    assert load_library(build_library(SOURCE, name="answer", settings=alone)).answer() == 42


def test_an_unwritable_cache_is_named(settings: EngineSettings, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    blocked = EngineSettings(None, tmp_path / "file", settings.search_path)
    with pytest.raises(ToolchainError, match="Set CURTA_CACHE"):
        build_library(SOURCE, name="answer", settings=blocked)


def test_a_cache_with_too_long_a_name_is_named(settings: EngineSettings, tmp_path: Path) -> None:
    blocked = EngineSettings(None, tmp_path / ("name" * 100), settings.search_path)
    with pytest.raises(ToolchainError, match="Set CURTA_CACHE"):
        build_library(SOURCE, name="answer", settings=blocked)


def test_a_disk_that_fills_up_is_named(
    settings: EngineSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(source: object, target: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(toolchain.os, "replace", full)
    with pytest.raises(ToolchainError, match="No space left on device"):
        build_library(SOURCE, name="answer", settings=settings)
    assert not list((settings.cache_directory / "libraries").iterdir())


def test_a_cache_in_nobodys_home_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CURTA_CACHE", "~no_such_user/cache")
    with pytest.raises(UserError, match="CURTA_CACHE is set to '~no_such_user/cache'"):
        read_settings()


def test_a_version_is_reported(settings: EngineSettings) -> None:
    assert compiler_version(find_compiler(settings))


def test_the_environment_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CURTA_CC", "some compiler")
    monkeypatch.setenv("CURTA_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", "here")
    assert read_settings() == EngineSettings("some compiler", tmp_path, "here")
    monkeypatch.delenv("CURTA_CC")
    monkeypatch.delenv("CURTA_CACHE")
    assert read_settings().compiler_command is None
    assert "curta" in read_settings().cache_directory.parts


def test_a_missing_library_is_named(tmp_path: Path) -> None:
    with pytest.raises(ToolchainError, match=r"absent\.so"):
        load_library(tmp_path / "absent.so")
