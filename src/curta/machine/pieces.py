"""Stretches of bytes or words. A state may have millions of them: all are kept in three arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Places = npt.NDArray[np.int64]
Content = npt.NDArray[Any]
"""Bytes or words."""


@dataclass(frozen=True)
class Pieces:
    """Where each begins, how long it is, and what lies in all of them, one behind the other."""

    firsts: Places
    lengths: Places
    content: Content

    def __len__(self) -> int:
        return len(self.firsts)

    def __iter__(self) -> Iterator[tuple[int, Content]]:
        ends = np.cumsum(self.lengths)
        bounds = zip(self.firsts.tolist(), self.lengths.tolist(), ends.tolist(), strict=True)
        return ((first, self.content[end - length : end]) for first, length, end in bounds)


def pieces_of(stretches: Iterable[tuple[int, Content]], kind: type[np.generic]) -> Pieces:
    """Pieces that are at hand one by one."""
    held = tuple(stretches)
    return Pieces(
        np.array([first for first, _ in held], dtype=np.int64),
        np.array([len(content) for _, content in held], dtype=np.int64),
        np.concatenate([np.zeros(0, kind), *(content for _, content in held)], dtype=kind),
    )


def pieces_in(content: Content, apart: int, most: int) -> Pieces:
    """What is not 0, in pieces: more than so many zeros part them, and a multiple of `most`."""
    places = np.flatnonzero(content)
    if not len(places):
        return pieces_of((), content.dtype.type)
    parted = (np.diff(places) > apart + 1) | (np.diff(places // most) > 0)
    cuts = np.flatnonzero(parted)
    firsts = places[np.append(0, cuts + 1)]
    ends = places[np.append(cuts, len(places) - 1)] + 1
    borders = np.zeros(len(content) + 1, dtype=np.int8)
    borders[firsts] += 1
    borders[ends] -= 1
    inside = np.cumsum(borders[:-1], dtype=np.int8) > 0
    return Pieces(firsts.astype(np.int64), (ends - firsts).astype(np.int64), content[inside])


def in_turn(*kinds: tuple[Content, Places]) -> Content:
    """The first stretch of every kind, then the second of every kind, and so on. A kind is its
    stretches, one behind the other, and their lengths.
    """
    lengths = np.stack([each for _, each in kinds], axis=1)
    numbers = np.tile(np.arange(len(kinds), dtype=np.uint8), len(lengths))
    owners = np.repeat(numbers, lengths.ravel())
    merged = np.empty(len(owners), dtype=np.result_type(*(content for content, _ in kinds)))
    for number, (content, _) in enumerate(kinds):
        merged[owners == number] = content
    return merged


def taken_apart(merged: Content, *lengths: Places) -> list[Content]:
    """The inverse of `in_turn`."""
    numbers = np.tile(np.arange(len(lengths), dtype=np.uint8), len(lengths[0]))
    owners = np.repeat(numbers, np.stack(lengths, axis=1).ravel())
    return [merged[owners == number] for number in range(len(lengths))]
