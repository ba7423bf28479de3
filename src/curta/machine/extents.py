"""Extents: bytes or words in a row. A state may have millions of them, so they are three arrays."""

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
class Extents:
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


def extents_of(extents: Iterable[tuple[int, Content]], kind: type[np.generic]) -> Extents:
    """Extents that are at hand one by one."""
    listed = tuple(extents)
    return Extents(
        np.array([first for first, _ in listed], dtype=np.int64),
        np.array([len(content) for _, content in listed], dtype=np.int64),
        np.concatenate([np.zeros(0, kind), *(content for _, content in listed)], dtype=kind),
    )


def extents_in(content: Content, apart: int, most: int) -> Extents:
    """What is not 0, in extents: more than so many zeros part them, and a multiple of `most`."""
    places = np.flatnonzero(content)
    if not len(places):
        return extents_of((), content.dtype.type)
    parted = (np.diff(places) > apart + 1) | (np.diff(places // most) > 0)
    cuts = np.flatnonzero(parted)
    firsts = places[np.append(0, cuts + 1)]
    ends = places[np.append(cuts, len(places) - 1)] + 1
    borders = np.zeros(len(content) + 1, dtype=np.int8)
    borders[firsts] += 1
    borders[ends] -= 1
    inside = np.cumsum(borders[:-1], dtype=np.int8) > 0
    return Extents(firsts.astype(np.int64), (ends - firsts).astype(np.int64), content[inside])


def in_turn(*kinds: tuple[Content, Places]) -> Content:
    """The first extent of every kind, then the second of every kind, and so on. A kind is its
    extents, one behind the other, and their lengths.
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
