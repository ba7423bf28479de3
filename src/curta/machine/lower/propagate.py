"""Propagate: what is known of registers, carried forward as far as no label comes.

- a copy of a register is as good as the register
- an address that is a sum may be left to the access (if the machine adds two registers)

What nobody reads any more is dropped later, by `optimise`.
"""

from __future__ import annotations

from curta.machine.instructions import GLOBALS, kind_of
from curta.machine.lower.code import LABEL, FunctionCode, Step
from curta.machine.lower.context import SharedRegisters

_CALLS = ("call", "call_to")
_PRIVATE = ("peek8", "peek32", "poke8", "poke32")


def propagate(code: FunctionCode, registers: SharedRegisters | None) -> None:
    """Change the sources of steps. Sums become addresses if shared registers are given."""
    facts = _Facts(registers)
    for step in code.steps:
        name = step.name
        if name == LABEL:
            facts.forget_all()
            continue
        if facts.copies:
            facts.use_copies(step)
        if name in _CALLS:
            facts.forget_from(step.slot)
            continue
        if facts.sums and step.a in facts.sums:
            facts.use_sum(step)
        if step.d >= 0:
            facts.learn(step)


class _Facts:
    def __init__(self, registers: SharedRegisters | None) -> None:
        self.registers = registers
        self.copies: dict[int, int] = {}
        self.sums: dict[int, tuple[int, int, int]] = {}
        """Two registers that are added, or one, -1 and a constant."""
        self.sources: set[int] = set()
        """All registers that facts rest on, and maybe others."""

    def forget_all(self) -> None:
        self.copies.clear()
        self.sums.clear()
        self.sources.clear()

    def forget(self, register: int) -> None:
        self.copies.pop(register, None)
        self.sums.pop(register, None)
        if register in self.sources:
            self.copies = {d: s for d, s in self.copies.items() if s != register}
            self.sums = {d: s for d, s in self.sums.items() if register not in s[:2]}

    def forget_from(self, slot: int) -> None:
        """After a call: its frame and what all frames share has changed."""

        def lasts(*registers: int) -> bool:
            return all(register < slot for register in registers)

        self.copies = {d: s for d, s in self.copies.items() if lasts(d, s)}
        self.sums = {d: s for d, s in self.sums.items() if lasts(d, *s[:2])}

    def use_copies(self, step: Step) -> None:
        copies = self.copies
        step.a = copies.get(step.a, step.a)
        step.b = copies.get(step.b, step.b)
        step.c = copies.get(step.c, step.c)

    def use_sum(self, step: Step) -> None:
        """Let an access add."""
        kind = kind_of(step.name)
        if kind not in ("load", "store") or step.name in _PRIVATE or self.registers is None:
            return
        first, second, constant = self.sums[step.a]
        step.a = first
        step.b = second if second >= 0 else self.registers.constant(constant)

    def learn(self, step: Step) -> None:
        d = step.d
        self.forget(d)
        if step.name == "copy" and 0 <= step.b < GLOBALS and step.b != d:
            self.copies[d] = step.b
            self.sources.add(step.b)
        elif step.name == "add" and self.registers is not None and d not in (step.a, step.b):
            self.sums[d] = (step.a, step.b, step.immediate)
            self.sources.update((step.a, step.b))
