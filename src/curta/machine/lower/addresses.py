"""Addresses: a sum that is an address is left to the access, which adds two registers itself.

What is added then has to be kept until the access; so that this costs nothing, neither summand's
register may be wanted for something else between the two, as far as one can guess.
"""

from __future__ import annotations

import sys

from curta.machine.instructions import operation_of
from curta.machine.lower.code import Block, Call, Code, Step, Value, reads, writes


def add_in_accesses(code: Code) -> Code:
    """The code with accesses that add; sums that nobody else reads are dropped later."""
    for block in code.blocks.values():
        _walk(code, block)
    return code


def _walk(code: Code, block: Block) -> None:
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
