"""`curta verify`: a run, checked against the plain softmax model and against wasmtime."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from curta.app.screen import Screen
from curta.errors import UserError
from curta.machine.request import Replay, ReplayLevel, Request
from curta.options import option
from curta.terminal import write_json

if TYPE_CHECKING:
    from curta.machine.kept.file import KeptRun
    from curta.machine.kept.keeping import Ready
    from curta.machine.parts.operations import Extension
    from curta.machine.verify.jobs import Compared, Plan

BAR = 24
ESTIMATED = 0.02
"""Before so much is done, the start of the processes is most of the time."""


@dataclass(frozen=True)
class Options(Request):
    """Check a run: PROG is a file as for curta run, which is run once, or a run that was kept
    (curta run --keep). Another level of the engine replays the conversation and has to say every
    token that the machine said, and wasmtime, if it is installed, has to write the same and to end
    the same way. The first difference is named, and the exit code is 1.

    weights: where the weights of a kept run are now
    json:    what was compared, as JSON
    """

    replay: Replay = field(default_factory=Replay)
    weights: str | None = option(None, metavar="FILE")
    json: bool = False


@dataclass(frozen=True)
class Report:
    """What was compared and is the same.

    run:      how long the conversation is
    level:    who replayed it
    chapters: that the run has, as far as they are complete
    replayed_chapters: of these
    spoken:   tokens that the machine said, each of which the level says, too
    read:     tokens that the level read
    parts:    that it read them in
    seconds:  that it took
    on_wasmtime: whether wasmtime did the same
    wasmtime: what it did, or why that was not compared
    verdict:  verified, and what that does not cover
    """

    run: str
    level: str
    chapters: int
    replayed_chapters: int
    spoken: int
    read: int
    parts: int
    seconds: float
    on_wasmtime: bool
    wasmtime: str
    verdict: str


def run(options: Options) -> int:
    """Run, replay, run elsewhere; a ProgramError names the first difference."""
    # What NumPy multiplies here is small: several threads on it only wait for one another. It looks
    # at this once, when imported. (PyTorch has the whole sequence at once, and takes all cores.)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from curta.machine.verify import jobs, on_wasmtime

    if options.chapter_tokens is not None and options.chapter_tokens < 1:
        raise UserError(f"--chapter-tokens {options.chapter_tokens}: expected at least 1")
    replay = replace(options.replay, level=level_there_is(options.replay.level))
    screen = Screen(show_output=False)

    def say(line: str) -> None:
        screen.clear()
        if not options.json:
            print(line, flush=True)

    try:
        with kept_run(options, screen) as (kept, ready, extensions):
            say(f"run: {described(kept)}")
            plan = jobs.planned(replay, kept, ready, options.chapter_tokens)
            # First, because it is quick, and because Ray takes the signals that wasmtime lives on.
            agreed, elsewhere = False, "not compared with a part of a run"
            if kept.ending is not None and plan.is_whole(kept):
                screen.draw("wasmtime")
                agreed, elsewhere = on_wasmtime.compare_kept(kept, ready, extensions)
            compared = replayed(screen, kept, ready, plan)
            say(same(compared, plan, kept))
            say(f"wasmtime: {elsewhere}")
            word = verdict(kept, plan, on_wasmtime=agreed)
            say(word)
            if options.json:
                write_json(reported(compared, plan, kept, agreed, elsewhere, word))
    finally:
        screen.clear()
    return 0


def reported(
    compared: Compared, plan: Plan, kept: KeptRun, agreed: bool, elsewhere: str, word: str
) -> Report:
    from curta.machine.verify.jobs import complete_chapters

    return Report(
        described(kept),
        compared.level,
        complete_chapters(kept),
        len(plan.chapters),
        compared.spoken,
        compared.tokens,
        compared.parts,
        compared.seconds,
        agreed,
        elsewhere,
        word,
    )


def level_there_is(asked: ReplayLevel | None) -> ReplayLevel | None:
    """The level that was asked for; without PyTorch, hull caches are what is left."""
    if asked not in (None, "plain") or find_spec("torch") is not None:
        return asked
    remedy = "pip install 'curta[torch]'"
    if asked == "plain":
        raise UserError(f"softmax attention (level 'plain') needs PyTorch: {remedy}")
    print(f"without PyTorch, hull caches stand in for softmax ({remedy})", file=sys.stderr)
    return "hull"


# -- the run ---------------------------------------------


@contextmanager
def kept_run(
    options: Options, screen: Screen
) -> Iterator[tuple[KeptRun, Ready, Sequence[Extension]]]:
    """The run that is verified: one that was kept, or one that is made now, and kept as long."""
    from curta.machine import requested
    from curta.machine.kept.file import KeptRun
    from curta.machine.kept.journal import is_journal
    from curta.machine.kept.resume import ready_for

    if is_journal(options.program[0]):
        refuse_settings(options)
        with KeptRun.open(options.program[0]) as kept:
            names = options.extension or kept.beginning.extensions
            extensions = requested.extensions_of(names)
            ready = ready_for(kept, "native", extensions, options.weights)
            yield kept, replace(ready, extensions=names), extensions
        return
    with tempfile.TemporaryDirectory(prefix="curta-") as folder:
        path = Path(folder) / "run.curta"
        ready = run_and_keep(options, screen, path)
        with KeptRun.open(path) as kept:
            yield kept, ready, requested.extensions_of(options.extension)


def refuse_settings(options: Options) -> None:
    """What was decided when a kept run was begun."""
    given = [
        f"--{name.replace('_', '-')}"
        for name in ("invoke", "stdin", "stdin_file", "env", "seed", "max_memory", "cflags")
        if getattr(options, name) not in (None, "", ())
    ]
    if words := [*given, *options.program[1:], *options.arguments]:
        raise UserError(
            f"{' '.join(words)}: {options.program[0]} is a run that was kept, and that was decided "
            "when it was begun; leave it out"
        )


def run_and_keep(options: Options, screen: Screen, path: Path) -> Ready:
    """Run the program to its end, at the fastest level; a trap is an end, too."""
    from curta.machine import requested
    from curta.machine.kept.keeping import create, play
    from curta.machine.run import host_of

    with options.opened() as stdin:
        machine = requested.machine_of(options, "native", screen.building)
        settings = requested.run_options(options, stdin) | screen.told
        ready, name = requested.ready(options, machine, settings)
        invocations = requested.invocations(options, ready)
        with create(path, ready, name, settings, invocations) as kept:
            play(kept, ready, host_of(settings))
    return ready


def replayed(screen: Screen, kept: KeptRun, ready: Ready, plan: Plan) -> Compared:
    """Compare the tokens of the run with another level's."""
    from curta.machine.processes import work_of
    from curta.machine.verify.chapters import NAMES
    from curta.machine.verify.jobs import verify_run

    name = NAMES[plan.level]
    screen.draw(f"loading {name}")
    started = time.perf_counter()

    def progress(share: float) -> None:
        passed = time.perf_counter() - started
        is_known = share >= ESTIMATED or (passed > 20 and share > 0)
        left = f", about {passed / share - passed:,.0f} s left" if is_known else ""
        bar = ("#" * round(BAR * share)).ljust(BAR, ".")
        screen.draw(f"{name} [{bar}] {share:4.0%}, {passed:,.0f} s{left}")

    return verify_run(kept, ready, plan, work_of(ready, plan.level), progress)


# -- in words ---------------------------------------------


def described(kept: KeptRun) -> str:
    """How long the conversation is, and who said what."""
    from curta.machine.kept.keeping import figures

    if kept.ending is None:
        return f"kept up to {kept.state}"
    reached = figures(kept.ending)
    return f"{reached.length}; {reached.instructions:,} instructions"


def same(compared: Compared, plan: Plan, kept: KeptRun) -> str:
    """What was compared, exactly."""
    from curta.machine.verify.chapters import NAMES

    rate = compared.tokens / max(compared.seconds, 1e-9)
    part = "" if plan.most is None else f" among the first {plan.opening + compared.said:,}"
    if not plan.is_whole(kept):
        part = f" in {chapter_names(plan.chapters)}"
    parts = "" if compared.parts == 1 else f" in {compared.parts:,} parts"
    return (
        f"tokens: all {compared.spoken:,} that the machine said{part} are those of "
        f"{NAMES[compared.level]}, which read {compared.tokens:,}{parts} "
        f"({compared.seconds:.1f} s, {rate:,.0f} tok/s)"
    )


def chapter_names(numbers: Sequence[int]) -> str:
    """Which ones, if they are not too many to be read."""
    shown = ", ".join(f"{number:,}" for number in numbers[:12])
    more = f" and {len(numbers) - 12:,} more" if len(numbers) > 12 else ""
    return f"chapter{'s' * (len(numbers) > 1)} {shown}{more}"


def verdict(kept: KeptRun, plan: Plan, *, on_wasmtime: bool) -> str:
    """In a word, and what the word does not cover."""
    from curta.machine.verify.jobs import complete_chapters, missed

    chapters, sample = complete_chapters(kept), len(plan.chapters)
    if sample < chapters:
        tenth = max(2, chapters // 10)
        return (
            f"verified: {sample:,} of {chapters:,} chapters, drawn at random. A single wrong one "
            f"would be missed with a probability of {missed(chapters, sample, 1):.1%}, {tenth:,} "
            f"wrong ones with one of {missed(chapters, sample, tenth):.1%}"
        )
    missing = [] if plan.most is None else ["the tokens behind those that were replayed"]
    if kept.ending is None:
        missing.append("the chapter that the run is in")
    if not on_wasmtime:
        missing.append("what wasmtime would do")
    return "verified" + (f", except {' and '.join(missing)}" if missing else "")
