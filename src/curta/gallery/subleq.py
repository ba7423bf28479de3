"""SUBLEQ: a computer with one instruction. Its program is the prompt, its run is the answer.

Memory holds integers of 16 bits. The instruction at pc is three cells a, b, c:

    memory[b] = memory[b] - memory[a];  if that is at most 0, go on at c, else at pc + 3

With a = -1 it reads the next input into memory[b]; with b = -1 it prints memory[a]; both go on at
pc + 3. A negative pc halts. Programs are self-modifying, jump into operands, loop for ever: the
whole machine is here.

Tokens. A number is two of them, its high and its low byte. The kind of the first says what it is:
"@" the pc of an instruction, "#" the address that it writes to, "v" the value written there, "o" a
value printed. So an instruction is "@ pc # b v value", six tokens, or "@ pc o value", four.

Memory is one family of lookups: every value is filed under its address when its low byte is said,
and the most recent wins. The prompt's cells have addresses 0, 1, 2, ...; later ones have the
address just said; input number k is filed under address 2**15 + k, where only a = -1 looks. (The
address has to be said. A lookup finds what earlier positions filed, and they can file only under
keys that they know without that same lookup.)

Bytes come out of the arg-max: the integer nearest to (x - 127.5) / 256 is floor(x / 256).
"""

from __future__ import annotations

from dataclasses import dataclass

from curta.compiler import Graph, Node, at_least, at_most, both, either, equals, select
from curta.gallery.idioms import fetch, has_been, latest, table
from curta.gallery.program import Case, GalleryProgram
from curta.gallery.subleq_texts import (
    ADDRESS_HIGHS,
    ADDRESSES,
    LONG_RUN,
    LOWS,
    PC_HIGHS,
    PRINTED_HIGHS,
    VALUE_HIGHS,
    decode,
    encode,
    random_input,
    reference,
)

HALF = 2**15
__all__ = ["LONG_RUN", "PROGRAM", "build"]


@dataclass(frozen=True)
class Kinds:
    """Which kind of token is here."""

    high: Node
    """The high byte that is here, 0 if none is."""
    is_high: Node
    is_value: Node
    """The low byte of a cell or of a value written."""
    is_printed: Node
    is_address: Node
    is_pc: Node
    is_end: Node


@dataclass(frozen=True)
class Step:
    """What the latest instruction does."""

    pc: Node
    """Where the next instruction is."""
    address: Node
    """Where it writes to."""
    result: Node
    """The value that is written or printed."""
    prints: Node


def build() -> Graph:
    highs = [*VALUE_HIGHS, *PRINTED_HIGHS, *ADDRESS_HIGHS, *PC_HIGHS]
    graph = Graph([*LOWS, *highs, "in", "=", "."])
    kinds = token_kinds(graph)
    number = 256 * fetch(graph.position - 1, kinds.high) + table(graph, "low byte", LOWS)
    step = execute(graph, kinds, number, Memory(graph, kinds, number))
    say(graph, kinds, step)
    return graph


def token_kinds(graph: Graph) -> Kinds:
    high = table(graph, "signed high byte", VALUE_HIGHS, first=-128)
    high += table(graph, "printed high byte", PRINTED_HIGHS, first=-128)
    high += table(graph, "address high byte", ADDRESS_HIGHS)
    high += table(graph, "pc high byte", PC_HIGHS)
    is_low, before = graph.is_token(*LOWS), graph.position - 1
    return Kinds(
        high=high,
        is_high=graph.is_token(*VALUE_HIGHS, *PRINTED_HIGHS, *ADDRESS_HIGHS, *PC_HIGHS),
        is_value=both(is_low, fetch(before, graph.is_token(*VALUE_HIGHS))),
        is_printed=both(is_low, fetch(before, graph.is_token(*PRINTED_HIGHS))),
        is_address=both(is_low, fetch(before, graph.is_token(*ADDRESS_HIGHS))),
        is_pc=both(is_low, fetch(before, graph.is_token(*PC_HIGHS))),
        is_end=graph.is_token("="),
    )


class Memory:
    """All values by address; an address of which nothing is known holds 0."""

    def __init__(self, graph: Graph, kinds: Kinds, number: Node) -> None:
        self.graph = graph
        running = has_been(kinds.is_end)
        cells = graph.running_sum(graph.is_token(*VALUE_HIGHS)) - 1
        inputs_start = latest(graph.is_token("in"), cells + 1)
        given = cells + graph.gate(has_been(graph.is_token("in")), ADDRESSES - inputs_start)
        address = select(running, fetch(graph.position - 2, number), given)
        self.filed = graph.assume(graph.gate(kinds.is_value, address + 1), 0, 2 * ADDRESSES)
        self.stored = number

    def read(self, address: Node) -> Node:
        query = self.graph.assume(address + 1, 0, 2 * ADDRESSES)
        value = self.graph.lookup(query=query, key=self.filed, value=self.stored, missing=0)
        return self.graph.assume(value, -HALF, HALF - 1)


def execute(graph: Graph, kinds: Kinds, number: Node, memory: Memory) -> Step:
    """The instruction whose pc was said last; it is worked out at the pc's low byte."""
    is_pc = kinds.is_pc
    pc = graph.assume(graph.gate(is_pc, number), 0, ADDRESSES - 4)
    a, b, c = (graph.gate(is_pc, memory.read(pc + place)) for place in range(3))
    a, b = (graph.assume(x, -1, ADDRESSES - 1) for x in (a, b))
    reads, prints = equals(a, -1), equals(b, -1)
    inputs_read = graph.running_sum(reads) - reads
    x = memory.read(select(reads, ADDRESSES + inputs_read, a))
    y = graph.gate(1 - prints, memory.read(graph.gate(1 - prints, b)))
    difference = wrapped(y - x)
    moves = either(reads, prints)
    result = select(moves, x, difference)
    jumps = both(1 - moves, at_most(difference, 0))
    return Step(
        pc=latest(is_pc, select(jumps, c, pc + 3)).named("next pc"),
        address=latest(is_pc, b).named("address"),
        result=latest(is_pc, result).named("result"),
        prints=latest(is_pc, prints),
    )


def wrapped(x: Node) -> Node:
    """x modulo 2**16, in [-2**15, 2**15)."""
    return x - 2 * HALF * at_least(x, HALF) + 2 * HALF * at_most(x, -HALF - 1)


def say(graph: Graph, kinds: Kinds, step: Step) -> None:
    finished = kinds.is_end + graph.gate(has_been(kinds.is_end), kinds.is_value + kinds.is_printed)
    halts = at_most(step.pc, -1)
    byte = high_byte(step.result) + 128
    said_pc = select(graph.is_token(*PC_HIGHS), step.pc, step.result)
    said = select(graph.is_token(*ADDRESS_HIGHS), step.address, said_pc)
    graph.emit(ADDRESS_HIGHS, high_byte(step.address), when=both(kinds.is_pc, 1 - step.prints))
    graph.emit(PRINTED_HIGHS, byte, when=both(kinds.is_pc, step.prints))
    graph.emit(VALUE_HIGHS, byte, when=kinds.is_address)
    graph.emit(LOWS, said - 256 * kinds.high, when=kinds.is_high)
    graph.emit(PC_HIGHS, high_byte(step.pc), when=both(finished, 1 - halts))
    graph.emit_token(".", when=both(finished, halts))
    graph.stop_after(".")


def high_byte(x: Node) -> Node:
    """A number whose nearest integer is floor(x / 256)."""
    return (x - 127.5) * (1 / 256)


PROGRAM = GalleryProgram(
    name="subleq",
    summary="a one-instruction computer: its program is the prompt, its run is the answer",
    build=build,
    encode=encode,
    decode=decode,
    cases=(
        Case("9 -1 3 10 -1 6 0 0 -1 72 105", "72 105"),
        Case("-1 9 3 9 -1 6 9 9 -1 0 : -321", "-321"),
        Case("0 0 -1", ""),
        Case("12 13 3 13 -1 6 12 12 -1 0 0 0 30000 -30000", "5536"),
        Case("15 16 3 16 -1 6 17 15 -1 0 0 0 0 0 0 0 5 1", "5"),
        Case("-1 15 3 15 -1 6 16 17 12 0 0 0 0 0 -1 0 1 3 : 7", "7 7 7"),
    ),
    reference=reference,
    random_input=random_input,
    max_tokens=2**25,
)
