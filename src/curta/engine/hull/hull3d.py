"""Space, without a compiler: a scan over all keys in NumPy, decided exactly.

Scores rounded in float64 are off by less than 2^-48 of the sum of their terms' sizes, and 2^-1000
where something underflows; where something overflows that sum is infinite. Keys whose rounded score
could reach the highest are compared in rational arithmetic. O(n) per query: the C implementation
has the trees.
"""

from __future__ import annotations

import math

import numpy as np

from curta.engine.hull.python_hull import PythonHull
from curta.engine.hull.reference import Found, Vector, score

SLACK = 2.0**-48
UNDERFLOW_SLACK = 2.0**-1000


class PythonHull3D(PythonHull):
    """All keys, in arrays that double when full."""

    dimension = 3

    def reset(self) -> None:
        self.points = 0
        self._keys = np.empty((16, self.dimension))
        self._values = np.empty((16, self.width))

    def vertices(self) -> int:
        return self.points

    def memory_bytes(self) -> int:
        return int(self._keys.nbytes + self._values.nbytes)

    def _insert(self, key: Vector, value: Vector) -> None:
        if self.points == len(self._keys):
            self._keys = np.concatenate([self._keys, np.empty_like(self._keys)])
            self._values = np.concatenate([self._values, np.empty_like(self._values)])
        self._keys[self.points] = key
        self._values[self.points] = value
        self.points += 1

    def _query(self, query: Vector) -> Found:
        winners = self._winners(query)
        latest = winners[-1]
        if self.ties == "latest":
            return Found(tuple(self._values[latest].tolist()), latest)
        columns = self._values[winners].T.tolist()
        return Found(tuple(math.fsum(column) / len(winners) for column in columns), latest)

    def _winners(self, query: Vector) -> list[int]:
        """Positions of the keys with the highest score, ascending."""
        if not any(query):
            return list(range(self.points))
        keys = self._keys[: self.points]
        direction = np.array(query)
        with np.errstate(all="ignore"):
            rounded = keys @ direction
            slack = SLACK * (np.abs(keys) @ np.abs(direction)) + UNDERFLOW_SLACK
            floor = np.fmax.reduce(rounded - slack)  # without those that are not numbers
            contenders = np.flatnonzero(~(rounded + slack < floor)).tolist()
        if len(contenders) == 1:
            return contenders
        scores = [score(keys[position].tolist(), query) for position in contenders]
        best = max(scores)
        return [position for position, s in zip(contenders, scores, strict=True) if s == best]
