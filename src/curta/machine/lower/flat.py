"""Flat code: a function's instructions in their order, with labels, registers chosen.

A line is an instruction without its target, together with what it does in terms of values: that is
what the check of registers compares (check_registers.py). Lines without an instruction say that
something happens without one: a shared register is read where it lies, or the parameters of a block
are what is in their registers already.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from curta.machine.instructions import COMPARISONS, CORE, Instruction
from curta.machine.lower.code import Call, Callee, Edge, End, Label, Place, Step
from curta.machine.lower.registers import Registers
from curta.machine.program import Claim

INVERTED = {f"jump_{name}": f"jump_{CORE[name].inverse}" for name in COMPARISONS}
"""The jump that is taken when this one is not."""
_ENDS = frozenset(("jump", "jump_table", "return", "exit", "trap"))


class Mark(NamedTuple):
    """Where jumps lead to."""

    label: Label


class Way(NamedTuple):
    """Where a jump leads, and what happens then."""

    label: Label
    taken: tuple[Edge, ...] = ()


class Line(NamedTuple):
    """`ways` is where it may jump within the function: one, or those of a jump_table; `callee` is
    the function that a call or a jump leads to.
    """

    instruction: Instruction | None
    place: Place | None
    does: Step | Call | End | Edge | None = None
    ways: tuple[Way, ...] = ()
    callee: Callee | None = None

    @property
    def operation(self) -> str:
        return "" if self.instruction is None else self.instruction.operation

    @property
    def ends(self) -> bool:
        """Whether the next line is not reached from this one."""
        return self.operation in _ENDS

    @property
    def goes_on(self) -> bool:
        """Whether this is a jump to another place of the same function, and nothing else."""
        return bool(self.ways) and self.operation == "jump"

    @property
    def branches(self) -> bool:
        return bool(self.ways) and self.operation in INVERTED

    @property
    def entries(self) -> tuple[Way, ...]:
        """The ways that are instructions of their own."""
        return self.ways if self.operation == "jump_table" else ()


@dataclass(slots=True)
class Flat:
    """A function; `frame` is how many registers it uses."""

    callee: Callee
    name: str
    lines: list[Line | Mark]
    frame: int
    registers: Registers
    claims: Mapping[Label, Claim | None]
    """What holds where blocks begin."""
    inlined: Mapping[Place, Callee]
    """Calls that have their function in line."""


def inverted(line: Line, ways: tuple[Way, ...]) -> Line:
    """A branch that is taken when this one is not, and then leads elsewhere."""
    old = line.instruction
    assert old is not None
    new = Instruction(INVERTED[old.operation], old.a, old.b, old.c, old.d, old.immediate)
    return line._replace(instruction=new, ways=ways)


def with_target(line: Line, target: int) -> Instruction:
    """The jump with the number of the instruction that it leads to."""
    old = line.instruction
    assert old is not None
    return Instruction(old.operation, old.a, old.b, old.c, old.d, old.immediate, target)
