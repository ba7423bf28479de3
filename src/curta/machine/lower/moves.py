"""Moves: copies that happen at once, in an order in which nothing is overwritten too early."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple


class Word(NamedTuple):
    """A constant that a register is to hold."""

    word: int


Move = tuple[int, "int | Word"]
"""The register that is written, and where its content comes from."""


def in_turn(moves: Mapping[int, int | Word], scratch: int) -> Iterator[Move]:
    """The same moves, in an order in which each can be done; circles are broken by a register that
    nothing else is in.
    """
    waiting = {d: source for d, source in moves.items() if d != source}
    readers: dict[int | Word, int] = {}
    for source in waiting.values():
        readers[source] = readers.get(source, 0) + 1
    ready = [d for d in waiting if d not in readers]
    while waiting:
        while ready:
            d = ready.pop()
            source = waiting.pop(d)
            yield d, source
            readers[source] -= 1
            if not readers[source] and source in waiting:
                ready.append(source)
        if waiting:
            d = next(iter(waiting))
            yield scratch, d
            readers[scratch], readers[d] = readers[d], 0
            waiting = {x: scratch if s == d else s for x, s in waiting.items()}
            ready.append(d)
