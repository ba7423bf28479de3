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

import weakref

import numpy as np
import numpy.typing as npt

from curta.engine.hull import Backend
from curta.engine.hull.native import addresses, choose_backend
from curta.engine.hull.scan import ScannedCache
from curta.engine.hull_maps import replay_library
from curta.errors import HullError

Matrix = npt.NDArray[np.float64]


class FiledKeys:
    """One head in C (hull_maps.c); without a compiler, all its keys are compared."""

    def __init__(self, digits: int, width: int, backend: Backend = "auto") -> None:
        self.scanned: ScannedCache | None = None
        if choose_backend(backend) != "c":
            self.scanned = ScannedCache(digits + 1, width)
            return
        self.library = replay_library()
        self.handle = self.library.filed_create(digits, width)
        weakref.finalize(self, self.library.filed_free, self.handle)

    def steps(self, queries: Matrix, keys: Matrix, values: Matrix) -> Matrix:
        """File every position's value under its key; what its query finds."""
        wrong = np.flatnonzero(~(queries[:, -1] > 0.0))
        if len(wrong):
            raise HullError(
                f"the query {queries[wrong[0]].tolist()} has a last component that is not "
                "positive; the compiler makes no such heads"
            )
        if self.scanned is not None:
            return self.scanned.insert_and_query_many(keys, values, queries)[0]
        found = np.empty_like(values)
        self.library.filed_steps(self.handle, len(values), *addresses(keys, values, queries, found))
        return found
