"""The machine's graph: all parts together."""

from __future__ import annotations

from curta.compiler import Graph, Node, both, select
from curta.machine.instructions import KINDS, WORD
from curta.machine.parts.arithmetic import comparisons, results
from curta.machine.parts.program import Program, program_parts
from curta.machine.parts.registers import Registers, register_parts
from curta.machine.parts.speech import say_jump, say_word
from curta.machine.parts.token import token_parts
from curta.machine.parts.words import Word, from_digits, word_of
from curta.machine.vocabulary import OUTPUT, TOKENS


def build() -> Graph:
    """A computer that runs the program in its prompt."""
    graph = Graph(TOKENS)
    token = token_parts(graph)
    program = program_parts(graph, token)
    registers = register_parts(graph, token, program)
    a, b = word_of(registers.a), word_of(registers.b)
    running = program.running
    now = program.now

    def doing(*names: str) -> Node:
        return both(running, now.is_any(*names))

    found = results(now, a, b, registers.c)
    word = graph.constant(0)
    for value in dict.fromkeys(id(node) for node in found.values()):
        names = [name for name, node in found.items() if id(node) == value]
        word = word + graph.gate(now.is_any(*names), found[names[0]])
    word = graph.assume(word, 0, WORD - 1).named("result")
    say_word(graph, token, word, when=doing(*found))
    say_jump(graph, token, distance(graph, program, registers, a, b), when=doing(*jumps()))
    graph.emit(OUTPUT, from_digits(a.digits[:2]), when=doing("write"))
    graph.emit_token("read.", when=doing("read"))
    graph.emit_token("exit.", when=doing("exit"))
    graph.emit_token("trap.", when=doing("trap"))
    graph.stop_after("read.", "exit.", "trap.")
    return graph


def jumps() -> list[str]:
    return [name for name, kind in KINDS.items() if kind == "jump"]


def distance(graph: Graph, program: Program, registers: Registers, a: Word, b: Word) -> Node:
    """How far the current instruction jumps; 1 if it does not."""
    now, one = program.now, graph.constant(1)
    taken = now.is_any("jump", "call")
    for name, test in comparisons(a, b).items():
        taken = taken + both(now.is_any(f"jump_{name}"), test) if f"jump_{name}" in KINDS else taken
    indirect = now.is_any("jump_to", "call_to", "return")
    to = graph.gate(taken, now.target) + graph.gate(indirect, registers.a)
    away = graph.assume(select(taken + indirect, to - program.counter, one), -(2**20), 2**20)
    return away.named("distance")
