"""Flat code: a function's instructions in their order, with labels, registers chosen.

A line is an instruction whose target is still a label, together with what it does in terms of
values: that is what the check of registers compares (check_registers.py). Lines without an
instruction say that something happens without one: a shared register is read where it lies, or the
parameters of a block are what is in their registers already.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from curta.machine.instructions import COMPARISONS, Instruction
from curta.machine.lower.code import Call, Callee, Edge, End, Label, Place, Step
from curta.machine.program import Claim

INVERTED = {
    "jump_eq": "jump_ne",
    "jump_ne": "jump_eq",
    **{f"jump_lt_{sign}": f"jump_ge_{sign}" for sign in "us"},
    **{f"jump_ge_{sign}": f"jump_lt_{sign}" for sign in "us"},
    **{f"jump_gt_{sign}": f"jump_le_{sign}" for sign in "us"},
    **{f"jump_le_{sign}": f"jump_gt_{sign}" for sign in "us"},
}
"""The jump that is taken when this one is not."""
assert len(INVERTED) == len(COMPARISONS)
_ENDS = frozenset(("jump", "jump_table", "return", "exit", "trap"))


class Mark(NamedTuple):
    """Where jumps lead to."""

    label: Label
    place: Place | None = None


class Way(NamedTuple):
    """Where a jump leads, and what happens then."""

    label: Label
    taken: tuple[Step | Edge, ...] = ()


class Line(NamedTuple):
    """`taken` happens if the instruction jumps, after what it does; `ways` are those of a
    jump_table, `callee` is the function that a call or a jump leads to.
    """

    instruction: Instruction | None
    place: Place | None
    does: Step | Call | End | Edge | None = None
    taken: tuple[Step | Edge, ...] = ()
    callee: Callee | None = None
    ways: tuple[Way, ...] = ()

    @property
    def ends(self) -> bool:
        """Whether the next line is not reached from this one."""
        return self.instruction is not None and self.instruction.operation in _ENDS

    @property
    def goes_on(self) -> bool:
        """Whether this is a jump to another place of the same function, and nothing else."""
        return (
            self.instruction is not None
            and self.instruction.operation == "jump"
            and self.callee is None
        )

    @property
    def branches(self) -> bool:
        return self.instruction is not None and self.instruction.operation in INVERTED

    @property
    def leads(self) -> tuple[Way, ...]:
        """Where it may jump, within the function."""
        instruction = self.instruction
        if instruction is None:
            return ()
        operation = instruction.operation
        if operation in INVERTED or (operation == "jump" and self.callee is None):
            return (Way(instruction.target, self.taken),)
        return self.ways


@dataclass(slots=True)
class Flat:
    """A function; `frame` is how many registers it uses, `calls` how often it calls others when it
    runs once, at a guess (None: functions that it has pointers to).
    """

    callee: Callee
    name: str
    lines: list[Line | Mark]
    frame: int
    next_label: Label
    calls: Mapping[Callee | None, float]
    claims: Mapping[Label, Claim | None]
    inlined: Mapping[Place, Callee]

    def new_label(self) -> Label:
        label, self.next_label = self.next_label, self.next_label + 1
        return label


def with_target(line: Line, label: Label, operation: str | None = None) -> Line:
    """The jump with another target, and maybe another condition."""
    old = line.instruction
    assert old is not None
    name = operation or old.operation
    new = Instruction(name, old.a, old.b, old.c, old.d, old.immediate, label)
    return line._replace(instruction=new)
