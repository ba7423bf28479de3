"""A kept run, verified by one process, by several, or by a Ray cluster.

One process has the chapters said again, which is fast, and cuts them into parts; the parts are
independent of one another, and checking them is what takes the time.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from random import SystemRandom
from typing import Any, Protocol

from curta.errors import CurtaError, ProgramError, UserError
from curta.machine.kept.file import KeptRun
from curta.machine.kept.journal import command
from curta.machine.kept.keeping import Ready, segments
from curta.machine.processes import WorkerSetup, prepared, processes
from curta.machine.request import Replay, ReplayLevel
from curta.machine.verify.chapters import ChapterPart, Length, check_part, read_chapter
from curta.machine.verify.compared import Compared

SOFTMAX_TOKENS = 20_000
"""Softmax looks at all pairs of tokens: up to here that is a matter of a minute."""
AHEAD = 2
"""Parts for each process that are waiting or being checked."""
TOLD_SECONDS = 0.5
"""How long one waits for a part before telling that it is still being checked."""
RETRIES = 3
"""So many processes of a cluster may end under one part."""
SHORTEST_HULL, OPENINGS = 1 << 18, 8
"""Tokens of a part, its opening included; and how many times its opening."""
SHORTEST_SOFTMAX, LONGEST_SOFTMAX = 1 << 13, 1 << 15
"""Tokens of a part, its opening included: softmax looks at all pairs of them."""
Progress = Callable[[float], object]


@dataclass(frozen=True, slots=True)
class Checked:
    """What came of a part."""

    first: int
    said: int
    read: int
    spoken: int = 0
    error: CurtaError | None = None


# -- what is read ---------------------------------------------


def part_length(level: ReplayLevel, chosen: int | None) -> Length:
    """How many tokens parts have behind their openings."""
    if chosen is not None:
        return lambda opening: max(chosen, 1)
    if level == "hull":
        return lambda opening: max(SHORTEST_HULL, OPENINGS * opening) - opening
    return _softmax_length


def _softmax_length(opening: int) -> int:
    """The opening is read anew with every part: up to a quarter of it, if that is possible."""
    length = SHORTEST_SOFTMAX
    while length < min(4 * opening, LONGEST_SOFTMAX):
        length *= 2
    return max(length - opening, SHORTEST_SOFTMAX // 4)


def complete_chapters(kept: KeptRun) -> int:
    """The last one of a run that did not end is not kept."""
    return len(kept.marks) + (kept.ending is not None)


def drawn(chapters: int, sample: int | None) -> list[int]:
    """Numbers of chapters: all, or some that nobody could foresee."""
    numbers = range(1, chapters + 1)
    if sample is None or sample >= chapters:
        return list(numbers)
    return sorted(SystemRandom().sample(numbers, sample))


def missed(chapters: int, sample: int, wrong: int) -> float:
    """How probable it is that a sample has none of the wrong chapters."""
    found = 1.0
    for number in range(wrong):
        found *= max(chapters - sample - number, 0) / (chapters - number)
    return found


def said_tokens(kept: KeptRun, first: int, numbers: Sequence[int]) -> int:
    """How many tokens chapters have behind their openings; `first` is the first one's opening."""
    ends = [mark.chapter.start for mark in kept.marks]
    ends += [kept.ending.tokens] if kept.ending is not None else []
    begins = [first, *(mark.chapter.start + mark.chapter.opening for mark in kept.marks)]
    return sum(ends[number - 1] - begins[number - 1] for number in numbers)


def planned(
    replay: Replay, kept: KeptRun, ready: Ready, chapter_tokens: int | None
) -> VerificationPlan:
    """Softmax for a run that is short enough, hull caches for others: all of it."""
    chapters = complete_chapters(kept)
    if not chapters:
        raise UserError(
            f"{kept.path}: the run did not come to the end of its first chapter, so there is "
            f"nothing to verify yet; `{command('resume', kept.path)}` goes on with it"
        )
    opening = kept.chapters(ready.program, segments(kept.beginning))[0].opening
    numbers = drawn(chapters, replay.sample)
    total, most = said_tokens(kept, opening, numbers), None
    if replay.tokens is not None and replay.tokens < total + opening:
        most = replay.tokens - opening
        if most <= 0:
            raise UserError(
                f"the prompt alone, which holds the program, has {opening:,} tokens, so that among "
                f"the first {replay.tokens:,} there is nothing to compare: --tokens "
                f"{opening + 1_000} or more"
            )
    too_long = replay.level is None and min(total, most or total) + opening > SOFTMAX_TOKENS
    level: ReplayLevel = replay.level or ("hull" if too_long else "plain")
    length = part_length(level, chapter_tokens)
    return VerificationPlan(
        level, length, numbers, most, opening, replay.jobs, replay.cluster, too_long
    )


# -- who checks ---------------------------------------------


def check(setup: WorkerSetup, part: ChapterPart, on_progress: Progress | None = None) -> Checked:
    """A part, in whichever process; what is wrong with it is an answer, too."""
    result = Checked(part.first, len(part.said), len(part))
    try:
        engine, program = prepared(setup)
        return replace(result, spoken=check_part(engine, program, part, on_progress))
    except CurtaError as error:
        return replace(result, error=error)


class WorkerPool(Protocol):
    """Processes that check parts."""

    @property
    def room(self) -> int:
        """How many parts can be with them at once."""

    def submit(self, part: ChapterPart) -> Any:
        """Have a part checked."""

    def some(self, handles: Sequence[Any]) -> Sequence[tuple[Any, Checked]]:
        """Wait for one of them, but not for long, and take those that are done."""

    def close(self) -> None:
        """There is nothing more to check."""


class ThisProcess:
    """Parts are checked at once."""

    room = 0

    def __init__(self, setup: WorkerSetup, on_progress: Progress) -> None:
        self._setup = setup
        self._on_progress = on_progress

    def submit(self, part: ChapterPart) -> Checked:
        return check(self._setup, part, lambda share: self._on_progress(share * len(part.said)))

    def some(self, handles: Sequence[Checked]) -> Sequence[tuple[Checked, Checked]]:
        return [(handle, handle) for handle in handles]

    def close(self) -> None:
        """There is nothing to end."""


class Processes:
    """Processes of this computer. They end with this one, however it ends."""

    def __init__(self, setup: WorkerSetup, jobs: int) -> None:
        threads = max(1, (os.cpu_count() or 1) // jobs)
        self._setup = replace(setup, threads=threads)
        self._pool, self._alive = processes(jobs)
        self.room = AHEAD * jobs

    def submit(self, part: ChapterPart) -> Future[Checked]:
        try:
            return self._pool.submit(check, self._setup, part)
        except BrokenProcessPool as error:
            raise _ended() from error

    def some(self, handles: Sequence[Future[Checked]]) -> list[tuple[Future[Checked], Checked]]:
        done, _ = wait(handles, TOLD_SECONDS, FIRST_COMPLETED)
        try:
            return [(handle, handle.result()) for handle in done]
        except BrokenProcessPool as error:
            raise _ended() from error

    def close(self) -> None:
        self._alive.close()
        self._pool.shutdown(cancel_futures=True)


def _ended() -> ProgramError:
    return ProgramError(
        "a process that verified was ended from outside, perhaps because memory was short: take "
        "fewer --jobs, or shorter parts (--chapter-tokens)"
    )


class Cluster:
    """Tasks of a Ray cluster; a part whose process ends is given to another one."""

    def __init__(self, setup: WorkerSetup) -> None:
        try:
            import ray
        except ImportError as error:
            raise UserError(
                "--cluster needs Ray: pip install 'curta[cluster]', or take --jobs"
            ) from error
        self._ray: Any = ray
        self._started = not ray.is_initialized()
        if self._started:
            ray.init(log_to_driver=False, logging_level=logging.ERROR)
        self._setup = ray.put(replace(setup, threads=1))
        self._check = ray.remote(num_cpus=1, max_retries=RETRIES)(check)
        self.room = AHEAD * max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def submit(self, part: ChapterPart) -> Any:
        return self._check.remote(self._setup, part)

    def some(self, handles: Sequence[Any]) -> list[tuple[Any, Checked]]:
        done, _ = self._ray.wait(list(handles), num_returns=1, timeout=TOLD_SECONDS)
        try:
            return [(handle, self._ray.get(handle)) for handle in done]
        except self._ray.exceptions.RayError as error:
            raise ProgramError(f"the cluster did not check a part: {error}") from error

    def close(self) -> None:
        if self._started:
            self._ray.shutdown()


# -- all of it ---------------------------------------------


@dataclass(frozen=True, slots=True)
class VerificationPlan:
    """What is verified, and by whom."""

    level: ReplayLevel
    length: Length
    chapters: Sequence[int]
    most: int | None = None
    """So many tokens of the run are read, openings not counted; None for all."""
    opening: int = 0
    """Of the run: its prompt."""
    jobs: int = 1
    on_cluster: bool = False
    is_too_long: bool = False
    """For softmax, which is why that was not taken."""

    def is_whole(self, kept: KeptRun) -> bool:
        """Whether it is all of a run."""
        return len(self.chapters) == complete_chapters(kept)


def verify_run(
    kept: KeptRun,
    ready: Ready,
    plan: VerificationPlan,
    setup: WorkerSetup,
    on_progress: Progress | None = None,
) -> Compared:
    """Check chapters of a run; the error is that of the first difference."""
    started = time.perf_counter()
    opening = kept.chapters(ready.program, segments(kept.beginning))[0].opening
    total = said_tokens(kept, opening, plan.chapters)
    checks = _Checks(plan, setup, total, on_progress)
    with closing(checks.pool):
        with suppress(_Enough):
            for number in plan.chapters:
                read_chapter(kept, ready, number, plan.length, checks.add)
        checks.finish()
    return checks.compared(time.perf_counter() - started)


class _Enough(Exception):  # noqa: N818 (it is no error)
    """Nothing more has to be read."""


class _Checks:
    """What was given to be checked, and what came of it."""

    def __init__(
        self, plan: VerificationPlan, setup: WorkerSetup, total: int, on_progress: Progress | None
    ) -> None:
        self.plan = plan
        self.total = total if plan.most is None else min(total, plan.most)
        """What the file says that there is: for telling how far it is, and nothing else."""
        self.on_progress = on_progress
        self.pool: WorkerPool = ThisProcess(setup, self._come)
        if plan.on_cluster:
            self.pool = Cluster(setup)
        elif plan.jobs > 1:
            self.pool = Processes(setup, plan.jobs)
        self.given = 0
        self.waiting: list[Any] = []
        self.done: list[Checked] = []

    def add(self, part: ChapterPart) -> None:
        """Have a part checked, once there is room for it."""
        if (most := self.plan.most) is not None:
            if self.given >= most:
                raise _Enough
            part = replace(part, said=part.said[: most - self.given])
        self.given += len(part.said)
        self.waiting.append(self.pool.submit(part))
        while len(self.waiting) > self.pool.room:
            self._take()
        if self._failed():
            raise _Enough

    def finish(self) -> None:
        """Wait for what is being checked; an error if something is wrong."""
        while self.waiting:
            self._take()
        if failed := self._failed():
            error = min(failed, key=lambda result: result.first).error
            assert error is not None
            raise error

    def _take(self) -> None:
        for handle, result in self.pool.some(self.waiting):
            self.waiting.remove(handle)
            self.done.append(result)
        self._come()

    def _failed(self) -> list[Checked]:
        return [result for result in self.done if result.error is not None]

    def _come(self, more: float = 0.0) -> None:
        """Tell how far it is, with so many tokens more of a part that is being read."""
        if self.on_progress is not None:
            said = sum(result.said for result in self.done)
            self.on_progress(min((said + more) / max(self.total, 1), 1.0))

    def compared(self, seconds: float) -> Compared:
        read, said, spoken = (
            sum(getattr(result, name) for result in self.done)
            for name in ("read", "said", "spoken")
        )
        chapters = len(self.plan.chapters)
        return Compared(self.plan.level, chapters, len(self.done), read, said, spoken, seconds)
