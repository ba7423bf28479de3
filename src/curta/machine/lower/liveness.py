"""Which values are read later: sets of values as the bits of a number."""

from __future__ import annotations

from collections.abc import Iterable

from curta.machine.lower.code import (
    Code,
    Label,
    Return,
    TailCall,
    Value,
    edges,
    end_uses,
    reads,
    writes,
)


def bits_of(values: Iterable[Value]) -> int:
    """The set as a number."""
    found = 0
    for value in values:
        found |= 1 << value
    return found


def members(bits: int) -> list[Value]:
    """The places of the ones."""
    found = []
    while bits:
        lowest = bits & -bits
        found.append(lowest.bit_length() - 1)
        bits ^= lowest
    return found


def live_before(code: Code) -> dict[Label, int]:
    """For every block the values that are read in it or later, and written before it.

    Its own parameters are not among them, and no constants. Where to return to counts as one more
    value, number `next_value`.
    """
    constants = code.constants.keys()
    used: dict[Label, int] = {}
    kept: dict[Label, int] = {}
    ways: dict[Label, tuple[Label, ...]] = {}
    for label, block in code.blocks.items():
        written = set(block.parameters)
        read: set[Value] = set()
        for step in block.steps:
            read.update(value for value in reads(step) if value not in written)
            written.update(writes(step))
        read.update(value for value in end_uses(block.end) if value not in written)
        used[label] = bits_of(read - constants)
        if isinstance(block.end, Return | TailCall):
            used[label] |= 1 << code.next_value
        kept[label] = ~bits_of(written)
        ways[label] = tuple(edge.label for edge in edges(block.end))
    live = used.copy()
    changed = True
    while changed:
        changed = False
        for label in reversed(code.blocks):
            now = used[label]
            for way in ways[label]:
                now |= live[way] & kept[label]
            if now != live[label]:
                live[label] = now
                changed = True
    return live
