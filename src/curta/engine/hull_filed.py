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

import numpy as np

from curta.engine.hull import Backend
from curta.engine.hull.admission import Floats
from curta.engine.hull.native import new_implementation
from curta.engine.hull.scan import Make
from curta.errors import HullError


class FiledKeys:
    """One head in C (hull/filed.c); without a compiler, all its keys are compared."""

    def __init__(self, digits: int, width: int, backend: Backend = "auto") -> None:
        self.implementation = new_implementation(backend, Make(digits + 1, width, filed=True))

    def steps(self, queries: Floats, keys: Floats, values: Floats) -> Floats:
        """File every position's value under its key; what its query finds."""
        wrong = np.flatnonzero(~(queries[:, -1] > 0.0))
        if len(wrong):
            raise HullError(
                f"the query {queries[wrong[0]].tolist()} has a last component that is not "
                "positive; the compiler makes no such heads"
            )
        arrays = {"keys": keys, "values": values, "queries": queries}
        return self.implementation.steps(arrays, [range(values.shape[1])]).values
