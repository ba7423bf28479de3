"""Which values are read later: sets of values as the bits of a number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from curta.machine.lower.code import Code, Label, Value, edges, end_reads, reads, writes


def bits_of(values: Iterable[Value]) -> int:
    """The set as a number."""
    found = 0
    for value in values:
        found |= 1 << value
    return found


def members(bits: int) -> Iterator[Value]:
    """The places of the ones."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def live_before(code: Code) -> dict[Label, int]:
    """For every block the values that are read in it or later, and written before it.

    Its own parameters are not among them, and no constants.
    """
    used: dict[Label, int] = {}
    kept: dict[Label, int] = {}
    ways: dict[Label, tuple[Label, ...]] = {}
    for label, block in code.blocks.items():
        read = set(end_reads(block.end))
        out = edges(block.end)
        for edge in out:
            read.update(edge.arguments)
        written = set(block.parameters)
        for step in reversed(block.steps):
            here = writes(step)
            written.update(here)
            read.difference_update(here)
            read.update(reads(step))
        read.difference_update(block.parameters)
        used[label] = bits_of(read - code.constants.keys())
        kept[label] = ~bits_of(written)
        ways[label] = tuple(edge.label for edge in out)
    live = used.copy()
    changed = True
    backwards = list(reversed(code.blocks))
    while changed:
        changed = False
        for label in backwards:
            now = used[label]
            for way in ways[label]:
                now |= live[way] & kept[label]
            if now != live[label]:
                live[label] = now
                changed = True
    return live
