"""Late: what is computed only where it is wanted.

A sum that is an address is left to the access, which adds two registers itself. What is added then
has to be kept until the access; so that this costs nothing, neither summand's register may be
wanted for something else between the two, as far as one can guess.

Other values are computed when what they are made from has been read for the last time: `next = i +
4` is often written before `i` is read again. Behind that both can share a register, and a loop need
not copy the one to the other. Nothing lives longer: of the sources one dies there anyway, and the
others are read later still.
"""

from __future__ import annotations

import sys

from curta.machine.instructions import operation_of
from curta.machine.lower.code import Block, Call, Code, Step, Value, edges, end_reads, reads, writes
from curta.machine.lower.operations import gives_value


def add_in_accesses(code: Code) -> Code:
    """The code with accesses that add; sums that nobody else reads are dropped later."""
    for block in code.blocks.values():
        _add_within(code, block)
    return code


def _add_within(code: Code, block: Block) -> None:
    sums: dict[Value, tuple[Value, Value]] = {}
    """The summands of each sum, as long as their registers are not wanted."""
    home = code.home.get
    for index, step in enumerate(block.steps):
        if isinstance(step, Step) and step.a in sums and _adds(step):
            first, second = sums[step.a]
            step = block.steps[index] = step._replace(a=first, b=second)
        if sums:
            slot = code.first_cell + step.height if isinstance(step, Call) else sys.maxsize
            written = {home(value, -1) for value in writes(step)}
            sums = {
                value: summands
                for value, summands in sums.items()
                if not any((there := home(x, -2)) in written or there >= slot for x in summands)
            }
        if isinstance(step, Step) and step.operation == "add" and step.d is not None:
            first, second = reads(step)
            if first in code.constants:
                first, second = second, first
            if first not in code.constants and home(step.d, -1) not in (home(first), home(second)):
                sums[step.d] = first, second


def _adds(step: Step) -> bool:
    """Whether a step is an access whose index is free."""
    return operation_of(step.operation).has_bounds and step.b is None


def sink(code: Code) -> Code:
    """The code with pure steps of a block behind later ones of the same block."""
    for block in code.blocks.values():
        _sink_within(block, code)
    return code


def _sink_within(block: Block, code: Code) -> None:
    steps = block.steps
    order = [float(index) for index in range(len(steps))]
    first_read: dict[Value | None, int] = dict.fromkeys(end_reads(block.end), len(steps))
    last_read: dict[Value, float] = dict.fromkeys(end_reads(block.end), len(steps))
    given: set[Value | None] = {value for edge in edges(block.end) for value in edge.arguments}
    for index in range(len(steps) - 1, -1, -1):
        step = steps[index]
        used = [value for value in reads(step) if value not in code.constants]
        if used and isinstance(step, Step) and step.d in given and gives_value(step.operation):
            behind = int(min(last_read.get(value, -1) for value in used))
            if index < behind < first_read.get(step.d, len(steps)):
                order[index] = behind + 0.5
                steps[index] = step._replace(place=steps[behind].place)
        for value in used:
            first_read[value] = index
            last_read[value] = max(last_read.get(value, -1), order[index])
    block.steps = [steps[index] for index in sorted(range(len(steps)), key=order.__getitem__)]
