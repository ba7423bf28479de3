"""Kept runs are verified chapter by chapter, in parts, by as many processes as there are."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import combinations, pairwise
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

from curta import Machine
from curta.app.command_line import main
from curta.errors import VerifyError
from curta.machine.ids import START_ID, Ids
from curta.machine.instance import Instance
from curta.machine.kept.file import KeptRun
from curta.machine.kept.keeping import Ready
from curta.machine.kept.resume import ready_for
from curta.machine.ledger import PlainLedger
from curta.machine.loaded import LoadedProgram
from curta.machine.opening import decode_opening, opening_ids, opening_of, restore
from curta.machine.processes import WorkerSetup
from curta.machine.prompt import decode_prompt
from curta.machine.verify import jobs
from curta.machine.verify.chapters import ChapterPart
from curta.machine.verify.compared import Compared
from curta.machine.verify.jobs import (
    Checked,
    Cluster,
    check,
    complete_chapters,
    drawn,
    missed,
    part_length,
    verify_run,
)
from tests.machine.verify.kept_chapters import GIVEN, MODULE, REFERENCE, plan, read

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def said() -> Instance:
    instance = REFERENCE.begin(MODULE, stdin=GIVEN)
    instance.run()
    return instance


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


@pytest.mark.slow
def test_all_parts_are_verified_or_as_many_as_are_asked_for(
    path: Path, ready: Ready, worker: WorkerSetup
) -> None:
    shares: list[float] = []
    with KeptRun.open(path) as kept:
        all_of_them = range(1, complete_chapters(kept) + 1)
        one = verify_run(kept, ready, plan(all_of_them), worker, shares.append)
        some = verify_run(kept, ready, plan(all_of_them, most=900), worker)
    assert one.parts > one.chapters > 3
    assert some.said == 900
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


@pytest.mark.slow  # each loads the machine; `curta verify --jobs 2` of the README runs by default
def test_several_processes_find_what_one_does(
    path: Path, ready: Ready, worker: WorkerSetup
) -> None:
    with KeptRun.open(path) as kept:
        all_of_them = range(1, complete_chapters(kept) + 1)
        one = verify_run(kept, ready, plan(all_of_them), worker)
        two = verify_run(kept, ready, plan(all_of_them, jobs=2), worker)
    assert replace(one, seconds=0) == replace(two, seconds=0)


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


@pytest.mark.slow  # Ray starts, twice the machine is loaded
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
