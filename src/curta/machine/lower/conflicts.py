"""Conflicts: which values cannot share a register, and which ones live across calls.

Two values conflict where one is written while the other is read later. Values that are read from
a shared register, or only computed to be written to one, may stay there, unless the register
changes while they are read.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from curta.machine.lower.code import (
    Block,
    Call,
    Code,
    Label,
    Return,
    Step,
    TailCall,
    Value,
    edges,
    end_reads,
    reads,
    writes,
)
from curta.machine.lower.liveness import bits_of, live_before
from curta.machine.lower.operations import GET, SET, may_trap

Site = tuple[Label, int]


@dataclass(slots=True)
class Conflicts:
    """Sets of values are numbers (liveness.py). `of` has those that are read later, when a value is
    written: it conflicts with these, and they with it. `across` has a set for every call, by its
    block and its place there; `returned` is where to return to, as if that were a value.
    """

    returned: Value
    of: dict[Value, int] = field(default_factory=dict)
    across: dict[Site, int] = field(default_factory=dict)
    in_shared: dict[Value, int] = field(default_factory=dict)
    """The shared registers of values that lie in one."""
    live: dict[Label, int] = field(default_factory=dict)
    """The values that are read from each block on."""
    returning: set[Label] = field(default_factory=set)
    """Blocks after which the function may return."""


def find_conflicts(code: Code) -> Conflicts:
    return _Finder(code).run()


class _Finder:
    def __init__(self, code: Code) -> None:
        self.code = code
        self.early = _computed_in_place(code)
        self.wanted = self.early.copy()
        self.shared = {
            step.immediate: 0
            for block in code.blocks.values()
            for step in block.steps
            if isinstance(step, Step) and step.operation in (GET, SET)
        }
        """For each shared register the values that are read after it has changed."""
        self.found = Conflicts(code.next_value)

    def run(self) -> Conflicts:
        code, found = self.code, self.found
        live = found.live = live_before(code)
        back = 1 << found.returned
        returning = found.returning = self._returning()
        for label, block in code.blocks.items():
            after = back if label in returning else 0
            for edge in edges(block.end):
                after |= live[edge.label]
                after |= bits_of(v for v in edge.arguments if v not in code.constants)
            self._walk(block, after)
        for value, register in self.wanted.items():
            if not self.shared[register] >> value & 1:
                found.in_shared[value] = register
        return found

    def _returning(self) -> set[int]:
        """Blocks after which the function may return."""
        before: dict[int, list[int]] = {}
        for label, block in self.code.blocks.items():
            for edge in edges(block.end):
                before.setdefault(edge.label, []).append(label)
        waiting = [
            label
            for label, block in self.code.blocks.items()
            if isinstance(block.end, Return | TailCall)
        ]
        found = set(waiting)
        while waiting:
            new = [label for label in before.get(waiting.pop(), ()) if label not in found]
            found.update(new)
            waiting += new
        return found

    def _walk(self, block: Block, live: int) -> None:
        constants, of, shared = self.code.constants, self.found.of, self.shared
        for value in end_reads(block.end):
            if value not in constants:
                live |= 1 << value
        for index in range(len(block.steps) - 1, -1, -1):
            step = block.steps[index]
            written = writes(step)
            for value in written:
                live &= ~(1 << value)
            if isinstance(step, Call):
                self.found.across[block.label, index] = live
                if shared:
                    self._call(step, live)
                together = bits_of(written)
                for value in written:
                    of[value] = live | together & ~(1 << value)
            elif written:
                of[written[0]] = live
                if shared:
                    self._write(step, live)
            elif step.operation == SET:
                assert step.c is not None
                shared[step.immediate] |= live & ~(1 << step.c)
            for value in reads(step):
                if value not in constants:
                    live |= 1 << value
        together = bits_of(block.parameters)
        for value in block.parameters:
            of[value] = (live | together) & ~(1 << value)
        if block is self.code.entry and live >> self.found.returned & 1:
            of[self.found.returned] = (live | together) & ~(1 << self.found.returned)

    def _call(self, call: Call, live: int) -> None:
        """Functions of the same module may change all that is shared."""
        if call.callee is None or call.callee[0] == self.code.callee[0]:
            for register in self.shared:
                self.shared[register] |= live

    def _write(self, step: Step, live: int) -> None:
        assert step.d is not None
        register = self.early.get(step.d)
        if register is not None:
            self.shared[register] |= live & ~(1 << step.d)
        elif step.operation == GET:
            self.wanted[step.d] = step.immediate


def _computed_in_place(code: Code) -> dict[Value, int]:
    """Values that can be computed in the shared register which they are to be written to: between
    the two nobody reads it, nor could what follows a trap.
    """
    found: dict[Value, int] = {}
    for block in code.blocks.values():
        computed: dict[Value, int] = {}
        touched: dict[int, int] = {}
        last_stop = -1
        for index, step in enumerate(block.steps):
            if isinstance(step, Call):
                last_stop = index
                continue
            if step.operation == GET:
                touched[step.immediate] = index
            elif step.operation == SET and step.c is not None:
                at = computed.get(step.c, -1)
                since = max(last_stop, touched.get(step.immediate, 0), 0)
                if step.c not in found and at >= since:
                    found[step.c] = step.immediate
                touched[step.immediate] = index
            elif may_trap(step, code):
                last_stop = index
            if step.d is not None:
                computed[step.d] = index
    return found
