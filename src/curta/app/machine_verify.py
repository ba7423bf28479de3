"""`curta verify`: one run, checked against the plain softmax model and against wasmtime."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from curta.app.machine import (
    Screen,
    chosen,
    is_baked,
    open_baked,
    run_options,
    standard_input,
    talk_options,
)
from curta.errors import Trap
from curta.machine.conversation import Input, Readable
from curta.machine.instance import Instance
from curta.machine.machine import Machine
from curta.machine.run import program_name
from curta.machine.toolchain import read_program, split_flags
from curta.machine.verify import (
    PLAIN_TOKENS,
    Compared,
    Outcome,
    compare_outcomes,
    compare_tokens,
    plan,
    run_on_wasmtime,
    wasmtime_is_there,
)

if TYPE_CHECKING:
    from curta.engine import Level

NAMES = {"plain": "the plain softmax model", "hull": "hull caches"}
SURROUNDINGS = ("clock_time_get", "clock_res_get", "random_get")
"""What wasmtime answers from the outside world, and the machine does not."""


def verify(options: argparse.Namespace) -> int:
    """Run, replay, run elsewhere; a ProgramError names the first difference."""
    screen = Screen(show_output=False)
    recorder = Recorder(standard_input(options))
    try:
        instance, ours = run_once(options, screen, recorder)
        tokens = replay(options, screen, instance)
    finally:
        screen.clear()
    print(tokens)
    print(compare_with_wasmtime(options, ours, recorder.given))
    return 0


class Recorder:
    """Input that is remembered, so that it can be given a second time."""

    def __init__(self, source: Input) -> None:
        self.given = b""
        self.place = 0
        self.live: Readable | None = None
        if source is None or isinstance(source, bytes | bytearray | memoryview):
            self.given = bytes(source or b"")
        elif source is sys.stdin.buffer and sys.stdin.isatty():
            self.live = source
        else:
            self.given = source.read(-1) or b""

    def read(self, size: int, /) -> bytes:
        if self.live is not None:
            self.given += self.live.read(size) or b""
        found = self.given[self.place : self.place + size]
        self.place += len(found)
        return found


def run_once(
    options: argparse.Namespace, screen: Screen, recorder: Recorder
) -> tuple[Instance, Outcome]:
    """The run that is checked, with all its tokens kept."""
    settings = run_options(options, screen)
    settings["stdin"] = recorder
    settings["args"] = options.arguments
    settings["keep_trace"] = True
    if is_baked(options.program):
        talk = talk_options(options, settings)
        instance = open_baked(options, "native").begin(**talk)
    else:
        machine = Machine(extensions=chosen(options), on_pass=screen.building)
        instance = machine.begin(options.program, **settings)
    code, trap = None, ""
    try:
        code = instance.run()
    except Trap as error:
        trap = str(error)
    return instance, Outcome(instance.stdout, instance.stderr, code, trap)


def replay(options: argparse.Namespace, screen: Screen, instance: Instance) -> str:
    """Compare tokens; a line that says which, and how."""
    from curta.machine.weights import load_machine

    ids, prompt = instance.trace.ids, instance.figures.prompt_tokens
    planned = plan(len(ids), prompt, options.level, options.tokens)
    level: Level = planned.level
    screen.draw(f"{len(ids):,} tokens; loading {NAMES[level]}")

    def progress(done: int) -> None:
        screen.draw(f"{done:,} of {planned.tokens:,} tokens replayed by {NAMES[level]}")

    if is_baked(options.program):
        engine = open_baked(options, level).engine
    else:
        engine = load_machine(level, Machine(extensions=chosen(options)).extensions)
    compared = compare_tokens(engine, ids, prompt, planned, progress)
    return describe(compared, len(ids), prompt, chosen_by_hand=options.level is not None)


def describe(compared: Compared, total: int, prompt: int, *, chosen_by_hand: bool = False) -> str:
    """What was compared, exactly."""
    whole = compared.tokens == total
    first = f"{total:,} tokens" if whole else f"the first {compared.tokens:,} of {total:,} tokens"
    rate = compared.tokens / max(compared.seconds, 1e-9)
    reason = ""
    if compared.level == "hull" and not chosen_by_hand:
        reason = " (the conversation is too long for plain softmax"
        reason += f": {PLAIN_TOKENS:,} unless --level plain --tokens N is given)"
    return (
        f"{first}: the same from {NAMES[compared.level]}{reason}; {prompt:,} are the program, "
        f"{compared.spoken:,} were said by the machine and compared "
        f"({compared.seconds:.1f} s, {rate:,.0f} tok/s)"
    )


def compare_with_wasmtime(options: argparse.Namespace, ours: Outcome, stdin: bytes) -> str:
    """Compare what is seen from outside; a line that says so."""
    if is_baked(options.program):
        return "output, errors and exit code were not checked: wasmtime runs no weights"
    if not wasmtime_is_there():
        return (
            "output, errors and exit code were not checked: wasmtime is not installed "
            "(pip install wasmtime)"
        )
    from curta.errors import ProgramError

    module = read_program(options.program, split_flags(options.cflags))
    words = [program_name(options.program), *options.arguments]
    environment = dict(text.split("=", 1) for text in options.env)
    theirs = run_on_wasmtime(module, words, environment, stdin, chosen(options))
    try:
        compare_outcomes(ours, theirs)
    except ProgramError as error:
        asked = [name for name in SURROUNDINGS if name.encode() in module]
        if not asked:
            raise
        hint = f"{error}; the program may ask for {', '.join(asked)}, which wasmtime answers freely"
        raise type(error)(hint) from error
    if ours.exit_code is None:
        return f"output and errors as in wasmtime, which traps too ({theirs.trap})"
    return "output, errors and exit code as in wasmtime"
