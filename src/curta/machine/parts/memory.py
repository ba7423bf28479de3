"""Memory in four lanes: lane k holds byte k of every aligned word, under the word's number.

An access at any address needs each lane once: the lanes before it in its word belong to the next
word. A store files its bytes at the very position that executes it; the token `stored` that comes
next only says so. Bytes of the prompt are filed in the same way, at their own positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from curta.compiler import Graph, Node, at_least, back, both, count_reached, equals, select
from curta.machine.core_program import PRIVATE
from curta.machine.instructions import CORE, PAGE, WORD
from curta.machine.parts.program import ProgramState
from curta.machine.parts.registers import Registers
from curta.machine.parts.words import digits_of, from_digits, wrapped
from curta.machine.vocabulary import ADDRESS_BYTES, AT, DATA, START

LANES = range(4)
NOWHERE = 3 << 9
"""A highest digit of a word's number that no address has: not even a sum of two that exclude
each other, so that tables can be seen never to look there."""


@dataclass(frozen=True)
class MemoryAccess:
    """The access of the instruction to execute, if it has one."""

    loaded: Node
    out_of_bounds: Node


@dataclass(frozen=True)
class Address:
    """Where an access begins: the byte in its word, and per lane the number of the word."""

    byte: tuple[Node, ...]
    """Which of the four bytes: 1 for one of them, 0 for the others."""
    words: tuple[tuple[Node, ...], ...]
    """In three digits, the highest first: neighbours in memory are neighbours in a table."""


def memory_parts(
    graph: Graph, number: Node, program: ProgramState, registers: Registers
) -> MemoryAccess:
    now, sources = program.now, registers.sources
    is_data = graph.is_token(*DATA).named("is data")
    stores = now.operations.of_kind("store")
    names = [*now.operations.of_kind("load"), *stores]
    accesses = both(program.running, now.is_any(*names))
    private = both(program.running, now.is_any(*(n for n in names if not CORE[n].has_bounds)))
    index = graph.gate(1 - now.immediate_mode, sources.b.number)
    place = graph.gate(accesses, wrapped(sources.a.number + index) + now.immediate)
    size = sum(
        (
            size * now.is_any(*(name for name in names if CORE[name].size == size))
            for size in (1, 2, 4)
        ),
        graph.constant(0),
    )
    beyond = at_least(place + size - PAGE * registers.memory_pages, 1)
    out_of_bounds = both(accesses, 1 - private, beyond)
    at = place + PRIVATE * private + graph.gate(is_data, data_address(graph, number))
    at = graph.assume(at, 0, 3 * PRIVATE - 1).named("address")
    address = address_of(graph, at)
    sizes = [graph.constant(1), at_least(size, 2), at_least(size, 3), at_least(size, 4)]
    storing = both(program.running, now.is_any(*stores), 1 - out_of_bounds)
    byte = graph.feature("data byte", {name: b for b, name in enumerate(DATA)})
    given = sources.c.bytes
    lowest = byte + graph.gate(storing, given[0])
    reach = [both(storing, sizes[n]) for n in LANES]
    lanes = file_lanes(graph, address, (lowest, *given[1:]), (reach[0] + is_data, *reach[1:]))
    return MemoryAccess(loaded(graph, program, address, lanes, sizes), out_of_bounds)


def data_address(graph: Graph, number: Node) -> Node:
    """Where the byte lies that this token of the prompt says."""
    ends = back(ADDRESS_BYTES, graph.is_token(AT)) + graph.is_token(START)
    origin = number - graph.position - 1
    first = graph.lookup(query=1, key=ends, value=origin, missing=0).named("data begins")
    return graph.assume(
        graph.gate(graph.is_token(*DATA), first + graph.position), 0, 3 * PRIVATE - 1
    )


def address_of(graph: Graph, at: Node) -> Address:
    """Split an address: 2 bits for the byte in the word, then 10, 12 and 10 for the word."""
    digits = digits_of(at, 9)
    quarter = count_reached(digits[0], (4, 8, 12))
    offset = digits[0] - 4 * quarter
    word = (
        quarter + 4 * digits[1] + 64 * digits[2],
        from_digits(digits[3:6]),
        from_digits(digits[6:]),
    )
    carry = at_least(word[0], 2**10 - 1)
    carry_on = both(carry, at_least(word[1], 2**12 - 1))
    following = (
        word[0] + 1 - 2**10 * carry,
        word[1] + carry - 2**12 * carry_on,
        word[2] + carry_on,
    )
    byte = tuple(equals(offset, n) for n in LANES)
    lanes = []
    for lane in LANES[:-1]:
        is_next = at_least(offset, lane + 1)
        pairs = zip(word, following, strict=True)
        lanes.append(tuple(select(is_next, later, here) for here, later in pairs))
    # No lane is before the last: it never is of the next word.
    return Address(byte, tuple(digits[::-1] for digits in (*lanes, word)))


def file_lanes(
    graph: Graph, address: Address, content: Sequence[Node], reach: Sequence[Node]
) -> list[Node]:
    """Store where byte n of the access is there (`reach`); fetch what every lane holds."""
    lanes = []
    for lane in LANES:
        # Byte n of the access lies in this lane if the access begins n lanes before it.
        begins = [address.byte[(lane - n) % 4] for n in LANES]
        value = sum(
            (graph.gate(here, byte) for here, byte in zip(begins, content, strict=True)),
            graph.constant(0),
        )
        written = sum(
            (both(here, there) for here, there in zip(begins, reach, strict=True)),
            graph.constant(0),
        )
        word = address.words[lane]
        key = (select(written, word[0], NOWHERE), *word[1:])
        value = graph.assume(value, 0, 255).named(f"byte for lane {lane}")
        found = graph.lookup(query=word, key=key, value=value, missing=0)
        lanes.append(found.named(f"lane {lane}"))
    return lanes


def loaded(
    graph: Graph,
    program: ProgramState,
    address: Address,
    lanes: Sequence[Node],
    sizes: Sequence[Node],
) -> Node:
    """The word that a load gives."""
    content = []
    for n in LANES:
        begins = [graph.gate(address.byte[at], lanes[(at + n) % 4]) for at in LANES]
        content.append(sum(begins, graph.constant(0)))
    unsigned = content[0] + sum(
        (256**n * graph.gate(sizes[n], content[n]) for n in LANES[1:]), graph.constant(0)
    )
    now = program.now
    minus8 = both(now.is_any("load8_s"), at_least(content[0], 128))
    minus16 = both(now.is_any("load16_s"), at_least(content[1], 128))
    return unsigned + (WORD - 2**8) * minus8 + (WORD - 2**16) * minus16
