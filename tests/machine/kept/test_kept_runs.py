"""Kept runs: whatever ends the process, the run goes on to what it would have been."""

from __future__ import annotations

import io
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from curta import Trap
from curta.errors import FileError, LimitError, ProgramError, UserError
from curta.machine.kept.file import KeptRun, Kind, tokens_from_bytes
from curta.machine.kept.journal import MAGIC, Journal, Record
from curta.machine.kept.keeping import Ready
from curta.machine.kept.resume import resume
from tests.machine.kept.kept_program import GIVEN, MODULE, OPTIONS, REFERENCE, goes_on
from tests.support.slow import draws

Capture = pytest.CaptureFixture[str]


def test_a_kept_run_is_the_run(whole: Path) -> None:
    expected = REFERENCE.begin(MODULE, **OPTIONS)  # type: ignore[arg-type]
    assert expected.run() == 0
    found = resume(whole)
    assert (found.stdout, found.stderr) == (expected.stdout, expected.stderr)
    assert replace(found.figures, seconds=0.0) == replace(
        expected.figures, seconds=0.0, memory_bytes=found.figures.memory_bytes
    )
    with KeptRun.open(whole) as kept:
        assert len(kept.marks) > 5
        tokens = kept.streams[Kind.TOKENS]
        said = tokens_from_bytes(tokens.read(0, tokens.length))
        assert np.array_equal(said, expected.conversation.said())
        program = expected.conversation.program
        chapters = kept.chapters(program, ())
        assert chapters[1:] == expected.conversation.chapters[1:]


def test_a_run_that_is_killed_at_any_moment_goes_on(
    whole: Path, ready: Ready, expected: bytes, tmp_path: Path
) -> None:
    """A process that is killed leaves a beginning of the file, which is written in order."""
    content, path = whole.read_bytes(), tmp_path / "cut.curta"
    with KeptRun.open(whole) as kept:
        begun = kept.marks[0].record.place
        ends = sorted({mark.record.place for mark in kept.marks})
    near = {end + step for end in ends[:: draws(1, 4)] for step in (-30, -14, -13, -1, 0, 1)}
    for length in sorted({*range(begun, len(content), draws(997, 3997)), *near, len(content) - 1}):
        path.write_bytes(content[:length])
        with KeptRun.open(path) as kept:
            output = kept.streams[Kind.OUTPUT]
            before = output.read(0, output.length)
        handed, written = goes_on(path, ready)
        assert written == expected
        assert before + handed == expected
    assert len(near) > 20


def test_what_is_cut_off_before_anything_was_kept_is_begun_again(
    whole: Path, expected: bytes, tmp_path: Path
) -> None:
    content, path = whole.read_bytes(), tmp_path / "cut.curta"
    with Journal.open(whole) as journal:
        first = journal.records[0]
    for length in (0, 1, len(MAGIC) - 1, len(MAGIC), len(MAGIC) + 20, first.place + first.length):
        path.write_bytes(content[:length])
        with pytest.raises(FileError, match="begin it again"):
            resume(path)
        run = REFERENCE.run(MODULE, keep=path, **OPTIONS)  # type: ignore[arg-type]
        assert run.stdout == resume(path).stdout == expected


def test_a_run_that_never_began_is_begun_again(tmp_path: Path, expected: bytes) -> None:
    """Its input was still being kept."""

    class Cut(io.FileIO):
        def read(self, size: int | None = -1, /) -> bytes:
            if self.tell():
                raise KeyboardInterrupt
            return super().read(8)

    path, source = tmp_path / "run.curta", tmp_path / "input"
    source.write_bytes(GIVEN)
    with Cut(source) as file, pytest.raises(KeyboardInterrupt):
        REFERENCE.run(MODULE, keep=path, stdin=file)
    with pytest.raises(FileError, match="begin it again"):
        resume(path)
    assert REFERENCE.run(MODULE, keep=path, **OPTIONS).stdout == expected  # type: ignore[arg-type]


def test_an_end_of_zeros_is_cut_off(
    whole: Path, ready: Ready, expected: bytes, tmp_path: Path
) -> None:
    """A computer without power may leave a file that is longer than what came to the disk."""
    content, path = whole.read_bytes(), tmp_path / "zeros.curta"
    with KeptRun.open(whole) as kept:
        page = kept.marks[3].record
    for end in (page.place - 13, page.place + 5, page.place + page.length, len(content) - 32):
        path.write_bytes(content[:end] + bytes(len(content) - end))
        if end == page.place + 5:  # more was written behind it than what is not there
            path.write_bytes(content[:end] + bytes(page.length + 27))
        assert goes_on(path, ready)[1] == expected


def test_a_full_disk_loses_nothing(
    ready: Ready, expected: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "full.curta"
    write, left = os.write, [9_000]

    def short(file: int, content: bytes) -> int:
        if left[0] == 0:
            raise OSError(28, "No space left on device")
        count = write(file, content[: left[0]])
        left[0] -= count
        return count

    monkeypatch.setattr(os, "write", short)
    with pytest.raises(ProgramError, match=r"cannot be written: No space left.*is whole"):
        REFERENCE.run(MODULE, keep=path, **OPTIONS)  # type: ignore[arg-type]
    monkeypatch.undo()
    with KeptRun.open(path) as kept:
        assert len(kept.marks) > 2
    assert goes_on(path, ready)[1] == expected


def test_what_an_interruption_left_is_written_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C can come between a record and the note that it is there."""
    write = os.write

    def interrupted(file: int, content: bytes) -> int:
        write(file, content)
        raise KeyboardInterrupt

    with Journal.create(tmp_path / "journal") as journal:
        journal.append(1, b"first")
        for content in (b"a long record", b"a"):
            monkeypatch.setattr(os, "write", interrupted)
            with pytest.raises(KeyboardInterrupt):
                journal.append(2, content)
            monkeypatch.undo()
        journal.append(3, b"last")
    with Journal.open(tmp_path / "journal") as journal:
        assert [journal.read(record) for record in journal.records] == [b"first", b"last"]


def test_a_trap_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "trap.curta"
    with pytest.raises(Trap, match="unreachable"):
        REFERENCE.run(MODULE, keep=path, stdin=b"ab!c", chapter_tokens=200)
    written: list[bytes] = []
    with pytest.raises(Trap, match=r"unreachable \(in function 3\)|unreachable"):
        resume(path, on_stdout=written.append)
    assert not written


def test_a_limit_is_no_ending(tmp_path: Path, expected: bytes) -> None:
    path = tmp_path / "limit.curta"
    with pytest.raises(LimitError, match="max_tokens"):
        REFERENCE.run(MODULE, keep=path, max_tokens=3000, **OPTIONS)  # type: ignore[arg-type]
    with pytest.raises(LimitError):
        resume(path)
    with pytest.raises(UserError, match=r"max_tokens=1000: .* has said [12],\d+ tokens already"):
        resume(path, max_tokens=1000)
    assert resume(path, max_tokens=10**6).stdout == expected
    with pytest.raises(UserError, match="is at its end already: leave max_tokens out"):
        resume(path, max_tokens=10**7)


@pytest.mark.parametrize("as_file", [False, True])
@pytest.mark.parametrize("interrupted", [False, True])
def test_input_that_comes_later_goes_on(
    as_file: bool, interrupted: bool, tmp_path: Path, expected: bytes
) -> None:
    class Broken(io.BytesIO):
        def read1(self, size: int | None = -1, /) -> bytes:
            found = super().read1(3)
            if not found:
                raise KeyboardInterrupt
            return found

    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    path = tmp_path / "live.curta"
    with pytest.raises(KeyboardInterrupt):
        REFERENCE.run(MODULE, keep=path, stdin=Broken(GIVEN[:8]), chapter_tokens=300)
    if interrupted:
        with pytest.raises(KeyboardInterrupt):
            resume(path, stdin=GIVEN[8:], on_stdout=interrupt)
        assert resume(path).stdout == expected
        return
    rest = GIVEN[8:]
    assert resume(path, stdin=io.BytesIO(rest) if as_file else rest).stdout == expected
    with pytest.raises(UserError, match="all of the run's input: give no more"):
        resume(path, stdin=rest)


def test_input_that_was_read_and_could_not_be_kept_is_named(
    tmp_path: Path, expected: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipe gives nothing twice."""
    path, append = tmp_path / "pipe.curta", Journal.append

    def full(journal: Journal, kind: int, content: bytes) -> Record:
        if kind == Kind.INPUT and content == GIVEN[8:]:
            raise ProgramError("no space")
        return append(journal, kind, content)

    def pipe(*pieces: bytes) -> io.BytesIO:
        source, left = io.BytesIO(), list(pieces)
        source.read1 = lambda size=-1: left.pop(0) if left else b""  # type: ignore[method-assign]
        return source

    monkeypatch.setattr(Journal, "append", full)
    source = pipe(GIVEN[:8], GIVEN[8:])
    with pytest.raises(ProgramError, match="no space, but for 52 bytes of input that had been"):
        REFERENCE.run(MODULE, keep=path, stdin=source, chapter_tokens=300)
    monkeypatch.undo()
    assert resume(path, stdin=pipe(GIVEN[8:])).stdout == expected


@pytest.mark.parametrize("is_written", [False, True])
def test_an_interruption_loses_no_input(
    is_written: bool, tmp_path: Path, expected: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, append = tmp_path / "pipe.curta", Journal.append

    def interrupted(journal: Journal, kind: int, content: bytes) -> Record:
        if kind != Kind.INPUT:
            return append(journal, kind, content)
        monkeypatch.undo()
        if is_written:
            append(journal, kind, content)
        raise KeyboardInterrupt

    monkeypatch.setattr(Journal, "append", interrupted)
    source = io.BufferedReader(Lines(GIVEN))
    with pytest.raises(KeyboardInterrupt):
        REFERENCE.run(MODULE, keep=path, stdin=source, chapter_tokens=300)
    with KeptRun.open(path) as kept:
        assert kept.streams[Kind.INPUT].read(0, 100) == GIVEN
    assert resume(path, stdin=io.BytesIO()).stdout == expected


class Lines(io.RawIOBase):
    """What comes through a pipe."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        size = len(self.content)
        buffer[:size], self.content = self.content, b""
        return size


def test_what_cannot_go_on_is_not_begun(tmp_path: Path) -> None:
    path = tmp_path / "run.curta"
    with pytest.raises(UserError, match="chapter_tokens=-1"):
        REFERENCE.run(MODULE, keep=path, chapter_tokens=-1)
    assert not path.exists()
    with pytest.raises(FileError, match="a run is kept in a regular file"):
        REFERENCE.run(MODULE, keep=os.devnull)
    with pytest.raises(UserError, match="keep_tokens: say where"):
        REFERENCE.run(MODULE, keep_tokens=True)


def test_options_that_come_too_late(whole: Path) -> None:
    with pytest.raises(UserError, match="seed: that was decided when the run was begun"):
        resume(whole, seed=3)
    with pytest.raises(TypeError, match="unexpected option 'sed'"):
        resume(whole, sed=3)  # type: ignore[call-arg]
