"""Kept runs: whatever happens to the process or to the file, the run goes on, or is refused."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from curta import Machine, Trap
from curta.app.command_line import main
from curta.errors import FileError, LimitError, ProgramError, UserError
from curta.machine.conversation import Host
from curta.machine.kept.file import Beginning, Invocation, KeptRun, Kind, tokens_from_bytes
from curta.machine.kept.journal import MAGIC, Journal, Record
from curta.machine.kept.keeping import Ready, play
from curta.machine.kept.resume import ready_for, resume
from curta.machine.wasm import assemble

Capture = pytest.CaptureFixture[str]
REFERENCE = Machine("reference")
MODULE = assemble("""(module
  (import "curta" "write" (func $write (param i32 i32)))
  (import "curta" "read" (func $read (result i32)))
  (memory 1)
  (func $spend (param i32) (result i32)
    (if (result i32) (i32.eqz (local.get 0)) (then (i32.const 7)) (else
      (i32.add (local.get 0) (call $spend (i32.sub (local.get 0) (i32.const 1)))))))
  (func (export "_start") (local i32 i32)
    (loop $next
      (local.set 0 (call $read))
      (if (i32.eq (local.get 0) (i32.const 33)) (then unreachable))
      (if (i32.ge_s (local.get 0) (i32.const 0)) (then
        (i32.store8 (local.get 1) (call $spend (i32.and (local.get 0) (i32.const 31))))
        (call $write (i32.const 1)
          (i32.add (i32.const 48) (i32.and (i32.const 63) (i32.load8_u (local.get 1)))))
        (call $write (i32.const 2) (i32.const 65))
        (local.set 1 (i32.add (local.get 1) (i32.const 1)))
        (br $next)))))
  (func (export "add") (param i64 i32) (result i64 i32)
    (i64.add (local.get 0) (i64.extend_i32_u (call $spend (local.get 1)))) (i32.const -1)))""")
GIVEN = bytes(range(40, 100))
OPTIONS = {"stdin": GIVEN, "chapter_tokens": 300}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that ended, in several chapters."""
    path = tmp_path_factory.mktemp("kept") / "run.curta"
    REFERENCE.run(MODULE, keep=path, keep_tokens=True, **OPTIONS)  # type: ignore[arg-type]
    return path


@pytest.fixture(scope="module")
def expected() -> bytes:
    """What it writes."""
    return REFERENCE.run(MODULE, stdin=GIVEN).stdout


@pytest.fixture(scope="module")
def ready(whole: Path) -> Ready:
    with KeptRun.open(whole) as kept:
        return ready_for(kept)


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


def goes_on(path: Path, ready: Ready) -> tuple[bytes, bytes]:
    """What a run that goes on hands on, and all that it wrote."""
    handed: list[bytes] = []
    with KeptRun.open(path, to_write=True) as kept:
        fresh = replace(ready, talker=ready.talker.fresh())
        play(kept, fresh, Host(on_stdout=handed.append))
        output = kept.streams[Kind.OUTPUT]
        return b"".join(handed), output.read(0, output.length)


def test_a_run_that_is_killed_at_any_moment_goes_on(
    whole: Path, ready: Ready, expected: bytes, tmp_path: Path
) -> None:
    """A process that is killed leaves a beginning of the file, which is written in order."""
    content, path = whole.read_bytes(), tmp_path / "cut.curta"
    with KeptRun.open(whole) as kept:
        begun = kept.marks[0].record.place
        ends = sorted({mark.record.place for mark in kept.marks})
    near = {end + step for end in ends for step in (-30, -14, -13, -1, 0, 1)}
    for length in sorted({*range(begun, len(content), 997), *near, len(content) - 1}):
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


def test_what_cannot_go_on_is_not_begun(tmp_path: Path) -> None:
    path = tmp_path / "run.curta"
    with pytest.raises(UserError, match="chapter_tokens=-1"):
        REFERENCE.run(MODULE, keep=path, chapter_tokens=-1)
    assert not path.exists()
    with pytest.raises(FileError, match="a run is kept in a regular file"):
        REFERENCE.run(MODULE, keep=os.devnull)
    with pytest.raises(UserError, match="keep_tokens: say where"):
        REFERENCE.run(MODULE, keep_tokens=True)


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


def test_options_that_come_too_late(whole: Path) -> None:
    with pytest.raises(UserError, match="seed: that was decided when the run was begun"):
        resume(whole, seed=3)
    with pytest.raises(TypeError, match="unexpected option 'sed'"):
        resume(whole, sed=3)  # type: ignore[call-arg]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    path = tmp_path / "program.wasm"
    path.write_bytes(MODULE)
    return str(path)


def test_the_commands(file: str, tmp_path: Path, capsys: Capture) -> None:
    kept = str(tmp_path / "run.curta")
    begin = ["run", file, "--chapter-tokens", "300", "--keep", kept]
    assert main([*begin, "--invoke", "add", "--", "4000000000", "3"]) == 0
    assert capsys.readouterr().out == "4000000013\n-1\n"
    assert main(["resume", kept]) == 0
    said = capsys.readouterr()
    assert said.out == "4000000013\n-1\n"
    assert f"{kept}: at its end, in chapter 1" in said.err
    assert main(["run", kept]) == 2
    assert f"`curta resume {kept}` goes on with it" in capsys.readouterr().err
    assert main([*begin, "--trace"]) == 2
    assert "--trace shows a run, --keep keeps it" in capsys.readouterr().err

    limited = str(tmp_path / "limited.curta")
    begin = [*begin[:-1], limited, "--stdin", "0123456789", "--max-tokens", "1500"]
    assert main(begin) == 1
    said = capsys.readouterr()
    assert "--max-tokens); kept up to the beginning of chapter 3: `curta resume" in said.err
    assert f"`curta resume {limited} --max-tokens 3000` goes on from there" in said.err
    assert main(["resume", limited, "--stdin", "more"]) == 2
    assert "has all of the run's input" in capsys.readouterr().err
    assert main(["resume", limited, "--max-tokens", "100000", "--stats", "none"]) == 0
    rest = capsys.readouterr()
    assert (
        f"{len(said.out)} bytes of output were written before and are skipped (--whole" in rest.err
    )
    assert main(["resume", limited, "--whole", "--stats", "none"]) == 0
    again = capsys.readouterr()
    assert again.out == said.out + rest.out
    assert again.err.endswith("A" * len(again.out))
    assert main(["resume", limited, "--max-tokens", "100000"]) == 2
    assert "is at its end already" in capsys.readouterr().err
    assert main(["run", file, "--keep", ""]) == 2
    assert "--keep: give the file" in capsys.readouterr().err
    assert main(["run", file, "--keep-tokens"]) == 2
    assert "--keep-tokens: say where the run is to be kept" in capsys.readouterr().err
    assert main(["run", file, "--stdin", "0123456789"]) == 0
    assert capsys.readouterr().out == said.out + rest.out


def curta(*words: str, out: Path, mode: str = "ab") -> subprocess.Popen[bytes]:
    with open(out, mode) as file:
        return subprocess.Popen(
            [sys.executable, "-m", "curta", *words],
            stdout=file,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
        )


def test_a_file_gets_the_output_that_it_lacks(tmp_path: Path, whole: Path, expected: bytes) -> None:
    out = tmp_path / "out"
    for there in (b"", expected[:5], expected):
        out.write_bytes(there)
        process = curta("resume", str(whole), "--level", "native", out=out)
        assert process.communicate(timeout=60)[1].startswith(str(whole).encode())
        assert out.read_bytes() == expected
    out.write_bytes(b"a log of other things\n")
    process = curta("resume", str(whole), "--level", "native", out=out)
    assert b"60 bytes of output were written before" in process.communicate(timeout=60)[1]
    assert out.read_bytes() == b"a log of other things\n"


def test_a_file_gets_the_results_that_it_lacks(file: str, tmp_path: Path, capsys: Capture) -> None:
    kept, out, results = str(tmp_path / "run.curta"), tmp_path / "out", b"4000000013\n-1\n"
    assert main(["run", file, "--keep", kept, "--invoke", "add", "--", "4000000000", "3"]) == 0
    for there in (results[:4], results):
        out.write_bytes(there)
        process = curta("resume", kept, out=out)
        assert b"at its end" in process.communicate(timeout=60)[1]
        assert out.read_bytes() == results
    process = curta("resume", kept, out=Path(kept))
    assert b"is where the output goes to" in process.communicate(timeout=60)[1]
    capsys.readouterr()


LONG = """(module
  (import "curta" "write" (func $write (param i32 i32)))
  (import "curta" "read" (func $read (result i32)))
  (func (export "_start") (local $left i32) (local $number i32)
    (local.set $left (i32.mul (i32.const 20000) (i32.mul (call $read) (call $read))))
    (loop $next
      (local.set $number
        (i32.add (i32.mul (local.get $number) (i32.const 1664525)) (i32.const 1013904223)))
      (if (i32.eqz (i32.rem_u (local.get $left) (i32.const 1000))) (then
        (call $write (i32.const 1)
          (i32.add (i32.const 48) (i32.and (local.get $number) (i32.const 63))))))
      (br_if $next (local.tee $left (i32.sub (local.get $left) (i32.const 1)))))))"""


def killed(folder: Path, size: bytes, kills: int) -> None:
    """Begin a run, kill it again and again, and let it come to its end."""
    source, kept, out = folder / "long.wat", folder / "run.curta", folder / "out"
    source.write_text(LONG)
    expected = Machine().run(source, stdin=size).stdout
    (folder / "in").write_bytes(size)
    begin = ["run", str(source), "--stdin-file", str(folder / "in"), "--keep", str(kept)]
    begin += ["--chapter-tokens", "200000"]
    rng = np.random.default_rng(5)
    done = 0
    while True:
        is_begun = kept.exists() and kept.stat().st_size > len(MAGIC)
        process = curta(*(["resume", str(kept)] if is_begun else begin), out=out)
        while done < kills and process.poll() is None:
            size = kept.stat().st_size if kept.exists() else 0
            time.sleep(float(rng.uniform(0, 0.02)))
            if kept.exists() and kept.stat().st_size > size > 0:  # it is under way
                time.sleep(float(rng.uniform(0, 0.3)))
                process.send_signal(signal.SIGKILL)
                done += 1
                break
        error = process.communicate(timeout=300)[1]
        assert expected.startswith(out.read_bytes())
        if process.returncode == 0:
            break
        assert process.returncode == -signal.SIGKILL, error
    assert out.read_bytes() == expected
    assert done == kills


def test_a_process_that_is_killed(tmp_path: Path) -> None:
    killed(tmp_path, bytes([100, 1]), 2)


@pytest.mark.slow
def test_a_process_that_is_killed_200_times(tmp_path: Path) -> None:
    killed(tmp_path, bytes([255, 60]), 200)
