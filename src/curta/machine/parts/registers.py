"""Registers: words filed when their last digit is said, found by frame and number.

The frame is a running sum too: a call moves it on, the return moves it back by as much, and the end
of a run takes it to where it began.
"""

from __future__ import annotations

from dataclasses import dataclass

from curta.compiler import Graph, Node, at_most, back, both, minimum, select
from curta.machine.instructions import FRAME_REGISTERS, GLOBALS, LARGEST_FRAME, MEMORY_PAGES, WORD
from curta.machine.parts.operations import Sources
from curta.machine.parts.program import ProgramState, since_reset
from curta.machine.parts.token import Token
from curta.machine.parts.words import word_of
from curta.machine.vocabulary import ADDRESS_BYTES, FRAME, LAST, REGISTERS, START

FIRST_FRAME = 2 * GLOBALS
NOWHERE = FRAME_REGISTERS + 2 * FIRST_FRAME
"""Where tokens file that write no register. It is above all that is asked for, which is at most
FIRST_FRAME + FRAME_REGISTERS + GLOBALS - 1.
"""


@dataclass(frozen=True)
class Registers:
    """The sources of the instruction to execute, and what else is kept in registers."""

    sources: Sources
    frame: Node
    """Where the current frame begins, counted from the first."""
    may_call: Node
    """1 if a frame of any size would fit above the one that a call makes."""
    memory_pages: Node


def register_parts(graph: Graph, token: Token, program: ProgramState) -> Registers:
    called = graph.gate(token.is_jump, program.done.is_any("call", "call_to"))
    returned = graph.gate(token.is_jump, program.done.is_any("return"))
    moved = graph.gate(called, program.done.immediate) - graph.gate(returned, program.frame_before)
    moved = moved + graph.gate(back(ADDRESS_BYTES, graph.is_token(FRAME)), token.number)
    moved = graph.assume(moved, -LARGEST_FRAME, LARGEST_FRAME)
    frame = since_reset(graph, graph.running_sum(moved), token.ends_run)
    frame = graph.assume(frame, 0, FRAME_REGISTERS).named("frame")
    frame_before = frame - graph.gate(called, program.done.immediate)

    def place(field: Node, base: Node) -> Node:
        return field + graph.gate(at_most(field, GLOBALS - 1), base + FIRST_FRAME)

    written = place(program.done.d, graph.assume(frame_before, -LARGEST_FRAME, FRAME_REGISTERS))
    writes = both(program.running, token.ends_word) + called
    is_given = both(token.ends_word, 1 - program.running)
    key = graph.gate(writes, written) + graph.gate(is_given, given_register(graph, token))
    key = key + NOWHERE * (1 - writes - is_given)
    value = select(called, program.done_at + 1, token.word)
    value = graph.assume(value, 0, WORD - 1).named("word")
    key = graph.assume(key, 0, NOWHERE).named("register written")

    def read(query: object, name: str) -> Node:
        found = graph.lookup(query=query, key=key, value=value, missing=0)
        return found.named(name)

    now = program.now
    # A target has three bytes: it could be above NOWHERE.
    fourth = graph.gate(
        now.is_any(*now.operations.with_fourth()), minimum(now.target, 2 * GLOBALS - 1)
    )
    fields = {"a": now.a, "b": now.b, "c": now.c, "e": fourth}
    a, b, c, e = (read(place(field, frame), f"source {name}") for name, field in fields.items())
    second = select(now.immediate_mode, now.immediate, b).named("second source")
    return Registers(
        sources=Sources(word_of(a), word_of(second), word_of(c), word_of(e)),
        frame=frame,
        may_call=at_most(frame + now.immediate, FRAME_REGISTERS - LARGEST_FRAME),
        memory_pages=read(MEMORY_PAGES, "memory pages"),
    )


def given_register(graph: Graph, token: Token) -> Node:
    """The register whose word ends here in a prompt."""
    ends = back(ADDRESS_BYTES, graph.is_token(REGISTERS)) + graph.is_token(START)
    count = graph.running_sum(graph.is_token(*LAST)).named("words so far")
    first = graph.lookup(query=1, key=ends, value=token.number - count - 1, missing=0)
    return first.named("registers begin") + count
