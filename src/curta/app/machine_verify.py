"""`curta verify`: one run, checked against the plain softmax model and against wasmtime."""

from __future__ import annotations

import argparse
import os
import stat
import sys
import time
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from curta.app.machine import (
    Screen,
    chosen,
    is_baked,
    numbers_for,
    open_baked,
    run_options,
    standard_input,
    talk_options,
    tokens_text,
)
from curta.errors import ExitError, ProgramError, Trap, UserError
from curta.machine.conversation import Figures, Input, Readable
from curta.machine.instance import Instance
from curta.machine.machine import Machine
from curta.machine.run import RunOptions, program_name
from curta.machine.toolchain import read_program, split_flags
from curta.machine.values import to_number, to_pattern
from curta.machine.verify import (
    NAMES,
    Call,
    Compared,
    Outcome,
    compare_chapters,
    compare_outcomes,
    plan,
    run_on_wasmtime,
    shown,
    unknown_to_wasmtime,
    wasmtime_is_there,
)

if TYPE_CHECKING:
    from curta.engine import Level

SURROUNDINGS = ("clock_time_get", "clock_res_get", "random_get")
"""What wasmtime answers from the outside world, and the machine does not."""
BAR = 24


def verify(options: argparse.Namespace) -> int:
    """Run, replay, run elsewhere; a ProgramError names the first difference."""
    options.level = level_there_is(options.level)
    screen = Screen(show_output=False)
    try:
        with standard_input(options) as stdin:
            recorder = Recorder(stdin)
            instance, ours, call = run_once(options, screen, recorder)
        screen.clear()
        print(describe_run(instance.figures), flush=True)
        compared = replay(options, screen, instance)
    finally:
        screen.clear()
    print(describe(compared, instance.figures.tokens), flush=True)
    elsewhere, agreed = compare_with_wasmtime(options, ours, recorder.given, call)
    print(elsewhere)
    print(verdict(compared, instance.figures.tokens, on_wasmtime=agreed))
    return 0


def level_there_is(asked: Level | None) -> Level | None:
    """The level that was asked for; without PyTorch, hull caches are what is left."""
    if asked not in (None, "plain") or find_spec("torch") is not None:
        return asked
    remedy = "pip install 'curta[torch]'"
    if asked == "plain":
        raise UserError(f"softmax attention (level 'plain') needs PyTorch: {remedy}")
    print(f"without PyTorch, hull caches stand in for softmax ({remedy})", file=sys.stderr)
    return "hull"


class Recorder:
    """Input that is remembered, so that it can be given a second time.

    Of what may have no end (a terminal, a pipe, a device) that is what the program asked for; of a
    regular file all.
    """

    def __init__(self, source: Input) -> None:
        self.kept = bytearray()
        self.place = 0
        self.live: Readable | None = None
        if source is None or isinstance(source, bytes | bytearray | memoryview):
            self.kept += source or b""
        elif is_regular(source):
            self.kept += source.read(-1) or b""
        else:
            self.live = source

    @property
    def given(self) -> bytes:
        """All that is known of it."""
        return bytes(self.kept)

    def read(self, size: int, /) -> bytes:
        if self.live is not None:
            self.kept += self.live.read(size) or b""
        found = bytes(self.kept[self.place : self.place + size])
        self.place += len(found)
        return found


def is_regular(source: Readable) -> bool:
    """Is it a file that has an end?"""
    try:
        return stat.S_ISREG(os.fstat(source.fileno()).st_mode)  # type: ignore[attr-defined]
    except (AttributeError, OSError):  # nothing that the system knows of
        return False


def run_once(
    options: argparse.Namespace, screen: Screen, recorder: Recorder
) -> tuple[Instance, Outcome, Call | None]:
    """The run that is checked, with all its tokens kept; the call, if a function is invoked."""
    settings = run_options(options, screen, recorder)
    settings["keep_trace"] = True
    instance, call = begin(options, screen, settings), None
    code, trap, results = None, "", tuple[str, ...]()
    try:
        if options.invoke is not None:
            numbers = numbers_for(instance, options.invoke, options.arguments)
            call = signed_call(instance, options.invoke, numbers)
            results, code = shown(instance.invoke(options.invoke, *numbers)), 0
        else:
            code = instance.run()
    except ExitError as end:
        code = end.code
    except Trap as error:
        trap = str(error)
    return instance, Outcome(instance.stdout, instance.stderr, code, trap, results), call


def signed_call(instance: Instance, name: str, numbers: list[Any]) -> Call:
    """Numbers as wasmtime takes them; what the function cannot take is an error."""
    types = instance.exports[name].parameters
    if len(numbers) != len(types):
        instance.invoke(name, *numbers)  # says so
    return Call(
        name,
        tuple(
            to_number(to_pattern(number, type_, f"argument {place} of {name}"), type_)
            for place, (number, type_) in enumerate(zip(numbers, types, strict=True), 1)
        ),
    )


def begin(options: argparse.Namespace, screen: Screen, settings: RunOptions) -> Instance:
    """The conversation with the native level, up to where the program can be run or invoked."""
    if is_baked(options.program):
        baked, talk = open_baked(options, "native"), talk_options(options, settings)
        return baked.begin(**talk) if options.invoke is None else baked.instantiate(**talk)
    machine = Machine(extensions=chosen(options), on_pass=screen.building)
    if options.invoke is not None:
        return machine.instantiate(options.program, **settings)
    settings["args"] = options.arguments
    return machine.begin(options.program, **settings)


def replay(options: argparse.Namespace, screen: Screen, instance: Instance) -> Compared:
    """Compare the tokens of the run with another level's."""
    from curta.machine.weights import load_machine

    ids, chapters = instance.trace.ids, instance.conversation.chapters
    planned = plan(len(ids), chapters[0].opening, options.level, options.tokens)
    level: Level = planned.level
    screen.draw(f"loading {NAMES[planned.level]}")
    if is_baked(options.program):
        engine = open_baked(options, level).engine
    else:
        engine = load_machine(level, Machine(extensions=chosen(options)).extensions)
    started = time.perf_counter()

    def progress(share: float) -> None:
        passed = time.perf_counter() - started
        left = passed / max(share, 1e-9) - passed
        bar = ("#" * round(BAR * share)).ljust(BAR, ".")
        screen.draw(
            f"{NAMES[planned.level]} [{bar}] {share:4.0%} of {planned.tokens:,} tokens, "
            f"{passed:.0f} s, about {left:.0f} s left"
        )

    program = instance.conversation.program
    return compare_chapters(engine, ids, program, chapters, planned, progress)


def describe_run(figures: Figures) -> str:
    """How long the conversation is, and who said what."""
    return f"run: {tokens_text(figures)}; {figures.instructions:,} instructions"


def describe(compared: Compared, total: int) -> str:
    """What was compared, exactly."""
    name = NAMES[compared.level]
    rate = compared.tokens / max(compared.seconds, 1e-9)
    part = "" if compared.tokens == total else f" among the first {compared.tokens:,}"
    return (
        f"tokens: all {compared.spoken:,} that the machine said{part} are those of {name}, which "
        f"read {compared.tokens:,} ({compared.seconds:.1f} s, {rate:,.0f} tok/s)"
    )


def verdict(compared: Compared, total: int, *, on_wasmtime: bool) -> str:
    """In a word, and what the word does not cover."""
    missing = []
    if compared.tokens < total:
        missing.append(f"the tokens behind the first {compared.tokens:,} (--tokens N reads more)")
    if not on_wasmtime:
        missing.append("what wasmtime would do")
    return "verified" + (f", except {' and '.join(missing)}" if missing else "")


def compare_with_wasmtime(
    options: argparse.Namespace, ours: Outcome, stdin: bytes, call: Call | None = None
) -> tuple[str, bool]:
    """Compare what is seen from outside; a line that says so, and whether it could be done."""
    if is_baked(options.program):
        return "wasmtime: not compared, it runs no weights", False
    if not wasmtime_is_there():
        return "wasmtime: not compared, it is not installed (pip install wasmtime)", False
    module = read_program(options.program, split_flags(options.cflags), library=call is not None)
    if unknown := unknown_to_wasmtime(module, chosen(options)):
        return f"wasmtime: not compared, it has no {', '.join(unknown)}", False
    arguments = options.arguments if call is None else []
    words = [program_name(options.program), *arguments]
    environment = dict(text.split("=", 1) for text in options.env)
    theirs = run_on_wasmtime(module, words, environment, stdin, chosen(options), call)
    try:
        compare_outcomes(ours, theirs)
    except ProgramError as error:
        asked = [name for name in SURROUNDINGS if name.encode() in module]
        if not asked:
            raise
        hint = f"{error}; the program may ask for {', '.join(asked)}, which wasmtime answers freely"
        raise type(error)(hint) from error
    return f"wasmtime: {describe_outcome(ours, theirs)}", True


def describe_outcome(ours: Outcome, theirs: Outcome) -> str:
    """What was found to be the same."""
    same = f"the same output ({len(ours.stdout):,} bytes), errors ({len(ours.stderr):,} bytes)"
    if ours.exit_code is None:
        return f"{same}, and a trap too ({theirs.trap}; here: {ours.trap})"
    if ours.results:
        return f"{same} and result{'s'[len(ours.results) < 2 :]} {' '.join(ours.results)}"
    return f"{same} and exit code {ours.exit_code}"
