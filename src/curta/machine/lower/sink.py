"""Sink: a value is computed when what it is made from has been read for the last time.

`next = i + 4` is often written before `i` is read again. Behind that both can share a register, and
a loop need not copy the one to the other. Nothing lives longer: of the sources one dies there
anyway, and the others are read later still.
"""

from __future__ import annotations

from curta.machine.lower.code import Block, Code, Step, Value, edges, end_reads, reads
from curta.machine.lower.operations import gives_value


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
