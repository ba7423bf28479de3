"""The tokens of a conversation, kept four bytes each."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np

from curta.machine.ids import DISTANCES, ENDS, Ids
from curta.machine.vocabulary import TOKENS

LEAST, MOST = 1 << 6, 1 << 18
"""Fewest and most tokens of a block, which has as many as all those before it."""


class Trace(Sequence[str]):
    """All that was said, the prompt included, as names of tokens; `ids` has the numbers."""

    def __init__(self, tokens: Sequence[str] = TOKENS) -> None:
        self._tokens = tokens
        self._parts: list[Ids] = []
        self._ends = [0]
        """How many tokens there are up to the end of each part."""
        self._block = np.zeros(0, dtype=np.int32)
        """What the last part is the beginning of."""
        self._own = 0

    def append(self, ids: Ids) -> None:
        """Keep what was said; blocks are filled one after another, so nothing is ever moved."""
        while len(ids):
            filled = len(self._parts[-1]) if len(self._block) else 0
            if filled == len(self._block):
                size = min(max(LEAST, self._own // 4), MOST)
                self._block = np.empty(size, dtype=np.int32)
                self._own += self._block.nbytes
                filled = 0
            taken = min(len(ids), len(self._block) - filled)
            self._block[filled : filled + taken] = ids[:taken]
            if filled:
                self._parts.pop()
                self._ends.pop()
            self._add(self._block[: filled + taken])
            ids = ids[taken:]

    def share(self, ids: Ids) -> None:
        """Keep what somebody else keeps, too, and never changes."""
        self._block = self._block[:0]
        self._add(ids)

    def _add(self, part: Ids) -> None:
        self._parts.append(part)
        self._ends.append(self._ends[-1] + len(part))

    @property
    def ids(self) -> Ids:
        """A copy, as one array."""
        return np.concatenate([*self._parts, np.zeros(0, dtype=np.int32)])

    @property
    def memory_bytes(self) -> int:
        """Without what is shared."""
        return self._own

    def __len__(self) -> int:
        return self._ends[-1]

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [self._tokens[number] for number in self.ids[place].tolist()]
        at = place + len(self) if place < 0 else place
        if not 0 <= at < len(self):
            raise IndexError(f"token {place}: the trace has {len(self)}")
        part = bisect_right(self._ends, at) - 1
        return self._tokens[int(self._parts[part][at - self._ends[part]])]

    def __iter__(self) -> Iterator[str]:
        for part in self._parts:
            for token in part.tolist():
                yield self._tokens[token]

    def __repr__(self) -> str:
        return f"<Trace of {len(self):,} tokens, ... {' '.join(self[-8:])}>"


def counters(ids: Ids) -> Ids:
    """The instruction that every token of a trace belongs to, if it begins behind the prompt."""
    moved = np.cumsum(DISTANCES[ids], dtype=np.int64)
    before = np.concatenate([np.zeros(1, dtype=np.int64), moved[:-1]])[: len(ids)]
    starts = np.flatnonzero(ENDS[ids]) + 1  # from there on, from 0
    starts = starts[starts < len(ids)]
    resets = np.zeros(len(ids), dtype=np.int64)
    resets[starts] = np.diff(before[starts], prepend=0)
    return (before - np.cumsum(resets)).astype(np.int32)
