"""From a request to a conversation, whether the program is in the prompt or in the weights."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from curta.errors import UserError
from curta.machine.extensions import Extension, find_extension
from curta.machine.instance import Instance
from curta.machine.machine import Machine
from curta.machine.request import Loading, ProgramOptions, Request
from curta.machine.run import LoadOptions, MachineLevel, RunOptions, TalkOptions
from curta.machine.standard_input import Input
from curta.machine.toolchain import COMPILING, LONG, Watcher, split_flags
from curta.machine.values import parse_number, show
from curta.options import options_of
from curta.terminal import QUIET_SECONDS, Screen

if TYPE_CHECKING:
    from curta.machine.bake import BakedMachine

    SomeMachine = Machine | BakedMachine

BAKED = ".safetensors"
"""How the name of a model file ends."""


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
        what = COMPILING if seconds > LONG else "compiling"
        if seconds > QUIET_SECONDS / 2:
            screen.draw(f"{what} {seconds:.0f} s")

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
    return request.program[0].lower().endswith(BAKED)


def baked_machine(request: ProgramOptions, level: MachineLevel) -> BakedMachine:
    """The machine in the file that the request names."""
    from curta.machine.bake import load_baked

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
    screen.begin(
        "reading the weights; the first time, C is made of them, which takes a minute or so"
    )
    return machine


def begin(request: Request, machine: SomeMachine, options: RunOptions) -> Instance:
    """The conversation, up to where the program can be run or invoked."""
    library = request.invoke is not None
    if isinstance(machine, Machine):
        begins = machine.instantiate if library else machine.begin
        return begins(request.program, **options)
    talk: Any = {name: options[name] for name in TalkOptions.__annotations__ if name in options}  # type: ignore[literal-required]
    return machine.instantiate(**talk) if library else machine.begin(**talk)


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
