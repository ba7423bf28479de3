"""One program, many inputs: conversations on all cores.

Inputs go to processes in batches, so large that the way there costs next to nothing; results come
back in their order. A run that fails is a result, too.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, cast

from curta.errors import ProgramError, UserError
from curta.machine.conversation import Figures
from curta.machine.ids import Ids
from curta.machine.kept.keeping import Ready
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

SECONDS_OF_A_BATCH = 0.2
LARGEST_BATCH = 1024
AHEAD = 2
"""Batches for each process that are waiting or being run."""
RunInput = bytes | Mapping[str, Any]
"""An input: bytes for stdin, or options of a run (`stdin`, `args`, `env`, `seed`, ...)."""
Outcome = Run | ProgramError
RunRecord = tuple[bytes, bytes, int, Figures, Ids] | ProgramError
OF_A_RUN = ("stdin", "args", "env", "name", "seed", "max_tokens", "chapter_tokens", "keep_trace")


@dataclass(frozen=True, slots=True)
class SharedSetup:
    """What is the same for all runs."""

    worker: WorkerSetup
    name: str
    max_memory: int
    options: TalkOptions


def run_many(
    ready: Ready, shared: SharedSetup, inputs: Iterable[RunInput], jobs: int | None
) -> Iterator[Outcome]:
    """What comes of each input, in their order."""
    count = os.cpu_count() or 1 if jobs is None else jobs
    if not isinstance(count, int) or count < 1:
        raise UserError(f"jobs={jobs}: expected at least one process")
    all_options = map(checked, inputs)
    if count == 1:
        return (
            outcome(ready, record)
            for options in all_options
            for record in run_batch(shared, [options])[0]
        )
    return _in_processes(ready, shared, all_options, count)


def checked(given: RunInput) -> TalkOptions:
    """An input as options; those with which another process could do nothing are refused."""
    if isinstance(given, bytes | bytearray | memoryview):
        return {"stdin": bytes(given)}
    if not isinstance(given, Mapping):
        raise UserError(f"{given!r}: an input is bytes, or a mapping such as {{'stdin': b'...'}}")
    for name in given:
        if name not in OF_A_RUN:
            raise UserError(f"{name}: an input can say {', '.join(OF_A_RUN)}")
    options = cast(TalkOptions, dict(given))
    check_options(options, TalkOptions)
    if not isinstance(options.get("stdin") or b"", bytes | bytearray | memoryview):
        raise UserError("stdin: many runs take bytes, files only one by one")
    host_segments(options.get("args", ()), options.get("env") or {}, options.get("seed"))
    return options


def _in_processes(
    ready: Ready, shared: SharedSetup, all_options: Iterator[TalkOptions], count: int
) -> Iterator[Outcome]:
    pool, alive = processes(count)
    waiting: deque[Future[tuple[list[RunRecord], float]]] = deque()
    size, failure = 1, None
    try:
        while True:
            while failure is None and len(waiting) < AHEAD * count:
                batch = list[TalkOptions]()
                try:
                    batch.extend(islice(all_options, size))
                except Exception as error:  # of the inputs: what came before them comes first
                    failure = error
                if not batch:
                    break
                waiting.append(pool.submit(run_batch, shared, batch))
            if not waiting and failure is not None:
                raise failure
            if not waiting:
                return
            records, seconds = waiting.popleft().result()
            size = max(1, min(int(SECONDS_OF_A_BATCH * len(records) / seconds), LARGEST_BATCH))
            yield from (outcome(ready, record) for record in records)
    except BrokenProcessPool as error:
        raise ProgramError(
            "a process that ran conversations ended: memory may be short, or, in a script, the "
            'call has to stand behind `if __name__ == "__main__":`'
        ) from error
    finally:
        alive.close()
        pool.shutdown(cancel_futures=True)


def run_batch(shared: SharedSetup, batch: Sequence[TalkOptions]) -> tuple[list[RunRecord], float]:
    """What comes of some inputs, in this process, and how long it took."""
    engine, program = prepared(shared.worker)
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


def outcome(ready: Ready, record: RunRecord) -> Outcome:
    if isinstance(record, ProgramError):
        return record
    stdout, stderr, code, figures, ids = record
    trace = Trace(ready.program.tokens)
    trace.append(ids)
    return Run(stdout, stderr, code, figures, trace)
