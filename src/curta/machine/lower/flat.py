"""Flat code: a function's instructions in their order, with labels, registers chosen.

`arrange` leaves as few jumps on the way as possible. A jump to a jump goes where that one goes, and
a jump to a return is a return. What cannot be reached is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from curta.machine.core_program import Claim
from curta.machine.instructions import COMPARISONS, CORE, CoreInstruction
from curta.machine.lower.code import Callee, Label, WasmLocation
from curta.machine.lower.registers import Registers

INVERTED = {f"jump_{name}": f"jump_{CORE[name].inverse}" for name in COMPARISONS}
"""The jump that is taken when this one is not."""
_ENDS = frozenset(("jump", "jump_table", "return", "exit", "trap"))


class JumpTarget(NamedTuple):
    """Where jumps lead to."""

    label: Label


class Line(NamedTuple):
    """An instruction without its target. `targets` is where it may jump within the function: one,
    or those of a jump_table; `callee` is the function that a call or a jump leads to.
    """

    instruction: CoreInstruction
    place: WasmLocation | None
    targets: tuple[Label, ...] = ()
    callee: Callee | None = None

    @property
    def ends(self) -> bool:
        """Whether the next line is not reached from this one."""
        return self.instruction.operation in _ENDS

    @property
    def goes_on(self) -> bool:
        """Whether this is a jump to another place of the same function, and nothing else."""
        return bool(self.targets) and self.instruction.operation == "jump"

    @property
    def branches(self) -> bool:
        return bool(self.targets) and self.instruction.operation in INVERTED

    @property
    def entries(self) -> tuple[Label, ...]:
        """The targets that are instructions of their own."""
        return self.targets if self.instruction.operation == "jump_table" else ()

    def inverted(self, targets: tuple[Label, ...]) -> Line:
        """A branch that is taken when this one is not, and then leads elsewhere."""
        operation = INVERTED[self.instruction.operation]
        return self._replace(
            instruction=replace(self.instruction, operation=operation), targets=targets
        )


Lines = list[Line | JumpTarget]


@dataclass(slots=True)
class Flat:
    """A function; `frame` is how many registers it uses."""

    callee: Callee
    name: str
    lines: Lines
    frame: int
    registers: Registers
    claim: Callable[[Label], Claim | None]
    """What holds where a block begins."""
    inlined: Mapping[WasmLocation, Callee]
    """Calls that have their function in line."""


def arrange(flat: Flat) -> Flat:
    """Leave out what a function does not need."""
    lines = _thread(flat.lines)
    while len(fewer := _without_detours(_reached(lines))) < len(lines):
        lines = fewer
    flat.lines = fewer
    return flat


def _thread(lines: Lines) -> Lines:
    """Let jumps lead to where they end up."""
    first: dict[Label, Line] = {}
    """The line behind each label."""
    following = None
    for line in reversed(lines):
        if isinstance(line, Line):
            following = line
        elif following is not None:
            first[line.label] = following

    def last(label: Label) -> Label:
        """Where one ends up."""
        seen = set()
        while label not in seen and first[label].goes_on:
            seen.add(label)
            (label,) = first[label].targets
        return label

    threaded: Lines = []
    for line in lines:
        if isinstance(line, Line) and line.targets:
            line = line._replace(targets=tuple(map(last, line.targets)))
            there = first[line.targets[0]]
            if line.goes_on and there.ends and not there.targets:
                line = there
        threaded.append(line)
    return threaded


def _used(lines: Lines) -> set[Label]:
    return {label for line in lines if isinstance(line, Line) for label in line.targets}


def _reached(lines: Lines) -> Lines:
    """Without what comes after an end and before a label that is used."""
    used = _used(lines)
    kept: Lines = []
    live = True
    for line in lines:
        live = live or (isinstance(line, JumpTarget) and line.label in used)
        if live:
            kept.append(line)
            live = isinstance(line, JumpTarget) or not line.ends
    return kept


def _without_detours(lines: Lines) -> Lines:
    """No jumps to the next line, and none around a jump."""
    kept: Lines = []
    """What is kept, from the end on."""
    here: set[Label] = set()
    """The labels of the next line."""
    behind: set[Label] = set()
    """Those of the line after it, if the next one is a jump."""
    used = _used(lines)
    for line in reversed(lines):
        if isinstance(line, JumpTarget):
            if line.label in used:
                here.add(line.label)
                behind = set()
        elif (line.goes_on or line.branches) and line.targets[0] in here:
            continue
        elif line.branches and line.targets[0] in behind:
            jump = kept.pop()
            assert isinstance(jump, Line)
            line = line.inverted(jump.targets)
            here, behind = set(), set()
        else:
            here, behind = set(), here if line.goes_on else set()
        kept.append(line)
    return kept[::-1]
