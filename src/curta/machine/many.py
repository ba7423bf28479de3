"""One program, many inputs: conversations on all cores.

This process runs them, and others for the other cores, in batches so large that the way there costs
next to nothing; results come in their order. A run that fails is a result, too.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, cast

from curta.engine import Engine
from curta.errors import ProgramError, UserError
from curta.machine.conversation import Figures
from curta.machine.ids import Ids
from curta.machine.loaded import LoadedProgram
from curta.machine.processes import WorkerSetup, prepared, processes
from curta.machine.run import (
    Run,
    TalkOptions,
    check_options,
    converse,
    host_segments,
    run_to_end,
    start,
    talker_of,
)
from curta.machine.trace import Trace

SECONDS_OF_A_BATCH = 0.05
LARGEST_BATCH = 1024
AHEAD = 2
"""Batches for each other process that are waiting or being run."""
HELD = 16
"""Batches for each other process that wait, most of them over, for one that is to come first."""
RunInput = bytes | Mapping[str, Any]
"""An input: bytes for stdin, or options of a run (`stdin`, `args`, `env`, `seed`, ...)."""
Outcome = Run | ProgramError
RunRecord = tuple[bytes, bytes, int, Figures, Ids] | ProgramError
BatchRecords = tuple[list[RunRecord], float]
OF_A_RUN = ("stdin", "args", "env", "name", "seed", "max_tokens", "chapter_tokens", "keep_trace")
COPIES: dict[str, Callable[[Any], object]] = {"stdin": bytes, "args": tuple, "env": dict}
"""Of an input, what may be changed once it was given."""


@dataclass(frozen=True, slots=True)
class SharedSetup:
    """What is the same for all runs."""

    worker: WorkerSetup
    name: str
    max_memory: int
    options: TalkOptions


def run_many(
    engine: Engine,
    program: LoadedProgram,
    shared: SharedSetup,
    inputs: Iterable[RunInput],
    jobs: int | None,
) -> Iterator[Outcome]:
    """What comes of each input, in their order."""
    count = os.cpu_count() or 1 if jobs is None else jobs
    if not isinstance(count, int) or count < 1:
        raise UserError(f"jobs={jobs}: expected at least one process")
    run_here = partial(run_batch, engine, program, shared)
    batches = Batches(map(checked, inputs), largest=LARGEST_BATCH if count > 1 else 1)
    return _outcomes(program, run_here, shared, batches, count - 1)


def checked(given: RunInput) -> TalkOptions:
    """An input as options, as it is now; those with which another process could do nothing are
    refused.
    """
    if isinstance(given, bytes | bytearray | memoryview):
        return {"stdin": bytes(given)}
    if not isinstance(given, Mapping):
        raise UserError(f"{given!r}: an input is bytes, or a mapping such as {{'stdin': b'...'}}")
    for name in given:
        if name not in OF_A_RUN:
            raise UserError(f"{name}: an input can say {', '.join(OF_A_RUN)}")
    options = dict(given)
    check_options(options, TalkOptions)
    if not isinstance(options.get("stdin") or b"", bytes | bytearray | memoryview):
        raise UserError("stdin: many runs take bytes, files only one by one")
    for name, copied in COPIES.items():
        if options.get(name) is not None:
            options[name] = copied(options[name])
    host_segments(options.get("args", ()), options.get("env") or {}, options.get("seed"))
    return cast(TalkOptions, options)


class Batches:
    """Inputs, some at a time; an error of theirs comes after what came before it."""

    def __init__(self, inputs: Iterator[TalkOptions], largest: int) -> None:
        self._inputs, self._largest = inputs, largest
        self._failure: Exception | None = None
        self._size = 1

    def take(self) -> list[TalkOptions]:
        batch = list[TalkOptions]()
        try:
            if self._failure is None:
                batch.extend(islice(self._inputs, self._size))
        except Exception as error:
            self._failure = error
        return batch

    def resize(self, runs: int, seconds: float) -> None:
        """Make them larger or smaller, since so many runs took so long."""
        self._size = max(1, min(int(SECONDS_OF_A_BATCH * runs / seconds), self._largest))

    def finish(self) -> None:
        if self._failure is not None:
            raise self._failure


def _outcomes(
    program: LoadedProgram,
    run_here: Callable[[Sequence[TalkOptions]], BatchRecords],
    shared: SharedSetup,
    batches: Batches,
    others: int,
) -> Iterator[Outcome]:
    """Of batches that this process runs, and so many others.

    It begins while they start, and runs a batch whenever what is to come next is not there yet.
    That may be there before the batch is over, and others may have nothing left to do by then.
    """
    waiting: deque[Future[BatchRecords]] = deque()
    with ExitStack() as stack:
        pool: ProcessPoolExecutor | None = None
        while True:
            is_next_there = waiting and waiting[0].done()
            is_full = len(waiting) > HELD * others
            own = [] if is_next_there or is_full else batches.take()
            here = Future[BatchRecords]()
            if own:
                waiting.append(here)
            while sum(not one.done() for one in waiting if one is not here) < AHEAD * others:
                if not (batch := batches.take()):
                    break
                pool = pool or stack.enter_context(_pool(others))
                waiting.append(pool.submit(run_elsewhere, shared, batch))
            if own:
                records, seconds = run_here(own)
                batches.resize(len(records), seconds)
                here.set_result((records, seconds))
            elif waiting:
                records, seconds = waiting.popleft().result()
                batches.resize(len(records), seconds)
                yield from (outcome(program, record) for record in records)
            else:
                return batches.finish()


@contextmanager
def _pool(count: int) -> Iterator[ProcessPoolExecutor]:
    pool, alive = processes(count)
    try:
        yield pool
    except BrokenProcessPool as error:
        raise ProgramError(
            "a process that ran conversations ended: memory may be short, or, in a script, the "
            'call has to stand behind `if __name__ == "__main__":`'
        ) from error
    finally:
        alive.close()
        pool.shutdown(cancel_futures=True)


def run_elsewhere(shared: SharedSetup, batch: Sequence[TalkOptions]) -> BatchRecords:
    """In another process, what comes of some inputs."""
    engine, program = prepared(shared.worker)
    return run_batch(engine, program, shared, batch)


def run_batch(
    engine: Engine, program: LoadedProgram, shared: SharedSetup, batch: Sequence[TalkOptions]
) -> BatchRecords:
    """What comes of some inputs, in this process, and how long it took."""
    started = time.perf_counter()
    records: list[RunRecord] = []
    for own in batch:
        options: TalkOptions = {"keep_trace": False, **shared.options, **own}
        try:
            instance = converse(
                partial(start, talker_of(engine)), program, shared.name, options, shared.max_memory
            )
            with closing(instance.conversation.talker):
                run = run_to_end(instance)
        except ProgramError as error:
            records.append(error)
        else:
            records.append((run.stdout, run.stderr, run.exit_code, run.figures, run.trace.ids))
    return records, time.perf_counter() - started


def outcome(program: LoadedProgram, record: RunRecord) -> Outcome:
    if isinstance(record, ProgramError):
        return record
    stdout, stderr, code, figures, ids = record
    trace = Trace(program.tokens)
    trace.append(ids)
    return Run(stdout, stderr, code, figures, trace)
