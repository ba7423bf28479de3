"""`curta verify`: a run, checked against the plain softmax model and against wasmtime."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from curta.app.machine import Screen, chosen, run_options, standard_input, tokens_text
from curta.app.machine_keep import invocations_of, ready_to_run, results
from curta.errors import ProgramError, UserError
from curta.machine.instance import START
from curta.machine.kept.file import KeptRun, Kind
from curta.machine.kept.journal import command, is_journal
from curta.machine.kept.keeping import Ready, create, figures, play, segments
from curta.machine.kept.resume import ready_for
from curta.machine.processes import work_of
from curta.machine.run import MachineLevel, host_of
from curta.machine.values import to_number
from curta.machine.verify.chapters import NAMES, ReplayLevel
from curta.machine.verify.jobs import (
    Compared,
    Plan,
    complete_chapters,
    drawn,
    missed,
    part_length,
    said_tokens,
    verify_run,
)
from curta.machine.verify.on_wasmtime import (
    Call,
    Outcome,
    compare_outcomes,
    run_on_wasmtime,
    unknown_to_wasmtime,
    wasmtime_is_there,
)

if TYPE_CHECKING:
    from curta.machine.parts.operations import Extension

SURROUNDINGS = ("clock_time_get", "clock_res_get", "random_get")
"""What wasmtime answers from the outside world, and the machine does not."""
SOFTMAX_TOKENS = 20_000
"""Softmax looks at all pairs of tokens: up to here that is a matter of a minute."""
BAR = 24
ESTIMATED = 0.02
"""Before so much is done, the start of the processes is most of the time."""


def verify(options: argparse.Namespace) -> int:
    """Run, replay, run elsewhere; a ProgramError names the first difference."""
    check_numbers(options)
    options.level = level_there_is(options.level)
    screen = Screen(show_output=False)
    try:
        with kept_run(options, screen) as (kept, ready, extensions):
            screen.clear()
            print(describe_run(kept), flush=True)
            planned = plan(options, kept, ready)
            # First, because it is quick, and because Ray takes the signals that wasmtime lives on.
            elsewhere, agreed = "wasmtime: not compared with a part of a run", False
            if kept.ending is not None and len(planned.chapters) == complete_chapters(kept):
                screen.draw("wasmtime")
                elsewhere, agreed = compare_with_wasmtime(kept, ready, extensions)
            compared = replay(options, screen, kept, ready, planned)
            screen.clear()
            is_whole = planned.most is None and len(planned.chapters) == complete_chapters(kept)
            print(describe(compared, planned, kept), flush=True)
            print(elsewhere)
            print(verdict(kept, planned, whole=is_whole, on_wasmtime=agreed))
    finally:
        screen.clear()
    return 0


def check_numbers(options: argparse.Namespace) -> None:
    for name in ("tokens", "jobs", "sample", "chapter_tokens"):
        number = getattr(options, name)
        if number is not None and number < 1:
            raise UserError(f"--{name.replace('_', '-')} {number}: expected at least 1")
    if options.cluster and options.jobs != 1:
        raise UserError("--jobs, --cluster: give one of them")
    if options.sample is not None and options.tokens is not None:
        raise UserError("--sample, --tokens: give one of them")


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
    options: argparse.Namespace, screen: Screen
) -> Iterator[tuple[KeptRun, Ready, Sequence[Extension]]]:
    """The run that is verified: one that was kept, or one that is made now, and kept as long."""
    if is_journal(options.program[0]):
        refuse_settings(options)
        with KeptRun.open(options.program[0]) as kept:
            options.extension = options.extension or list(kept.beginning.extensions)
            extensions = chosen(options)
            yield kept, ready_for(kept, speaker(), extensions, options.weights), extensions
        return
    with tempfile.TemporaryDirectory(prefix="curta-") as folder:
        path = Path(folder) / "run.curta"
        ready = run_and_keep(options, screen, path)
        with KeptRun.open(path) as kept:
            yield kept, ready, chosen(options)


def refuse_settings(options: argparse.Namespace) -> None:
    """What was decided when a kept run was begun."""
    given = [
        f"--{name.replace('_', '-')}"
        for name in ("invoke", "stdin", "stdin_file", "env", "seed", "max_memory", "cflags")
        if getattr(options, name) not in (None, "", [])
    ]
    if words := [*given, *options.program[1:], *options.arguments]:
        raise UserError(
            f"{' '.join(words)}: {options.program[0]} is a run that was kept, and that was decided "
            "when it was begun; leave it out"
        )


def speaker() -> MachineLevel:
    """The level that has a run said again; all of them say the same."""
    return "native"


def run_and_keep(options: argparse.Namespace, screen: Screen, path: Path) -> Ready:
    """Run the program to its end; a trap is an end, too."""
    options.level, level = speaker(), options.level
    with standard_input(options) as stdin:
        settings = run_options(options, screen, stdin)
        settings["args"] = options.arguments if options.invoke is None else ()
        ready, name = ready_to_run(options, screen, settings)
        with create(path, ready, name, settings, invocations_of(options, ready)) as kept:
            play(kept, ready, host_of(settings))
    options.level = level
    return ready


# -- its tokens ---------------------------------------------


def plan(options: argparse.Namespace, kept: KeptRun, ready: Ready) -> Plan:
    """Softmax for a run that is short enough, hull caches for others: all of it."""
    chapters = complete_chapters(kept)
    if not chapters:
        raise UserError(
            f"{kept.path}: the run did not come to the end of its first chapter, so there is "
            f"nothing to verify yet; `{command('resume', kept.path)}` goes on with it"
        )
    opening = kept.chapters(ready.program, segments(kept.beginning))[0].opening
    numbers = drawn(chapters, options.sample)
    total, most = said_tokens(kept, opening, numbers), None
    if options.tokens is not None and options.tokens < total + opening:
        most = options.tokens - opening
        if most <= 0:
            raise UserError(
                f"the prompt alone, which holds the program, has {opening:,} tokens, so that among "
                f"the first {options.tokens:,} there is nothing to compare: --tokens "
                f"{opening + 1_000} or more"
            )
    level: ReplayLevel = options.level or (
        "plain" if min(total, most or total) + opening <= SOFTMAX_TOKENS else "hull"
    )
    length = part_length(level, options.chapter_tokens)
    return Plan(level, length, numbers, most, opening, options.jobs, options.cluster)


def replay(
    options: argparse.Namespace, screen: Screen, kept: KeptRun, ready: Ready, planned: Plan
) -> Compared:
    """Compare the tokens of the run with another level's."""
    work = replace(work_of(ready, planned.level), extensions=tuple(options.extension))
    screen.draw(f"loading {NAMES[planned.level]}")
    started = time.perf_counter()

    def progress(share: float) -> None:
        passed = time.perf_counter() - started
        is_known = share >= ESTIMATED or (passed > 20 and share > 0)
        left = f", about {passed / share - passed:,.0f} s left" if is_known else ""
        bar = ("#" * round(BAR * share)).ljust(BAR, ".")
        screen.draw(f"{NAMES[planned.level]} [{bar}] {share:4.0%}, {passed:,.0f} s{left}")

    return verify_run(kept, ready, planned, work, progress)


# -- in words ---------------------------------------------


def describe_run(kept: KeptRun) -> str:
    """How long the conversation is, and who said what."""
    if kept.ending is None:
        return f"run: kept up to {kept.state}"
    reached = figures(kept.ending)
    return f"run: {tokens_text(reached)}; {reached.instructions:,} instructions"


def describe(compared: Compared, planned: Plan, kept: KeptRun) -> str:
    """What was compared, exactly."""
    rate = compared.tokens / max(compared.seconds, 1e-9)
    part = "" if planned.most is None else f" among the first {planned.opening + compared.said:,}"
    if len(planned.chapters) < complete_chapters(kept):
        part = f" in {chapter_names(planned.chapters)}"
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


def verdict(kept: KeptRun, planned: Plan, *, whole: bool, on_wasmtime: bool) -> str:
    """In a word, and what the word does not cover."""
    chapters, sample = complete_chapters(kept), len(planned.chapters)
    if sample < chapters:
        tenth = max(2, chapters // 10)
        return (
            f"verified: {sample:,} of {chapters:,} chapters, drawn at random. A single wrong one "
            f"would be missed with a probability of {missed(chapters, sample, 1):.1%}, {tenth:,} "
            f"wrong ones with one of {missed(chapters, sample, tenth):.1%}"
        )
    missing = [] if whole else ["the tokens behind those that were replayed"]
    if kept.ending is None:
        missing.append("the chapter that the run is in")
    if not on_wasmtime:
        missing.append("what wasmtime would do")
    return "verified" + (f", except {' and '.join(missing)}" if missing else "")


# -- on wasmtime ---------------------------------------------


def compare_with_wasmtime(
    kept: KeptRun, ready: Ready, extensions: Sequence[Extension]
) -> tuple[str, bool]:
    """Compare what is seen from outside; a line that says so, and whether it could be done."""
    beginning = kept.beginning
    if not beginning.module:
        return "wasmtime: not compared, it runs no weights", False
    if not wasmtime_is_there():
        return "wasmtime: not compared, it is not installed (pip install wasmtime)", False
    if unknown := unknown_to_wasmtime(beginning.module, extensions):
        return f"wasmtime: not compared, it has no {', '.join(unknown)}", False
    ours, call = outcome(kept, ready), call_of(kept, ready)
    theirs = run_on_wasmtime(
        beginning.module,
        [beginning.name, *beginning.arguments],
        beginning.environment,
        whole_stream(kept, Kind.INPUT),
        extensions,
        call,
    )
    try:
        compare_outcomes(ours, theirs)
    except ProgramError as error:
        asked = [name for name in SURROUNDINGS if name.encode() in beginning.module]
        if not asked:
            raise
        hint = f"{error}; the program may ask for {', '.join(asked)}, which wasmtime answers freely"
        raise type(error)(hint) from error
    return f"wasmtime: {describe_outcome(ours, theirs)}", True


def whole_stream(kept: KeptRun, kind: Kind) -> bytes:
    stream = kept.streams[kind]
    return stream.read(0, stream.length)


def outcome(kept: KeptRun, ready: Ready) -> Outcome:
    """What the run did, as far as one sees it from outside."""
    ending = kept.ending
    assert ending is not None, "the run is at its end"
    reason, where = ending.trap
    trap = f"{reason} ({where})" if where else reason
    output, errors = (whole_stream(kept, kind) for kind in (Kind.OUTPUT, Kind.ERRORS))
    return Outcome(output, errors, ending.code, trap, tuple(results(kept, ready, ending)))


def call_of(kept: KeptRun, ready: Ready) -> Call | None:
    """The function that was invoked, with numbers as wasmtime takes them: integers are signed."""
    last = kept.beginning.invocations[-1]
    if last.name == START:
        return None
    types = ready.program.entries[last.name].parameters
    pairs = zip(last.patterns, types, strict=True)
    return Call(last.name, tuple(to_number(pattern, type_) for pattern, type_ in pairs))


def describe_outcome(ours: Outcome, theirs: Outcome) -> str:
    """What was found to be the same."""
    same = f"the same output ({len(ours.stdout):,} bytes), errors ({len(ours.stderr):,} bytes)"
    if ours.exit_code is None:
        return f"{same}, and a trap too ({theirs.trap}; here: {ours.trap})"
    if ours.results:
        return f"{same} and result{'s'[len(ours.results) < 2 :]} {' '.join(ours.results)}"
    return f"{same} and exit code {ours.exit_code}"
