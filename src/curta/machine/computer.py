"""The machine's graph: all parts together."""

from __future__ import annotations

from collections.abc import Sequence

from curta.compiler import Graph, Node, both, select
from curta.garbage import uncollected
from curta.machine.instructions import CoreInstruction
from curta.machine.parts.arithmetic import comparisons, results
from curta.machine.parts.division import division_parts
from curta.machine.parts.floats import float_parts, float_results
from curta.machine.parts.memory import memory_parts
from curta.machine.parts.operations import Extension, Operations
from curta.machine.parts.program import (
    Baked,
    Fields,
    Filing,
    ProgramState,
    is_running,
    program_parts,
)
from curta.machine.parts.registers import Registers, register_parts
from curta.machine.parts.speech import Speaker
from curta.machine.parts.token import token_parts
from curta.machine.parts.traps import trap_parts
from curta.machine.vocabulary import AWAIT, EXIT, READ, TRAP_TOKENS, vocabulary


@uncollected()
def build(
    extensions: Sequence[Extension] = (), baked: Sequence[CoreInstruction] | None = None
) -> Graph:
    """A computer that runs the program in its prompt, or the one that is baked into it."""
    operations = Operations(extensions)
    graph = Graph(vocabulary(operations.names if baked is None else ()))
    token = token_parts(graph)
    running = is_running(graph)
    fields = fields_of(graph, operations, running, baked)
    program = program_parts(graph, token, fields, running)
    registers = register_parts(graph, token, program)
    memory = memory_parts(graph, token.number, program, registers)
    division = division_parts(program.now, registers.sources)
    traps = trap_parts(graph, program, registers, memory, division)
    say = Speaker(graph, token, program, traps)
    found = {
        **results(program.now, registers.sources),
        **division.results,
        **float_results(float_parts(program.now, registers.sources)),
        **{e.name: e.result(registers.sources) for e in operations.extensions},
        **dict.fromkeys(operations.of_kind("load"), memory.loaded),
    }
    say.word(found)
    say.jump(distance(graph, program, registers))
    say.others(registers.sources.b)
    graph.stop_after(READ, AWAIT, EXIT, *TRAP_TOKENS)
    return graph


def fields_of(
    graph: Graph, operations: Operations, running: Node, baked: Sequence[CoreInstruction] | None
) -> Fields:
    return Filing(graph, operations, running) if baked is None else Baked(operations, baked)


def distance(graph: Graph, program: ProgramState, registers: Registers) -> Node:
    """How far the current instruction jumps; 1 if it does not."""
    now, a, b = program.now, registers.sources.a, registers.sources.b
    taken = now.is_any("jump", "call")
    for name, test in comparisons(a, b).items():
        taken = taken + both(now.is_any(f"jump_{name}"), test)
    indirect = now.is_any("call_to", "return")
    to = graph.gate(taken, now.target) + graph.gate(indirect, a.number)
    smaller = select(comparisons(a, b)["lt_u"], a.number, b.number)
    past = graph.gate(now.is_any("jump_table"), smaller)
    away = select(taken + indirect, to - program.counter, past + 1)
    return graph.assume(away, -(2**20), 2**20).named("distance")
