"""Which values are read later: sets of values as the bits of a number."""

from __future__ import annotations

from collections.abc import Iterable

from curta.machine.lower.code import (
    Block,
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


def find_uses(block: Block) -> tuple[list[Value], set[Value]]:
    """What a block writes, and what it reads that it has not written before."""
    written = list(block.parameters)
    here = set(written)
    wanted: set[Value] = set()
    for step in block.steps:
        wanted.update([value for value in reads(step) if value not in here])
        written += writes(step)
        here.update(writes(step))
    wanted.update([value for value in end_uses(block.end) if value not in here])
    return written, wanted


def live_before(code: Code) -> dict[Label, int]:
    """For every block the values that are read in it or later, and written before it.

    Its own parameters are not among them. Where to return to counts as one more value, number
    `next_value`.
    """
    used: dict[Label, int] = {}
    kept: dict[Label, int] = {}
    for label, block in code.blocks.items():
        written, wanted = find_uses(block)
        used[label] = bits_of(wanted)
        kept[label] = ~bits_of(written)
        if isinstance(block.end, Return | TailCall):
            used[label] |= 1 << code.next_value
    ways = {label: [edge.label for edge in edges(b.end)] for label, b in code.blocks.items()}
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
