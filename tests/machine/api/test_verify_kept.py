"""Kept runs are verified chapter by chapter, in parts, by as many processes as there are."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import combinations, pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curta import Machine
from curta.app.command_line import main
from curta.errors import FileError, ProgramError, UserError, VerifyError
from curta.machine.ids import FIRST_LAST, START_ID, Ids, word_ids
from curta.machine.instance import Instance
from curta.machine.kept.file import KeptRun, Kind
from curta.machine.kept.journal import Journal
from curta.machine.kept.keeping import Ready
from curta.machine.kept.resume import ready_for
from curta.machine.ledger import PlainLedger
from curta.machine.loaded import LoadedProgram
from curta.machine.opening import decode_opening, opening_ids, opening_of, restore
from curta.machine.processes import WorkerSetup
from curta.machine.prompt import decode_prompt
from curta.machine.verify import jobs
from curta.machine.verify.chapters import ChapterPart, check_part, read_chapter, spoken_by_machine
from curta.machine.verify.compared import Compared
from curta.machine.verify.jobs import (
    Checked,
    Cluster,
    VerificationPlan,
    check,
    complete_chapters,
    drawn,
    missed,
    part_length,
    verify_run,
)
from curta.machine.wasm import assemble

Capture = pytest.CaptureFixture[str]
REFERENCE = Machine("reference")
MODULE = assemble("""(module
  (import "curta" "write" (func $write (param i32 i32)))
  (import "curta" "read" (func $read (result i32)))
  (memory 1) (global $sum (mut i32) (i32.const 1))
  (func $sum_to (param i32) (result i32)
    (if (result i32) (i32.eqz (local.get 0)) (then (i32.const 7)) (else
      (i32.add (local.get 0) (call $sum_to (i32.sub (local.get 0) (i32.const 1)))))))
  (func (export "_start") (local i32)
    (loop $next
      (local.set 0 (call $read))
      (if (i32.ge_s (local.get 0) (i32.const 0)) (then
        (global.set $sum (i32.mul (global.get $sum) (i32.const 0x10001)))
        (i32.store (local.get 0) (i32.add (global.get $sum) (call $sum_to (local.get 0))))
        (call $write (i32.const 1)
          (i32.add (i32.const 48) (i32.and (i32.const 63) (i32.load8_u (local.get 0)))))
        (br $next)))))
  (func (export "sum") (param i32) (result i32) (call $sum_to (local.get 0))))""")
GIVEN = bytes(range(10, 40))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that ended, in several chapters."""
    path = tmp_path_factory.mktemp("kept") / "run.curta"
    REFERENCE.run(MODULE, keep=path, stdin=GIVEN, chapter_tokens=700)
    return path


@pytest.fixture(scope="module")
def with_tokens(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, with its tokens."""
    path = tmp_path_factory.mktemp("kept") / "tokens.curta"
    REFERENCE.run(MODULE, keep=path, keep_tokens=True, stdin=GIVEN, chapter_tokens=700)
    return path


@pytest.fixture(scope="module")
def ready(path: Path) -> Ready:
    with KeptRun.open(path) as kept:
        return ready_for(kept)


@pytest.fixture(scope="module")
def said() -> Instance:
    instance = REFERENCE.begin(MODULE, stdin=GIVEN)
    instance.run()
    return instance


def read(path: Path, ready: Ready, length: int) -> list[ChapterPart]:
    parts: list[ChapterPart] = []
    with KeptRun.open(path) as kept:
        for number in range(1, complete_chapters(kept) + 1):
            read_chapter(kept, ready, number, lambda _: length, parts.append)
    return parts


@pytest.mark.parametrize("length", [20, 333, 10**6])
def test_parts_are_the_run_and_begin_as_chapters_do(
    path: Path, with_tokens: Path, ready: Ready, said: Instance, length: int
) -> None:
    parts = read(path, ready, length)
    expected = said.conversation.said()
    assert np.array_equal(np.concatenate([part.said for part in parts]), expected)
    for part, other in zip(parts, read(with_tokens, ready, length), strict=True):
        assert (part.chapter, part.first) == (other.chapter, other.first)
        assert np.array_equal(part.opening, other.opening)
        assert np.array_equal(part.said, other.said)
    for part, following in pairwise(parts):
        before = [part] if part.chapter == following.chapter else of_chapter(parts, part.chapter)
        assert np.array_equal(state_after(ready.program, before), following.opening)
    if length == 10**6:
        assert [part.chapter for part in parts] == list(range(1, len(parts) + 1))
    else:
        sizes = [len(a.said) for a, b in pairwise(parts) if a.chapter == b.chapter]
        assert min(sizes) >= length


def of_chapter(parts: list[ChapterPart], number: int) -> list[ChapterPart]:
    return [part for part in parts if part.chapter == number]


def state_after(program: LoadedProgram, parts: list[ChapterPart]) -> Ids:
    """The definition: what tokens have filed since the first of these opened, said again."""
    ledger, opening = PlainLedger(program), parts[0].opening
    if opening[-1] == START_ID:  # the run begins, as every prompt does
        for segment in decode_prompt(opening, program.operations).segments:
            ledger.give(segment)
    else:
        restore(ledger, decode_opening(program, opening))
    for part in parts:
        ledger.take(part.said)
    return opening_ids(program, opening_of(ledger))


# -- what was tampered with ---------------------------------------------


Change = Callable[[Kind, dict[str, Any] | bytes], "dict[str, Any] | bytes | None"]
"""A record's content, changed; None leaves it out."""


def tampered(source: Path, target: Path, change: Change) -> Path:
    """A copy with other records and right digests."""
    target.unlink(missing_ok=True)
    with Journal.open(source) as journal, Journal.create(target) as copy:
        for record in journal.records:
            kind, content = Kind(record.kind), journal.read(record)
            if kind in (Kind.PAGE, Kind.ENDING):
                size = int.from_bytes(content[:4], "little")
                changed = change(kind, json.loads(content[4 : 4 + size]))
                assert isinstance(changed, dict)
                head = json.dumps(changed).encode()
                content = len(head).to_bytes(4, "little") + head + content[4 + size :]
            else:
                found = change(kind, content)
                assert isinstance(found, bytes)
                content = found
            copy.append(kind, content)
    return target


def one_page(**fields: object) -> Change:
    """Another value in the third page."""
    seen = [0]

    def change(kind: Kind, content: Any) -> Any:
        if kind == Kind.PAGE:
            seen[0] += 1
            if seen[0] == 3:
                return {**content, **fields}
        return content

    return change


def in_ending(**fields: object) -> Change:
    return lambda kind, content: {**content, **fields} if kind == Kind.ENDING else content  # type: ignore[dict-item]


def in_stream(wrong: Kind, place: int) -> Change:
    """One byte of a stream is another one; all of it is in the first record long enough."""
    seen = [0]

    def change(kind: Kind, content: Any) -> Any:
        if kind == wrong and content:
            seen[0] += len(content)
            if seen[0] - len(content) <= place < seen[0]:
                changed = bytearray(content)
                changed[place - (seen[0] - len(content))] ^= 1
                return bytes(changed)
        return content

    return change


CHANGES: dict[str, Change] = {
    "the instruction count": one_page(instructions=12345),
    "the library's last own instruction": one_page(own_at=3),
    "the invocation": one_page(invocation=1),
    "what is wanted": one_page(wanted=[5]),
    "the last tokens": one_page(tail=[FIRST_LAST]),
    "where streams are": one_page(lengths=[9, 9, 0, 0]),
    "an exit code": in_ending(code=1),
    "a trap": in_ending(code=None, trap=["unreachable", ""]),
    "a number of tokens": in_ending(tokens=17),
    "a number of instructions": in_ending(instructions=17),
    "tokens of openings": in_ending(opened=17),
    "a number of chapters": in_ending(chapters=2),
    "where a page is": one_page(start=1),
    "a byte of output": in_stream(Kind.OUTPUT, 11),
    "a byte of input": in_stream(Kind.LAST_INPUT, 11),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_was_tampered_with_is_refused(
    path: Path, ready: Ready, tmp_path: Path, name: str
) -> None:
    same = tampered(path, tmp_path / "same.curta", lambda kind, content: content)
    assert same.read_bytes() == path.read_bytes()
    wrong = tampered(path, tmp_path / "wrong.curta", CHANGES[name])
    assert wrong.read_bytes() != path.read_bytes()
    with pytest.raises((VerifyError, ProgramError, FileError)):
        read(wrong, ready, 10**6)


def test_openings_that_were_tampered_with_are_refused(
    path: Path, ready: Ready, tmp_path: Path
) -> None:
    with Journal.open(path) as journal:
        pages = [record for record in journal.records if record.kind == Kind.PAGE]
        content = journal.read(pages[1])
    size = 4 + int.from_bytes(content[:4], "little")
    opening = np.frombuffer(zlib.decompress(content[size:]), "<u2")
    for place in range(0, len(opening), 7):
        wrong = opening.copy()
        wrong[place] ^= 1
        (tmp_path / "wrong.curta").unlink(missing_ok=True)
        with Journal.open(path) as journal, Journal.create(tmp_path / "wrong.curta") as copy:
            for record in journal.records:
                said = journal.read(record)
                if said == content:
                    said = content[:size] + zlib.compress(wrong.tobytes())
                copy.append(record.kind, said)
        with (
            KeptRun.open(tmp_path / "wrong.curta") as kept,
            pytest.raises(VerifyError, match=r"chapter 3, at .* does not begin with the state"),
        ):
            read_chapter(kept, ready, 2, lambda _: 10**6, lambda part: None)


def test_kept_tokens_that_were_tampered_with_are_refused(
    with_tokens: Path, ready: Ready, tmp_path: Path
) -> None:
    """By what follows from them, or by a level that would have said another one."""
    engine = Machine("hull").engine
    with KeptRun.open(with_tokens) as kept:
        length = kept.streams[Kind.TOKENS].length
    with Journal.create(tmp_path / "more.curta") as copy, Journal.open(with_tokens) as journal:
        for record in journal.records:
            if record.kind == Kind.ENDING:
                copy.append(Kind.TOKENS, b"more")
            copy.append(record.kind, journal.read(record))
    with pytest.raises(VerifyError, match="its tokens end at byte"):
        read(tmp_path / "more.curta", ready, 10**6)
    for place in range(0, length, length // 4):
        wrong = tampered(with_tokens, tmp_path / "wrong.curta", in_stream(Kind.TOKENS, place))
        with pytest.raises((VerifyError, UserError, ProgramError)):  # noqa: PT012
            for part in read(wrong, ready, 10**6):
                assert check_part(engine, ready.program, part) == spoken(part)


def spoken(part: ChapterPart) -> int:
    ids = np.concatenate([part.opening, part.said])
    return int(spoken_by_machine(ids, len(part.opening)).sum())


def test_a_file_does_not_say_how_much_of_it_is_read(
    path: Path, ready: Ready, worker: WorkerSetup, tmp_path: Path
) -> None:
    """Fewer tokens than there are, and what was written behind them is forged."""
    forged = tampered(path, tmp_path / "output.curta", in_stream(Kind.OUTPUT, 25))
    for tokens in (-(10**6), 0, 2000):
        wrong = tampered(forged, tmp_path / "wrong.curta", in_ending(tokens=tokens))
        with KeptRun.open(wrong) as kept, pytest.raises(ProgramError):
            verify_run(kept, ready, plan(range(1, complete_chapters(kept) + 1)), worker)


# -- who verifies ---------------------------------------------


@pytest.fixture
def worker(ready: Ready) -> WorkerSetup:
    return WorkerSetup("hull", ready.program.to_bytes(), False, None, (), os.getcwd())


def plan(chapters: range, length: int = 300, **options: Any) -> VerificationPlan:
    return VerificationPlan("hull", lambda _: length, chapters, **options)


def test_several_processes_find_what_one_does(
    path: Path, ready: Ready, worker: WorkerSetup
) -> None:
    shares: list[float] = []
    with KeptRun.open(path) as kept:
        all_of_them = range(1, complete_chapters(kept) + 1)
        one = verify_run(kept, ready, plan(all_of_them), worker, shares.append)
        two = verify_run(kept, ready, plan(all_of_them, jobs=2), worker)
        some = verify_run(kept, ready, plan(all_of_them, most=900), worker)
    assert replace(one, seconds=0) == replace(two, seconds=0)
    assert one.parts > one.chapters > 3
    assert some.said == 900
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def wrong_from(first: int) -> Callable[[WorkerSetup, ChapterPart], Checked]:
    def checked(worker: WorkerSetup, part: ChapterPart, *_: object) -> Checked:
        result = Checked(part.first, len(part.said), len(part), 1)
        return replace(result, error=VerifyError(f"{part.first}")) if part.first > first else result

    return checked


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_processes_end_with_the_one_that_began_them(tmp_path: Path, number: int) -> None:
    """However it ends, and soon."""
    source, kept = tmp_path / "long.wat", tmp_path / "long.curta"
    source.write_text(
        """(module (func (export "_start") (local i32) (local.set 0 (i32.const 3000000))
          (loop (br_if 0 (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))))"""
    )
    Machine().run(source, keep=kept)
    words = [sys.executable, "-m", "curta", "verify", str(kept), "--jobs", "2"]
    process = subprocess.Popen(words, start_new_session=True, stderr=subprocess.PIPE)
    while len(of_session(process.pid)) < 4:  # the tracker of multiprocessing, and two that check
        time.sleep(0.05)
    time.sleep(2)
    process.send_signal(number)
    process.communicate(timeout=5)
    assert process.returncode == (130 if number == signal.SIGINT else -number)
    for _ in range(100):
        if not of_session(process.pid):
            return
        time.sleep(0.05)
    raise AssertionError(of_session(process.pid))


def of_session(leader: int) -> list[str]:
    """The processes that are left of a session."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state, _, _, session = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
            if int(session) == leader and state != "Z":
                found.append((folder / "cmdline").read_text())
    return found


def test_the_first_difference_is_the_error(
    path: Path, ready: Ready, worker: WorkerSetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = read(path, ready, 300)
    monkeypatch.setattr("curta.machine.verify.jobs.check", wrong_from(parts[4].first))
    with KeptRun.open(path) as kept, pytest.raises(VerifyError, match=f"^{parts[5].first}$"):
        verify_run(kept, ready, plan(range(1, complete_chapters(kept) + 1)), worker)


class Dying(Cluster):
    """Two workers; the first one that checks anything ends on the way."""

    def __init__(self, worker: WorkerSetup) -> None:
        import ray

        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        super().__init__(worker)
        self._check = ray.remote(num_cpus=1, max_retries=3)(dies_once)


def dies_once(worker: WorkerSetup, part: ChapterPart) -> Checked:
    marker = Path(worker.folder) / "died"
    if not marker.exists():
        marker.touch()
        os._exit(1)
    return check(worker, part)


def on_cluster(path: Path, worker: WorkerSetup) -> Compared:
    """In a process of its own: Ray takes signals that wasmtime needs."""
    ways = [str(Path(__file__).parents[3]), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ |= {"RAY_AUTH_MODE": "disabled", "PYTHONPATH": os.pathsep.join(ways)}
    jobs.Cluster = Dying  # type: ignore[misc]
    with KeptRun.open(path) as kept:
        chapters = range(1, complete_chapters(kept) + 1)
        return verify_run(kept, ready_for(kept), plan(chapters, 500, on_cluster=True), worker)


def test_a_cluster_verifies_although_a_worker_ends(
    path: Path, ready: Ready, worker: WorkerSetup, tmp_path: Path
) -> None:
    pytest.importorskip("ray")
    worker = replace(worker, folder=str(tmp_path))
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        found = pool.submit(on_cluster, path, worker).result(timeout=120)
    with KeptRun.open(path) as kept:
        alone = verify_run(kept, ready, plan(range(1, found.chapters + 1), 500), worker)
    assert (tmp_path / "died").exists()
    assert replace(found, seconds=0) == replace(alone, seconds=0)


@pytest.mark.parametrize(("chapters", "sample", "wrong"), [(6, 2, 1), (7, 3, 2), (5, 5, 1)])
def test_the_probability_of_missing_what_is_wrong(chapters: int, sample: int, wrong: int) -> None:
    samples = list(combinations(range(chapters), sample))
    misses = sum(not set(chosen) & set(range(wrong)) for chosen in samples)
    assert missed(chapters, sample, wrong) == pytest.approx(misses / len(samples))
    assert len(drawn(chapters, sample)) == len(set(drawn(chapters, sample))) == sample
    assert drawn(chapters, None) == drawn(chapters, 99) == list(range(1, chapters + 1))


def test_parts_of_softmax_are_as_long_as_they_should_be() -> None:
    length = part_length("plain", None)
    for opening in (10, 1_000, 3_000, 9_000, 30_000):
        assert 2**13 <= opening + length(opening) <= 2**15 + 2**11
    assert part_length("plain", 77)(3) == 77
    assert part_length("hull", None)(1000) + 1000 == 2**18


# -- the command ---------------------------------------------


def test_the_command(path: Path, tmp_path: Path, capsys: Capture) -> None:
    assert main(["verify", str(path), "--level", "hull"]) == 0
    out = capsys.readouterr().out
    assert "are those of the hull level, which read" in out
    assert "wasmtime: not compared, it has no curta.write, curta.read\n" in out

    assert main(["verify", str(path), "--level", "hull", "--sample", "2"]) == 0
    out = capsys.readouterr().out
    assert " that the machine said in chapters " in out
    assert "2 of " in out
    assert "would be missed with a probability of" in out

    for words, message in (
        (["--jobs", "0"], "--jobs 0: expected at least 1"),
        (["--jobs", "2", "--cluster"], "--jobs, --cluster: give one of them"),
        (["--sample", "2", "--tokens", "5"], "--sample, --tokens: give one of them"),
        (["--stdin", "x"], "--stdin: .* is a run that was kept"),
        (["an argument"], "an argument: .* is a run that was kept"),
    ):
        assert main(["verify", str(path), *words]) == 2
        assert re.search(message, capsys.readouterr().err)


def test_a_run_that_did_not_get_far(path: Path, tmp_path: Path, capsys: Capture) -> None:
    unfinished = tmp_path / "unfinished.curta"
    with KeptRun.open(path) as kept:
        first, third = (kept.marks[number].record.place for number in (0, 2))
    unfinished.write_bytes(path.read_bytes()[:first])
    assert main(["verify", str(unfinished)]) == 2
    assert "did not come to the end of its first chapter" in capsys.readouterr().err
    unfinished.write_bytes(path.read_bytes()[: third - 20])
    assert main(["verify", str(unfinished), "--level", "hull"]) == 0
    out = capsys.readouterr().out
    assert "run: kept up to the beginning of chapter 3" in out
    assert "verified, except the chapter that the run is in and what wasmtime would do" in out


def test_words_of_the_host_are_compared(with_tokens: Path, ready: Ready, tmp_path: Path) -> None:
    """Input that was kept, and the input that tokens say, are the same."""
    token = word_ids(GIVEN[0])[0].to_bytes(2, "little")
    with KeptRun.open(with_tokens) as kept:
        stream = kept.streams[Kind.TOKENS]
        place = stream.read(0, stream.length).index(token)
    wrong = tampered(with_tokens, tmp_path / "wrong.curta", in_stream(Kind.TOKENS, place))
    with pytest.raises(VerifyError, match="the host said something else than was kept"):
        read(wrong, ready, 10**6)


@pytest.mark.slow
def test_softmax_reads_a_run_that_is_longer_than_it_is_certified_for(
    tmp_path: Path, capsys: Capture
) -> None:
    pytest.importorskip("torch")
    source, weights, kept = (tmp_path / name for name in ("sum.c", "sum.safetensors", "run.curta"))
    source.write_text(
        "int main(void) { unsigned x = 1; while ((x = x * 69069 + 1) % 9001); return x == 5; }"
    )
    assert main(["bake", str(source), "-o", str(weights)]) == 0
    assert main(["run", str(weights), "--keep", str(kept)]) == 0
    capsys.readouterr()
    assert main(["verify", str(kept), "--level", "plain", "--jobs", "2"]) == 0
    said = capsys.readouterr().out
    found = re.search(r"softmax model, which read ([\d,]+) in ([\d,]+) parts", said)
    assert found is not None
    assert int(found[1].replace(",", "")) > 65_534
    assert int(found[2]) > 8

    other = tmp_path / "other.safetensors"
    source.write_text("int main(void) { return 3; }")
    assert main(["bake", str(source), "-o", str(other)]) == 0
    capsys.readouterr()
    assert main(["resume", str(kept), "--weights", str(other)]) == 2
    assert f"program was in {weights}, and {other} has another" in capsys.readouterr().err
