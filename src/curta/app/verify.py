"""`curta verify`: a run, checked against the plain softmax model and against wasmtime."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field, replace
from importlib.util import find_spec

from curta.errors import UserError
from curta.machine.request import Replay, ReplayLevel, Request
from curta.machine.verify.compared import Compared
from curta.options import option
from curta.terminal import AsJson, Progress, Screen, write_json

STEPS = 100
"""Of the bar that shows how much is compared."""


@dataclass(frozen=True)
class Options(AsJson, Request):
    """Check a run: PROG is a file as for curta run, which is run once, or a run that was kept
    (curta run --keep). Another level of the engine replays the conversation and has to say every
    token that the machine said, and wasmtime has to write the same and to end the same way. The
    first difference is named, and the exit code is 1.

    weights: where the weights of a kept run are now
    """

    replay: Replay = field(default_factory=Replay)
    weights: str | None = option(None, metavar="FILE")


@dataclass(frozen=True)
class Report:
    """What was compared and is the same.

    run:         how long the conversation is
    chapters:    that it has, as far as they are complete
    compared:    with another level
    on_wasmtime: whether wasmtime did the same
    wasmtime:    what it did, or why that was not compared
    verdict:     verified, and what that does not cover
    """

    run: str
    chapters: int
    compared: Compared
    on_wasmtime: bool
    wasmtime: str
    verdict: str


def run(options: Options) -> int:
    """Run, replay, run elsewhere; a ProgramError names the first difference."""
    # What NumPy multiplies here is small: several threads on it only wait for one another. It looks
    # at this once, when imported. (PyTorch has the whole sequence at once, and takes all cores.)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Its threads wait for one another often: asleep, or they would keep a busy computer's cores.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    from curta.machine.kept.requested import kept_run
    from curta.machine.processes import worker_setup
    from curta.machine.verify import jobs, on_wasmtime, wording
    from curta.machine.verify.chapters import NAMES

    if options.chapter_tokens is not None and options.chapter_tokens < 1:
        raise UserError(f"--chapter-tokens {options.chapter_tokens}: expected at least 1")
    replay = replace(options.replay, level=level_there_is(options.replay.level))
    screen = Screen(show_output=False)

    def say(line: str) -> str:
        screen.clear()
        if not options.json:
            print(line, flush=True)
        return line

    try:
        run = kept_run(options, options.weights, screen)
        with run as (kept, ready, extensions):
            say(f"run: {wording.of_run(kept)}")
            plan = jobs.planned(replay, kept, ready, options.chapter_tokens)
            # First, because it is quick, and because Ray takes the signals that wasmtime lives on.
            agreed, elsewhere = False, "not compared with a part of a run"
            if kept.ending is not None and plan.is_whole(kept):
                screen.draw("wasmtime")
                agreed, elsewhere = on_wasmtime.compare_kept(kept, ready, extensions)
            screen.clear()
            name, work = NAMES[plan.level], worker_setup(ready, plan.level)
            with Progress(lines=False) as progress:
                progress.show(name, 0, STEPS, "tokens are compared")
                compared = jobs.verify_run(
                    kept, ready, plan, work, lambda share: progress.show(name, share * STEPS, STEPS)
                )
            say(wording.of_tokens(compared, plan, kept))
            say(f"wasmtime: {elsewhere}")
            verdict = say(wording.verdict(kept, plan, on_wasmtime=agreed))
            if options.json:
                length, chapters = wording.of_run(kept), jobs.complete_chapters(kept)
                write_json(Report(length, chapters, compared, agreed, elsewhere, verdict))
    finally:
        screen.clear()
    return 0


def level_there_is(asked: ReplayLevel | None) -> ReplayLevel | None:
    """The level that was asked for; without PyTorch, hull caches are what is left."""
    if asked not in (None, "plain") or find_spec("torch") is not None:
        return asked
    remedy = "pip install 'curta[torch]'"
    if asked == "plain":
        raise UserError(f"softmax attention (level 'plain') needs PyTorch: {remedy}")
    print(f"without PyTorch, hull caches stand in for softmax ({remedy})", file=sys.stderr)
    return "hull"
