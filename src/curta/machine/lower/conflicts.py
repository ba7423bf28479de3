"""Conflicts: which values are read later; which cannot share a register, and which ones live across
calls. Sets of values are the bits of numbers.

Two values conflict where one is written while the other is read later. Values that are read from
a shared register, or only computed to be written to one, may stay there, unless the register
changes while they are read.
"""

from __future__ import annotations

from collections.abc import Iterable

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
    end_uses,
    reads,
    writes,
)
from curta.machine.lower.operations import GET, SET, may_trap, shared_registers

Site = tuple[Label, int]


def bits_of(values: Iterable[Value]) -> int:
    """The set as a number."""
    found = 0
    for value in values:
        found |= 1 << value
    return found


def members(bits: int) -> list[Value]:
    """The places of the ones."""
    found = []
    while bits:
        lowest = bits & -bits
        found.append(lowest.bit_length() - 1)
        bits ^= lowest
    return found


def find_uses(block: Block) -> tuple[list[Value], set[Value]]:
    """What a block writes, and what it reads that it has not written before."""
    written = list(block.parameters)
    here = set(written)
    wanted: set[Value] = set()
    for step in block.steps:
        wanted.update([value for value in reads(step) if value not in here])
        written += writes(step)
        here.update(writes(step))
    wanted.update([value for value in end_uses(block.end) if value not in here])
    return written, wanted


def live_before(code: Code) -> dict[Label, int]:
    """For every block the values that are read in it or later, and written before it.

    Its own parameters are not among them. Where to return to counts as one more value, number
    `next_value`.
    """
    used: dict[Label, int] = {}
    kept: dict[Label, int] = {}
    for label, block in code.blocks.items():
        written, wanted = find_uses(block)
        used[label] = bits_of(wanted)
        kept[label] = ~bits_of(written)
        if isinstance(block.end, Return | TailCall):
            used[label] |= 1 << code.next_value
    ways = {label: [edge.label for edge in edges(b.end)] for label, b in code.blocks.items()}
    live = used.copy()
    changed = True
    while changed:
        changed = False
        for label in reversed(code.blocks):
            now = used[label]
            for way in ways[label]:
                now |= live[way] & kept[label]
            if now != live[label]:
                live[label] = now
                changed = True
    return live


class Conflicts:
    """`of` has those that are read later, when a value is
    written: it conflicts with these, and they with it. `across` has a set for every call, by its
    block and its place there; `returned` is where to return to, as if that were a value. `live` are
    the values that are read from each block on, `unread` those that nobody reads. `in_shared` has
    the shared registers of values that lie in one. Constants are in the sets, and do not matter.
    """

    def __init__(self, code: Code) -> None:
        self.code = code
        self.returned = code.next_value
        self.of: dict[Value, int] = {}
        self.across: dict[Site, int] = {}
        self.unread = 0
        self.live = live_before(code)
        self.shared = dict.fromkeys(shared_registers(code), 0)
        """For each shared register the values that are read after it has changed."""
        self.early = _computed_in_place(code)
        self.wanted = self.early.copy()
        for block in code.blocks.values():
            self._walk(block)
        self.in_shared = {
            value: register
            for value, register in self.wanted.items()
            if not self.shared[register] >> value & 1
        }

    def _walk(self, block: Block) -> None:
        of, shared = self.of, self.shared
        live = bits_of(end_uses(block.end))
        for edge in edges(block.end):
            live |= self.live[edge.label]
        if isinstance(block.end, Return | TailCall):
            live |= 1 << self.returned
        for index in range(len(block.steps) - 1, -1, -1):
            step = block.steps[index]
            written = writes(step)
            together = bits_of(written)
            self.unread |= together & ~live
            live &= ~together
            for value in written:
                of[value] = live | together & ~(1 << value)
            if isinstance(step, Call):
                self.across[block.label, index] = live
                if shared:
                    self._call(step, live)
            elif shared:
                self._share(step, live)
            live |= bits_of(reads(step))
        begun = block.parameters
        if block is self.code.entry and live >> self.returned & 1:
            begun = (*begun, self.returned)
        self.unread |= bits_of(begun) & ~live
        together = live | bits_of(begun)
        for value in begun:
            of[value] = together & ~(1 << value)

    def _call(self, call: Call, live: int) -> None:
        """Functions of the same module may change all that is shared."""
        if call.callee is None or call.callee[0] == self.code.callee[0]:
            for register in self.shared:
                self.shared[register] |= live

    def _share(self, step: Step, live: int) -> None:
        """Reading and writing shared registers, and computing values in them."""
        if step.operation == SET and step.c is not None:
            self.shared[step.immediate] |= live & ~(1 << step.c)
        elif step.d in self.early:
            self.shared[self.early[step.d]] |= live & ~(1 << step.d)
        elif step.operation == GET and step.d is not None:
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
