"""The tokens of a conversation, kept four bytes each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np

from curta.machine.ids import DISTANCES, ENDS, Ids
from curta.machine.vocabulary import TOKENS

BLOCK = 1 << 18


class Trace(Sequence[str]):
    """All that was said, the prompt included, as names of tokens; `ids` has the numbers."""

    def __init__(self, tokens: Sequence[str] = TOKENS) -> None:
        self._tokens = tokens
        self._blocks: list[Ids] = []
        self._filled = BLOCK

    def append(self, ids: Ids) -> None:
        """Keep what was said; blocks are filled one after another, so nothing is ever moved."""
        while len(ids):
            if self._filled == BLOCK:
                self._blocks.append(np.empty(BLOCK, dtype=np.int32))
                self._filled = 0
            taken = min(len(ids), BLOCK - self._filled)
            self._blocks[-1][self._filled : self._filled + taken] = ids[:taken]
            self._filled += taken
            ids = ids[taken:]

    @property
    def ids(self) -> Ids:
        """A copy, as one array."""
        if not self._blocks:
            return np.zeros(0, dtype=np.int32)
        return np.concatenate([*self._blocks[:-1], self._blocks[-1][: self._filled]])

    @property
    def memory_bytes(self) -> int:
        return sum(block.nbytes for block in self._blocks)

    def __len__(self) -> int:
        return len(self._blocks) * BLOCK - (BLOCK - self._filled)

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
        return self._tokens[int(self._blocks[at // BLOCK][at % BLOCK])]

    def __iter__(self) -> Iterator[str]:
        for number, block in enumerate(self._blocks):
            last = number == len(self._blocks) - 1
            for token in block[: self._filled if last else BLOCK].tolist():
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
