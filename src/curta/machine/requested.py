"""From a request to a conversation, whether the program is in the prompt or in the weights."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from curta.errors import UserError
from curta.machine.bake import SUFFIX, BakedMachine, load_baked
from curta.machine.conversation import Conversation, ConversationLimits
from curta.machine.extensions import Extension, find_extension
from curta.machine.host import Host, Input
from curta.machine.instance import Instance
from curta.machine.kept.file import KeptRun
from curta.machine.kept.journal import is_journal
from curta.machine.kept.keeping import (
    Ready,
    create,
    library_invocations,
    play,
    run_invocations,
)
from curta.machine.kept.resume import ready_for
from curta.machine.machine import Machine
from curta.machine.request import Loading, ProgramOptions, Request
from curta.machine.run import (
    LoadOptions,
    MachineLevel,
    RunOptions,
    TalkOptions,
    host_of,
    program_name,
)
from curta.machine.toolchain import Watcher, split_flags
from curta.machine.values import parse_number, show
from curta.options import options_of
from curta.terminal import QUIET_SECONDS, Screen

SomeMachine = Machine | BakedMachine


def load_options(request: Loading) -> LoadOptions:
    """How the program is made ready."""
    return {
        "cflags": split_flags(request.cflags),
        "prove": not request.unproved,
        "max_memory": request.max_memory,
    }


def run_options(request: Request, stdin: Input) -> RunOptions:
    """All that the request says about a run."""
    options: RunOptions = {
        "stdin": stdin,
        "args": request.arguments if request.invoke is None else (),
        "env": dict(map(assignment, request.env)),
        "seed": request.seed,
        "max_tokens": request.max_tokens,
        "chapter_tokens": request.chapter_tokens,
    }
    options.update(load_options(request))  # type: ignore[typeddict-item]
    return options


def told(screen: Screen) -> RunOptions:
    """Have a screen show what a run says of itself."""

    def compiling(seconds: float) -> None:
        hint = "" if seconds < 3 else " (the first time, libraries too: half a minute or so)"
        if seconds > QUIET_SECONDS / 2:
            screen.draw(f"compiling{hint} {seconds:.0f} s")

    return {
        "on_stdout": screen.write,
        "on_stderr": screen.write_error,
        "on_progress": screen.progress,
        "watcher": Watcher(compiling, screen.warned),
    }


def assignment(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise UserError(f"--env {text}: expected NAME=VALUE")
    return name, value


def extensions_of(names: tuple[str, ...]) -> list[Extension]:
    """The extensions of these names; a module may lie in the working directory."""
    sys.path.insert(0, os.getcwd())
    try:
        return [find_extension(name) for name in names]
    finally:
        sys.path.pop(0)


def given(request: ProgramOptions, *names: str) -> list[str]:
    """Those of some options that are not as they are by default."""
    configuration: Any = type(request)
    return [
        option.flag
        for option in options_of(configuration)
        if option.name in names and getattr(request, option.name) != option.default
    ]


def is_baked(request: ProgramOptions) -> bool:
    """Is the program a model file, by its name?"""
    return request.program[0].lower().endswith(SUFFIX)


def baked_machine(request: ProgramOptions, level: MachineLevel) -> BakedMachine:
    """The machine in the file that the request names."""
    first = request.program[0]
    if len(request.program) > 1:
        raise UserError(f"{first} is a whole program; name no other file")
    for flag in given(request, "cflags", "max_memory"):
        raise UserError(
            f"{flag}: {first} is in the weights, and that was decided when it was baked; give it "
            "to `curta bake`"
        )
    prove = not getattr(request, "unproved", False)
    return load_baked(first, level, extensions_of(request.extension), prove=prove)


def machine_of(request: ProgramOptions, level: MachineLevel, screen: Screen) -> SomeMachine:
    """The machine that runs the program; the screen shows what is made ready."""

    def prepare(what: str) -> None:
        screen.begin(f"preparing the machine, the first time: {what}")

    if not is_baked(request):
        return Machine(level, extensions=extensions_of(request.extension), on_pass=prepare)
    machine = baked_machine(request, level)
    screen.begin("reading the weights")
    return machine


def begin(request: Request, machine: SomeMachine, options: RunOptions) -> Instance:
    """The conversation, up to where the program can be run or invoked."""
    library = request.invoke is not None
    if isinstance(machine, BakedMachine):
        talk: Any = {name: options[name] for name in TalkOptions.__annotations__ if name in options}  # type: ignore[literal-required]
        return machine.instantiate(**talk) if library else machine.begin(**talk)
    if library:
        return machine.instantiate(request.program, **options)
    return machine.begin(request.program, **options)


def ready(request: Request, machine: SomeMachine, options: RunOptions) -> tuple[Ready, str]:
    """All that it takes to begin a run that is kept, and what the program is called."""
    if isinstance(machine, BakedMachine):
        made, name = machine.ready(), machine.name
    else:
        library = request.invoke is not None
        made = machine.ready(request.program, library=library, **options)
        name = program_name(request.program)
    return replace(made, extensions=request.extension), name


def keep(
    request: Request,
    machine: SomeMachine,
    path: str | Path,
    options: RunOptions,
    *,
    keeps_tokens: bool = False,
    output: tuple[int, int, int] | None = None,
) -> tuple[KeptRun, Ready]:
    """The file for a run that is about to begin, and what it begins with."""
    made, name = ready(request, machine, options)
    if request.invoke is None:
        invoked = run_invocations(made.program)
    else:
        instance = Instance(Conversation(made.talker, made.program, Host(), ConversationLimits()))
        _, patterns = instance.patterns(request.invoke, numbers(request, instance))
        invoked = library_invocations(made.program, request.invoke, patterns)
    kept = create(path, made, name, options, invoked, keeps_tokens=keeps_tokens, output=output)
    return kept, made


@contextmanager
def kept_run(
    request: Request, weights: str | None, screen: Screen
) -> Iterator[tuple[KeptRun, Ready, Sequence[Extension]]]:
    """A run to be verified: one that was kept, or one that is made now, and kept as long."""
    path = request.program[0]
    if is_journal(path):
        refuse_what_is_decided(request)
        with KeptRun.open(path) as kept:
            names = request.extension or kept.beginning.extensions
            extensions = extensions_of(names)
            again = ready_for(kept, "native", extensions, weights)
            yield kept, replace(again, extensions=names), extensions
        return
    with tempfile.TemporaryDirectory(prefix="curta-") as folder:
        path = os.path.join(folder, "run.curta")
        with request.opened() as stdin:
            machine = machine_of(request, "native", screen)
            options = run_options(request, stdin) | told(screen)
            kept, made = keep(request, machine, path, options)
            with kept:
                play(kept, made, host_of(options))
        with KeptRun.open(path) as kept:
            yield kept, made, extensions_of(request.extension)


def refuse_what_is_decided(request: Request) -> None:
    """What was said when a kept run was begun is not said again."""
    decided = ("invoke", "stdin", "stdin_file", "env", "seed", "max_memory", "cflags")
    words = [*given(request, *decided), *request.program[1:], *request.arguments]
    if words:
        raise UserError(
            f"{' '.join(words)}: {request.program[0]} is a run that was kept, and that was decided "
            "when it was begun; leave it out"
        )


def results(request: Request, instance: Instance) -> list[str]:
    """Call the function with the numbers; its results as text."""
    assert request.invoke is not None
    result = instance.invoke(request.invoke, *numbers(request, instance))
    several = result if isinstance(result, tuple) else () if result is None else (result,)
    return [show(number) for number in several]


def numbers(request: Request, instance: Instance) -> list[Any]:
    """What somebody wrote, by the types of the function; what is too much remains text."""
    name, arguments = request.invoke or "", request.arguments
    if name not in instance.exports:
        instance.invoke(name)  # says what there is
    types = instance.exports[name].parameters
    found: list[Any] = [
        parse_number(text, type_, f"argument {place} of {name}")
        for place, (text, type_) in enumerate(zip(arguments, types, strict=False), 1)
    ]
    return [*found, *arguments[len(types) :]]
