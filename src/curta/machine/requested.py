"""From a request to a conversation, whether the program is in the prompt or in the weights."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from curta.errors import UserError
from curta.machine.bake import SUFFIX, BakedMachine, load_baked
from curta.machine.conversation import Conversation, Host, Input, Limits
from curta.machine.extensions import Extension, find_extension
from curta.machine.instance import Instance
from curta.machine.kept.file import Invocation
from curta.machine.kept.keeping import Ready, library_invocations, run_invocations
from curta.machine.machine import Machine
from curta.machine.request import Loading, Request, Source
from curta.machine.run import LoadOptions, MachineLevel, RunOptions, TalkOptions, program_name
from curta.machine.toolchain import split_flags
from curta.machine.values import parse_number, show

SomeMachine = Machine | BakedMachine


def load_options(request: Loading) -> LoadOptions:
    """How the program is made ready."""
    options: LoadOptions = {"cflags": split_flags(request.cflags), "prove": not request.unproved}
    if request.max_memory is not None:
        options["max_memory"] = request.max_memory
    return options


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


def is_baked(request: Source) -> bool:
    """Is the program a model file, by its name?"""
    return request.program[0].lower().endswith(SUFFIX)


def baked_machine(request: Source, level: MachineLevel) -> BakedMachine:
    """The machine in the file that the request names."""
    first = request.program[0]
    if len(request.program) > 1:
        raise UserError(f"{first} is a whole program; name no other file")
    for name in ("cflags", "max_memory"):
        if getattr(request, name, None):
            raise UserError(
                f"--{name.replace('_', '-')}: {first} is in the weights, and that was decided when "
                "it was baked; give it to `curta bake`"
            )
    prove = not getattr(request, "unproved", False)
    return load_baked(first, level, extensions_of(request.extension), prove=prove)


def machine_of(
    request: Source, level: MachineLevel, on_pass: Callable[[str], object]
) -> SomeMachine:
    """The machine that runs the program; `on_pass` is told what is made ready."""
    if not is_baked(request):
        return Machine(level, extensions=extensions_of(request.extension), on_pass=on_pass)
    machine = baked_machine(request, level)
    on_pass("reading the weights")
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


def invocations(request: Request, ready: Ready) -> tuple[Invocation, ...]:
    """What is to be invoked, for a run that is kept."""
    if request.invoke is None:
        return run_invocations(ready.program)
    instance = Instance(Conversation(ready.talker, ready.program, Host(), Limits()))
    _, patterns = instance.patterns(request.invoke, numbers(request, instance))
    return library_invocations(ready.program, request.invoke, patterns)


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
