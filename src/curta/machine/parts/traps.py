"""What stops a program."""

from __future__ import annotations

from dataclasses import dataclass

from curta.compiler import Graph, Node, both
from curta.machine.instructions import CORE, TRAPS
from curta.machine.parts.division import Division
from curta.machine.parts.memory import MemoryAccess
from curta.machine.parts.program import ProgramState
from curta.machine.parts.registers import Registers


@dataclass(frozen=True)
class Traps:
    any: Node
    """1 if the instruction to execute traps."""
    kind: Node


def trap_parts(
    graph: Graph,
    program: ProgramState,
    registers: Registers,
    memory: MemoryAccess,
    division: Division,
) -> Traps:
    now = program.now

    def may(reason: str) -> Node:
        return now.is_any(*(name for name, one in CORE.items() if reason in one.traps))

    asked = now.is_any("trap")
    reasons = {
        "integer divide by zero": both(may("integer divide by zero"), division.by_zero),
        "integer overflow": both(may("integer overflow"), division.overflow),
        "out of bounds memory access": memory.out_of_bounds,
        "call stack exhausted": both(may("call stack exhausted"), 1 - registers.may_call),
    }
    kind = graph.gate(asked, now.immediate)
    for name, holds in reasons.items():
        kind = kind + TRAPS.index(name) * holds
    happens = asked + sum(reasons.values(), graph.constant(0))
    return Traps(both(program.running, happens), kind)
