"""Registers: words filed when their last digit is said, found by frame and number.

The frame is a running sum too: a call moves it on, the return moves it back by as much.
"""

from __future__ import annotations

from dataclasses import dataclass

from curta.compiler import Graph, Node, at_most, both, select
from curta.machine.instructions import FIRST_FRAME, GLOBALS, WORD
from curta.machine.parts.program import Program
from curta.machine.parts.token import Token

MOST_FRAME = 1 << 22
NOWHERE = 0


@dataclass(frozen=True)
class Registers:
    """The sources of the instruction to execute."""

    a: Node
    b: Node
    c: Node
    frame: Node
    """Where the current frame begins, counted from the first."""


def register_parts(graph: Graph, token: Token, program: Program) -> Registers:
    called = both(token.is_jump, program.done.is_any("call", "call_to"))
    returned = both(token.is_jump, program.done.is_any("return"))
    moved = graph.gate(called, program.done.immediate) - graph.gate(returned, program.frame_before)
    frame = graph.assume(graph.running_sum(graph.assume(moved, -65535, 65535)), 0, MOST_FRAME)
    frame = frame.named("frame")

    def place(field: Node) -> Node:
        return field + graph.gate(at_most(field, GLOBALS - 1), frame + FIRST_FRAME)

    written = place(program.done.d)
    key = graph.gate(token.ends_word, written) + graph.gate(called, frame + FIRST_FRAME)
    value = select(called, program.done_at + 1, token.word)
    value = graph.assume(value, 0, WORD - 1).named("word")
    key = graph.assume(key, 0, MOST_FRAME + 2 * FIRST_FRAME).named("register written")

    def read(field: Node, name: str) -> Node:
        found = graph.lookup(query=place(field), key=key, value=value, missing=0)
        return found.named(name)

    immediate = program.now.immediate_mode
    return Registers(
        a=read(program.now.a, "source a"),
        b=select(immediate, program.now.immediate, read(program.now.b, "source b")),
        c=read(program.now.c, "source c"),
        frame=frame,
    )
