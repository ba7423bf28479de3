"""Flat code: a function's instructions in their order, with labels, registers chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from curta.machine.instructions import COMPARISONS, CORE, Instruction
from curta.machine.lower.code import Callee, Label, Place
from curta.machine.lower.registers import Registers
from curta.machine.program import Claim

INVERTED = {f"jump_{name}": f"jump_{CORE[name].inverse}" for name in COMPARISONS}
"""The jump that is taken when this one is not."""
_ENDS = frozenset(("jump", "jump_table", "return", "exit", "trap"))


class Mark(NamedTuple):
    """Where jumps lead to."""

    label: Label


class Line(NamedTuple):
    """An instruction without its target. `ways` is where it may jump within the function: one, or
    those of a jump_table; `callee` is the function that a call or a jump leads to.
    """

    instruction: Instruction
    place: Place | None
    ways: tuple[Label, ...] = ()
    callee: Callee | None = None

    @property
    def ends(self) -> bool:
        """Whether the next line is not reached from this one."""
        return self.instruction.operation in _ENDS

    @property
    def goes_on(self) -> bool:
        """Whether this is a jump to another place of the same function, and nothing else."""
        return bool(self.ways) and self.instruction.operation == "jump"

    @property
    def branches(self) -> bool:
        return bool(self.ways) and self.instruction.operation in INVERTED

    @property
    def entries(self) -> tuple[Label, ...]:
        """The ways that are instructions of their own."""
        return self.ways if self.instruction.operation == "jump_table" else ()

    def inverted(self, ways: tuple[Label, ...]) -> Line:
        """A branch that is taken when this one is not, and then leads elsewhere."""
        old = self.instruction
        new = Instruction(INVERTED[old.operation], old.a, old.b, old.c, old.d, old.immediate)
        return self._replace(instruction=new, ways=ways)

    def leading_to(self, target: int) -> Instruction:
        """The jump with the number of the instruction that it leads to."""
        old = self.instruction
        return Instruction(old.operation, old.a, old.b, old.c, old.d, old.immediate, target)


@dataclass(slots=True)
class Flat:
    """A function; `frame` is how many registers it uses."""

    callee: Callee
    name: str
    lines: list[Line | Mark]
    frame: int
    registers: Registers
    claim: Callable[[Label], Claim | None]
    """What holds where a block begins."""
    inlined: Mapping[Place, Callee]
    """Calls that have their function in line."""
