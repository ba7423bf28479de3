"""What stops a program."""

from __future__ import annotations

from dataclasses import dataclass

from curta.compiler import Graph, Node, both
from curta.machine.instructions import DIVISIONS, TRAPS
from curta.machine.parts.division import Division
from curta.machine.parts.memory import Memory
from curta.machine.parts.program import Program
from curta.machine.parts.registers import Registers


@dataclass(frozen=True)
class Traps:
    any: Node
    """1 if the instruction to execute traps."""
    kind: Node


def trap_parts(
    graph: Graph, program: Program, registers: Registers, memory: Memory, division: Division
) -> Traps:
    now = program.now
    asked = now.is_any("trap")
    divides = now.is_any(*DIVISIONS)
    reasons = {
        "integer divide by zero": both(divides, division.by_zero),
        "integer overflow": both(now.is_any("div_s"), division.overflow),
        "out of bounds memory access": memory.out_of_bounds,
        "call stack exhausted": both(now.is_any("call", "call_to"), 1 - registers.may_call),
    }
    kind = graph.gate(asked, now.immediate)
    for name, holds in reasons.items():
        kind = kind + TRAPS.index(name) * holds
    happens = asked + sum(reasons.values(), graph.constant(0))
    return Traps(both(program.running, happens), kind)
