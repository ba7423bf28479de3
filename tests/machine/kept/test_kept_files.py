"""Files of kept runs: what is damaged, forged, or of something else is refused by name."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from itertools import product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from curta.errors import FileError, ProgramError, UserError
from curta.machine.kept.file import Beginning, Invocation, KeptRun, Kind
from curta.machine.kept.journal import Journal
from curta.machine.kept.keeping import Ready
from curta.machine.kept.resume import resume
from tests.machine.kept.kept_program import MODULE, REFERENCE, goes_on


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_damage_is_refused_by_name(whole: Path, tmp_path: Path, place: float, bit: int) -> None:
    content, path = bytearray(whole.read_bytes()), tmp_path / "damaged.curta"
    content[int(place * len(content))] ^= 1 << bit
    path.write_bytes(content)
    for to_write in (False, True):
        with pytest.raises(FileError, match=r"damaged\.curta is (damaged: record|no kept|a run)"):
            KeptRun.open(path, to_write=to_write)
    assert path.read_bytes() == content


def test_what_is_before_the_damage_goes_on_as_the_error_says(
    whole: Path, expected: bytes, tmp_path: Path
) -> None:
    content, path = bytearray(whole.read_bytes()), tmp_path / "my run.curta"
    content[len(content) * 2 // 3] ^= 1
    path.write_bytes(content)
    with pytest.raises(FileError) as refused:
        resume(path)
    command = str(refused.value).split("`")[1].partition(" && ")
    begun = tmp_path / "my run.curta-begun"
    assert command[2] == f"curta resume '{begun}'"
    subprocess.run(command[0], shell=True, check=True)
    with KeptRun.open(begun) as kept:
        assert kept.marks
    assert resume(begun).stdout == expected


def test_a_file_that_is_something_else_is_not_touched(tmp_path: Path, whole: Path) -> None:
    path = tmp_path / "notes.txt"
    for content in (b"my notes\n", b"curta kept run 9\n...", bytes(100)):
        path.write_bytes(content)
        with pytest.raises(FileError, match=r"notes\.txt is (no kept run|a run kept by another)"):
            resume(path)
        with pytest.raises(FileError, match=r"is there already, and is no|a run kept by another"):
            REFERENCE.run(MODULE, keep=path)
        assert path.read_bytes() == content
    before = whole.read_bytes()
    with pytest.raises(FileError, match=r"is there already: `curta resume"):
        REFERENCE.run(MODULE, keep=whole)
    assert whole.read_bytes() == before
    with pytest.raises(FileError, match="no such file"):
        resume(tmp_path / "none.curta")
    with pytest.raises(FileError, match="no such folder"):
        REFERENCE.run(MODULE, keep=tmp_path / "none" / "run.curta")


def altered(whole: Path, path: Path, change: Callable[[Beginning], Beginning]) -> Path:
    """A file with correct digests that says that the run was begun in another way."""
    path.unlink(missing_ok=True)
    with KeptRun.open(whole) as kept, Journal.create(path) as copy:
        copy.append(Kind.BEGINNING, change(kept.beginning).to_bytes())
        copy.append(Kind.LAST_INPUT, b"")
    return path


@pytest.mark.slow
def test_a_run_of_another_machine_is_refused(whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "other.curta"
    changes: dict[str, Callable[[Beginning], Beginning]] = {
        "its machine is 000": lambda begun: replace(begun, machine="0" * 64),
        "its lowering is 000": lambda begun: replace(begun, program="0" * 64),
        "kept by another machine": lambda begun: replace(begun, extensions=("byte_swap",)),
    }
    for words, change in changes.items():
        with pytest.raises(FileError, match=f"other.curta .*{words}"):
            resume(altered(whole, path, change))
    gone = altered(whole, path, lambda begun: replace(begun, weights="/gone.safetensors"))
    with pytest.raises(FileError, match=r"/gone\.safetensors, and there is no such file; say"):
        resume(gone)


def test_fields_of_another_kind_are_refused(whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "other.curta"
    names = [field.name for field in fields(Beginning) if field.name != "module"]
    for name, value in product(names, (5, "word", 1.5, True, [5], ["word"], {"word": 5})):
        if not _can_be(name, value):
            other = altered(whole, path, partial(replace, **{name: value}))  # type: ignore[arg-type]
            with pytest.raises(FileError, match="says something that no run does"):
                KeptRun.open(other)


def test_a_page_without_tokens_is_refused(whole: Path, tmp_path: Path) -> None:
    """With correct digests, and what is not compressed behind its head."""
    path = tmp_path / "other.curta"
    with Journal.open(whole) as kept, Journal.create(path) as copy:
        for record in kept.records:
            content = kept.read(record)
            if record.kind == Kind.PAGE:
                content = content[:-9] + bytes(9)
            copy.append(record.kind, content)
    with KeptRun.open(path) as kept, pytest.raises(FileError, match="chapter 2 opens with no"):
        kept.page(2, REFERENCE.load(MODULE))


def _can_be(name: str, value: object) -> bool:
    """Whether a field may hold a value of this kind."""
    if name in ("curta", "machine", "program", "level", "name", "weights"):
        return isinstance(value, str)
    if name in ("arguments", "extensions"):
        return value == ["word"]
    if name in ("keeps_tokens", "proved", "input_is_whole"):
        return isinstance(value, bool)
    return type(value) is int and name in ("seed", "max_memory", "max_tokens", "chapter_tokens")


def test_a_run_that_says_something_else_than_before_is_stopped(
    whole: Path, ready: Ready, tmp_path: Path
) -> None:
    path = tmp_path / "other.curta"
    altered(whole, path, lambda begun: begun)
    with KeptRun.open(path, to_write=True) as kept:
        kept.streams[Kind.OUTPUT].append(b"something else")
    with pytest.raises(
        ProgramError, match=r"does not say again .* of its output: it differs from byte 0"
    ):
        goes_on(path, ready)


def test_two_processes_do_not_write_one_file(whole: Path) -> None:
    with (
        KeptRun.open(whole, to_write=True),
        pytest.raises(FileError, match="is being written by another process"),
    ):
        resume(whole)
    with KeptRun.open(whole, to_write=True), KeptRun.open(whole) as kept:
        assert kept.ending is not None  # reading is allowed


def test_a_file_that_asks_for_what_there_is_not(whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "other.curta"
    changes: dict[str, Callable[[Beginning], Beginning]] = {
        "no function 'none'": lambda begun: replace(begun, invocations=(Invocation("none"),)),
        "a level 'odd' that there is not": lambda begun: replace(begun, level="odd"),
    }
    for words, change in changes.items():
        with pytest.raises(FileError, match=words):
            resume(altered(whole, path, change))
    with pytest.raises(UserError, match="has all of the run's input"):
        resume(whole, stdin=b"more")
    with pytest.raises(UserError, match="leave the weights"):
        resume(whole, weights="some.safetensors")
