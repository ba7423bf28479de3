"""What there is before the program begins: bytes in the memories, and the loop that waits for
invocations.

Active segments are copied in order, elements before data, until one does not fit: then the
instance traps while it is set up, with the segments before that one in place.

0:  await                    the number of an entry
1:  jump_table               to its stub; numbers that there are none for lead back to 0
a stub awaits the arguments in the first registers of frame 0, calls, and copies the results
to SCRATCH, which says them
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from curta.machine.core_program import INITIALISE, PRIVATE, Entry, Segment
from curta.machine.instructions import MEMORY_PAGES, PAGE, TRAPS, WORD
from curta.machine.layout import ENTRY_BYTES, SCRATCH, STATE_SEED, TABLE
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
    Switch,
    TrapEnd,
)
from curta.machine.lower.context import LowerOptions, ModuleContext
from curta.machine.lower.operations import SET
from curta.machine.values import word_count
from curta.machine.wasm.module import Data, Element, FunctionType

DISPATCHER: Callee = ("entries", 0)
_RUNS = re.compile(rb"(?:[^\0]|\0{1,15}(?=[^\0]))+")
"""Bytes without long stretches of zeros, which need not be said."""


@dataclass(frozen=True, slots=True)
class InitialState:
    """`table` has indices of functions by their places. `trap` is one that setting up ends in."""

    memory: tuple[Segment, ...]
    table: Mapping[int, int]
    trap: int | None = None

    def functions(self, context: ModuleContext) -> set[int]:
        """The functions that tables hold, or may hold later."""
        found = set(self.table.values())
        for passive, element in zip(context.elements, context.module.elements, strict=True):
            if passive.length:
                found |= {index for index in element.functions if index is not None}
        return found


def find_initial_state(context: ModuleContext) -> InitialState:
    """Copy the active segments."""
    module = context.module
    table: dict[int, int | None] = {}
    found: list[Segment] = []
    trap = None
    segments: tuple[Element | Data, ...] = (*module.elements, *module.data)
    for segment in segments:
        if segment.mode != "active":
            continue
        offset: int = segment.offset[0].operands[0]
        if isinstance(segment, Data):
            if offset + len(segment.content) > module.memories[0].limits.minimum * PAGE:
                trap = TRAPS.index("out of bounds memory access")
                break
            found.append(Segment(offset, segment.content))
        elif offset + len(segment.functions) > context.table_size:
            trap = TRAPS.index("out of bounds table access")
            break
        else:
            table.update(enumerate(segment.functions, offset))
    held = {place: index for place, index in table.items() if index is not None}
    return InitialState(_without_zeros(found), held, trap)


def _without_zeros(segments: list[Segment]) -> tuple[Segment, ...]:
    """Leave stretches of zeros out, unless they may overwrite something."""
    ordered = sorted(segments, key=lambda segment: segment.address)
    ends = [segment.address + len(segment.content) for segment in ordered]
    starts = [segment.address for segment in ordered]
    if any(end > start for end, start in zip(ends, starts[1:], strict=False)):
        return tuple(segments)
    return tuple(
        Segment(segment.address + run.start(), run.group())
        for segment in ordered
        for run in _RUNS.finditer(segment.content)
    )


def all_segments(
    context: ModuleContext, state: InitialState, places: Mapping[int, int], options: LowerOptions
) -> tuple[Segment, ...]:
    """Of both memories. `places` has the instruction where each function in a table begins."""

    def entry(index: int | None) -> bytes:
        if index is None:
            return bytes(ENTRY_BYTES)
        signature = context.signatures[context.functions[index]] + 1
        return signature.to_bytes(4, "little") + places[index].to_bytes(4, "little")

    module = context.module
    found = [(TABLE + ENTRY_BYTES * n, entry(index)) for n, index in sorted(state.table.items())]
    for passive, element in zip(context.elements, module.elements, strict=True):
        if passive.length:
            found.append((passive.address, b"".join(map(entry, element.functions))))
    pairs = zip(context.data, module.data, strict=True)
    found += [(passive.address, data.content) for passive, data in pairs if passive.length]
    if options.seed:
        found.append((STATE_SEED, (options.seed % WORD).to_bytes(4, "little")))
    private = _joined([Segment(PRIVATE + address, content) for address, content in found])
    return (*state.memory, *private)


def _joined(segments: list[Segment]) -> list[Segment]:
    """One segment instead of several that follow one another."""
    joined: list[Segment] = []
    for segment in segments:
        if joined and joined[-1].address + len(joined[-1].content) == segment.address:
            last = joined.pop()
            segment = Segment(last.address, last.content + segment.content)
        joined.append(segment)
    return joined


# -- entries ---------------------------------------------------------------------------------------


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
    dispatch = Block(top, (), [Step("await", number)], Switch(number, ways))
    code.blocks = {block.label: block for block in (dispatch, *stubs)}
    return code, table


def _stub(code: Code, type_: FunctionType, callee: Callee, top: Label) -> Block:
    given = tuple(code.new_value(n) for n in range(word_count(type_.parameters)))
    results = tuple(code.new_value(n) for n in range(word_count(type_.results)))
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
        return Block(label, (), steps, TrapEnd(state.trap))
    if module.start is not None:
        steps.append(Call(function_callee(context, module.start), (), (), 0))
    if not steps:
        steps.append(Step(SET, c=code.constant(0), immediate=SCRATCH))
    return Block(label, (), steps, Jump(Edge(top)))
