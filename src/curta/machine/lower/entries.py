"""Entries: the loop that waits for invocations, and what it does for each of them.

0:  await SCRATCH            the number of an entry
1:  jump_table SCRATCH       to its stub; numbers that there are none for lead back to 0
a stub awaits the arguments in the first registers of frame 0, calls, and copies the results
to SCRATCH, which says them
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from curta.machine.instructions import MEMORY_PAGES
from curta.machine.lower.code import (
    LABEL,
    USER,
    Callee,
    FunctionCode,
    Step,
    return_register,
    words,
)
from curta.machine.lower.context import ModuleContext
from curta.machine.lower.contexts import constant_words
from curta.machine.lower.layout import SCRATCH
from curta.machine.lower.segments import InitialState
from curta.machine.program import INITIALISE, Entry
from curta.machine.wasm.module import FunctionType

DISPATCHER: Callee = ("entries", 0)


@dataclass(frozen=True, slots=True)
class Entries:
    code: FunctionCode
    table: Mapping[str, Entry]


def function_callee(context: ModuleContext, index: int) -> Callee:
    """What to call for a function of the user's module; native instructions get a wrapper."""
    callee = context.callee(index)
    return (USER, index) if isinstance(callee, str) else callee


def exported(context: ModuleContext) -> list[tuple[str, int]]:
    """Names and indices of exported functions."""
    return [(entry.name, entry.index) for entry in context.module.exports if entry.kind == "func"]


def make_entries(context: ModuleContext, state: InitialState) -> Entries:
    """To be called last: then all constants are known that registers have to hold."""
    functions = exported(context)
    stubs = [_initialise(context, state)]
    stubs += [
        _stub(context.functions[index], function_callee(context, index)) for _, index in functions
    ]
    top, last = len(stubs), len(stubs) + 1
    dispatch = Step("jump_table", a=SCRATCH, immediate=len(stubs))
    dispatch.ways = (*range(len(stubs)), last)
    steps = [Step(LABEL, label=top), Step("await", SCRATCH), dispatch]
    for number, stub in enumerate(stubs):
        steps += [Step(LABEL, label=number), *stub]
        if stub[-1].name != "trap":
            steps.append(Step("jump", label=top))
    steps += [Step(LABEL, label=last), Step("jump", label=top)]
    table = {
        name: Entry(number, context.functions[index].parameters, context.functions[index].results)
        for number, (name, index) in enumerate(functions, INITIALISE + 1)
    }
    return Entries(FunctionCode(DISPATCHER, "entries", 0, 0, steps, 0, 0, 0, last + 1), table)


def _call(type_: FunctionType, callee: Callee) -> Step:
    takes, gives = words(type_.parameters), words(type_.results)
    step = Step("call", return_register(takes, gives))
    step.callee, step.takes, step.gives = callee, takes, gives
    return step


def _stub(type_: FunctionType, callee: Callee) -> list[Step]:
    call = _call(type_, callee)
    return [
        *(Step("await", register) for register in range(call.takes)),
        call,
        *(Step("copy", SCRATCH, b=register) for register in range(call.gives)),
    ]


def _initialise(context: ModuleContext, state: InitialState) -> list[Step]:
    """Memory size, globals, lengths of passive segments, constants; then the start function."""
    module = context.module
    initial: dict[int, int] = {}
    if module.memories:
        initial[MEMORY_PAGES] = module.memories[0].limits.minimum
    for operands, entry in zip(context.globals, module.globals, strict=True):
        if entry.type.mutable:
            initial.update(zip(operands, constant_words(entry.initial, entry.type), strict=True))
    for passive in (*context.data, *context.elements):
        if passive.length:
            initial[passive.length_register] = passive.length
    for word, register in context.registers.constants.items():
        initial[register] = word
    steps = [Step("copy", d, immediate=word) for d, word in initial.items() if word]
    if state.trap is not None:
        steps.append(Step("trap", immediate=state.trap))
    elif module.start is not None:
        steps.append(_call(FunctionType(), function_callee(context, module.start)))
    return steps or [Step("copy", SCRATCH)]
