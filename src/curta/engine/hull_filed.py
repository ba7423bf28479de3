"""The arg-max over keys of several digits, one entry for all keys that share their digits.

A head of n digits has keys (2k, p) and queries (hq, h): n digits k and q, the hardness h > 0, and
a last component p that is the model's own, about recency - |k|². A score is h (2 q . k + p). Two
facts about these numbers, whatever they stand for, save most of the scores:

* Of keys with the same digits the one with the largest p scores highest under every query, so each
  group of them is one entry, the latest of equals.
* 2 q . k + p = |q|² - |q - k|² + (p + |k|²). If all k are whole numbers, h is a power of two, and
  an entry's k is q, then the entry loses nothing to the distance and every other one at least 1.
  So it wins if its excess p + |k|² is less than 1 below the largest that any key ever had:
  compared with 1/2, which leaves more than rounding needs.

Where the second one does not apply, all entries are compared. Queries that find no equal key tend
to be asked again and again, so the last one's answer is kept up to date.
"""

from __future__ import annotations

import ctypes
import weakref
from ctypes import c_int64, c_void_p
from math import frexp

import numpy as np
import numpy.typing as npt

from curta.engine.hull import Backend
from curta.engine.hull_maps import replay_library, takes_c
from curta.errors import HullError

Matrix = npt.NDArray[np.float64]
LARGEST = 2.0**50
"""Squares and excesses below it are exact, or close enough to tell 1/2 from 1."""


def new_filed_keys(digits: int, width: int, backend: Backend = "auto") -> FiledKeys:
    return NativeFiledKeys(digits, width) if takes_c(backend) else FiledKeys(digits, width)


class FiledKeys:
    """In Python: what hull_maps.c does."""

    def __init__(self, digits: int, width: int) -> None:
        self.digits, self.width = digits, width
        self.entries: dict[tuple[float, ...], int] = {}
        self.keys = np.empty((64, digits + 1))
        self.filed = np.zeros(64, dtype=np.int64)
        self.values = np.empty((64, width))
        self.count = self.steps_so_far = 0
        self.most_excess = -np.inf
        self.whole = True
        self.missed: tuple[Matrix, int, float] | None = None

    def steps(self, queries: Matrix, keys: Matrix, values: Matrix) -> Matrix:
        """File every position's value under its key; what its query finds."""
        wrong = np.flatnonzero(~(queries[:, -1] > 0.0))
        if len(wrong):
            raise no_hardness(queries[wrong[0]])
        found = np.empty_like(values)
        for place, value in enumerate(values):
            self.insert(keys[place], value)
            found[place] = self.values[self.find(queries[place])]
        return found

    def insert(self, key: Matrix, value: Matrix) -> None:
        squares = float(np.sum((0.5 * key[:-1]) ** 2))
        whole = np.array_equal(0.5 * key[:-1], np.rint(0.5 * key[:-1])) and squares < LARGEST
        self.whole = self.whole and whole
        self.most_excess = max(self.most_excess, float(key[-1]) + squares)
        self.steps_so_far += 1
        digits = tuple((key[:-1] + 0.0).tolist())
        entry = self.entries.get(digits)
        if entry is not None and key[-1] < self.keys[entry, -1]:
            return
        if entry is None:
            entry = self.entries[digits] = self._new_entry()
        self.keys[entry], self.values[entry] = key, value
        self.filed[entry] = self.steps_so_far
        if self.missed is not None:
            query, _, best = self.missed
            if (score := float(key @ query)) >= best:
                self.missed = query, entry, score

    def _new_entry(self) -> int:
        if self.count == len(self.keys):
            for name in ("keys", "filed", "values"):
                array = getattr(self, name)
                setattr(self, name, np.concatenate([array, np.empty_like(array)]))
        self.count += 1
        return self.count - 1

    def find(self, query: Matrix) -> int:
        """The entry with the highest score, the latest of equals."""
        hardness = float(query[-1])
        entry = self.entries.get(tuple((query[:-1] * (2.0 / hardness) + 0.0).tolist()))
        if entry is not None and self._wins(entry, hardness):
            return entry
        if self.missed is not None and np.array_equal(self.missed[0], query):
            return self.missed[1]
        scores = self.keys[: self.count] @ query
        best = np.flatnonzero(scores == scores.max())
        entry = int(best[self.filed[best].argmax()])
        self.missed = query, entry, float(scores[entry])
        return entry

    def _wins(self, entry: int, hardness: float) -> bool:
        """The entry's digits are those that are asked for; does it beat all others?"""
        if not self.whole or abs(self.most_excess) >= LARGEST or frexp(hardness)[0] != 0.5:
            return False
        key = self.keys[entry]
        excess = float(key[-1]) + float(np.sum((0.5 * key[:-1]) ** 2))
        return self.most_excess - excess < 0.5


class NativeFiledKeys(FiledKeys):
    """The same in C."""

    def __init__(self, digits: int, width: int) -> None:
        library = replay_library()
        self.digits, self.width = digits, width
        library.filed_create.restype = c_void_p
        library.filed_create.argtypes = [c_int64, c_int64]
        library.filed_free.argtypes = [c_void_p]
        library.filed_steps.restype = c_int64
        library.filed_steps.argtypes = [c_void_p, c_int64, *[c_void_p] * 4]
        self._steps = library.filed_steps
        self.handle = library.filed_create(digits, width)
        weakref.finalize(self, library.filed_free, self.handle)

    def steps(self, queries: Matrix, keys: Matrix, values: Matrix) -> Matrix:
        found = np.empty_like(values)
        wrong = self._steps(
            self.handle,
            len(values),
            *(ctypes.c_void_p(array.ctypes.data) for array in (keys, values, queries, found)),
        )
        if wrong >= 0:
            raise no_hardness(queries[wrong])
        return found


def no_hardness(query: Matrix) -> HullError:
    return HullError(
        f"the query {query.tolist()} has a last component that is not positive; the compiler makes "
        "no such heads"
    )
