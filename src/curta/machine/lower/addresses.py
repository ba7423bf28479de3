"""Addresses: a sum that is an address is left to the access, which adds two registers itself.

What is added then has to be kept until the access; so that this costs nothing, neither summand's
register may be wanted for something else between the two, as far as one can guess.
"""

from __future__ import annotations

from curta.machine.instructions import kind_of
from curta.machine.lower.code import Block, Call, Code, Step, Value, reads, writes
from curta.machine.lower.operations import PRIVATE


def add_in_accesses(code: Code) -> Code:
    """The code with accesses that add; sums that nobody else reads are dropped later."""
    for block in code.blocks.values():
        _walk(code, block)
    return code


def _walk(code: Code, block: Block) -> None:
    sums: dict[Value, tuple[Value, Value]] = {}
    home = code.home
    for index, step in enumerate(block.steps):
        if isinstance(step, Step) and step.a in sums and _adds(step):
            first, second = sums[step.a]
            step = block.steps[index] = step._replace(a=first, b=second)
        if sums:
            written = {home.get(value, -1) for value in writes(step)}
            if isinstance(step, Call):
                slot = code.first_cell + step.height
                written.update(
                    h for v in sums.values() for x in v if (h := home.get(x, -1)) >= slot
                )
            sums = {
                value: summands
                for value, summands in sums.items()
                if not any(home.get(x, -2) in written for x in summands)
            }
        if isinstance(step, Step) and step.operation == "add":
            first, second = reads(step)
            if first in code.constants:
                first, second = second, first
            (own,) = writes(step)
            homes = (home.get(first), home.get(second))
            if first not in code.constants and home.get(own, -1) not in homes:
                sums[own] = first, second


def _adds(step: Step) -> bool:
    """Whether a step is an access whose index is free."""
    return (
        kind_of(step.operation) in ("load", "store")
        and step.operation not in PRIVATE
        and step.b is None
    )
