"""Entries: the loop that waits for invocations, and what it does for each of them.

0:  await                    the number of an entry
1:  jump_table               to its stub; numbers that there are none for lead back to 0
a stub awaits the arguments in the first registers of frame 0, calls, and copies the results
to SCRATCH, which says them
"""

from __future__ import annotations

from curta.machine.instructions import MEMORY_PAGES
from curta.machine.layout import SCRATCH
from curta.machine.lower.code import (
    USER,
    Block,
    Call,
    Callee,
    Code,
    Edge,
    Jump,
    Label,
    Step,
    Table,
    Trap,
    words,
)
from curta.machine.lower.context import ModuleContext
from curta.machine.lower.operations import SET
from curta.machine.lower.segments import InitialState
from curta.machine.program import INITIALISE, Entry
from curta.machine.wasm.module import FunctionType

DISPATCHER: Callee = ("entries", 0)


def function_callee(context: ModuleContext, index: int) -> Callee:
    """What to call for a function of the user's module; native instructions get a wrapper."""
    callee = context.callee(index)
    return (USER, index) if isinstance(callee, str) else callee


def exported(context: ModuleContext) -> list[tuple[str, int]]:
    """Names and indices of exported functions."""
    return [(entry.name, entry.index) for entry in context.module.exports if entry.kind == "func"]


def make_entries(context: ModuleContext, state: InitialState) -> tuple[Code, dict[str, Entry]]:
    """To be called last: then all constants are known that registers have to hold."""
    code = Code(DISPATCHER, "entries", 0, {}, 0)
    top, number = code.new_label(), code.new_value()
    stubs = [_initialise(code, context, state, top)]
    table = {}
    for name, index in exported(context):
        type_ = context.functions[index]
        table[name] = Entry(INITIALISE + len(stubs), type_.parameters, type_.results)
        stubs.append(_stub(code, type_, function_callee(context, index), top))
    ways = (*(Edge(stub.label) for stub in stubs), Edge(top))
    dispatch = Block(top, (), [Step("await", number)], Table(number, ways))
    code.blocks = {block.label: block for block in (dispatch, *stubs)}
    return code, table


def _stub(code: Code, type_: FunctionType, callee: Callee, top: Label) -> Block:
    given = tuple(code.new_value(n) for n in range(words(type_.parameters)))
    results = tuple(code.new_value(n) for n in range(words(type_.results)))
    steps: list[Step | Call] = [Step("await", value) for value in given]
    steps.append(Call(callee, given, results, 0))
    steps += [Step(SET, c=value, immediate=SCRATCH) for value in results]
    return Block(code.new_label(), (), steps, Jump(Edge(top)))


def _initialise(code: Code, context: ModuleContext, state: InitialState, top: Label) -> Block:
    """Memory size, globals, lengths of passive segments, constants; then the start function."""
    module = context.module
    initial: dict[int, int] = {}
    if module.memories:
        initial[MEMORY_PAGES] = module.memories[0].limits.minimum
    for number, registers in context.global_registers.items():
        initial.update(zip(registers, context.global_words[number], strict=True))
    for passive in (*context.data, *context.elements):
        initial[passive.length_register] = passive.length
    initial.update({register: word for word, register in context.registers.constants.items()})
    steps: list[Step | Call] = [
        Step(SET, c=code.constant(word), immediate=register)
        for register, word in initial.items()
        if word
    ]
    label = code.new_label()
    if state.trap is not None:
        return Block(label, (), steps, Trap(state.trap))
    if module.start is not None:
        steps.append(Call(function_callee(context, module.start), (), (), 0))
    if not steps:
        steps.append(Step(SET, c=code.constant(0), immediate=SCRATCH))
    return Block(label, (), steps, Jump(Edge(top)))
