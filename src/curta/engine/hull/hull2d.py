"""The plane, in Python: what hull2d.c does.

Directions that point up are answered by an upper hull, those that point down by the upper hull of
the points mirrored at the x axis. For (qx, 0) every point with the largest (smallest) x ties: two
columns keep their records. For (0, 0) all points tie.
"""

from __future__ import annotations

from collections.abc import Sequence

from curta.engine.hull.chain import Chain, Keeper, Policy, Record, add_pairs
from curta.engine.hull.python_hull import PythonHull
from curta.engine.hull.reference import Found, Vector

APPROXIMATE_VERTEX_BYTES = 400


class Column:
    """The points with the largest `sign * x`."""

    __slots__ = ("keeper", "mass", "sign", "x")

    def __init__(self, keeper: Keeper, sign: float) -> None:
        self.keeper = keeper
        self.sign = sign
        self.x = 0.0
        self.mass: Record | None = None

    def add(self, position: int, x: float, y: float, value: Vector) -> None:
        if self.mass is not None:
            if self.sign * x < self.sign * self.x:
                return
            if self.x != x:
                self.mass = None
        self.x = x
        self.mass = self.keeper.combine(self.mass, Record(position, x, y, value))


class PythonHull2D(PythonHull):
    """Points in the plane under insertion; answers what `reference.hard_maximum` defines."""

    dimension = 2

    def reset(self) -> None:
        self.keeper = Keeper(Policy.KEEP_SUM if self.ties == "average" else Policy.KEEP_LATEST)
        self.points = 0
        self.upper = Chain(self.keeper)
        self.lower = Chain(self.keeper)
        self.left = Column(self.keeper, -1.0)
        self.right = Column(self.keeper, 1.0)
        self.all: Record | None = None

    def vertices(self) -> int:
        return len(self.upper) + len(self.lower)

    def memory_bytes(self) -> int:
        return self.vertices() * (APPROXIMATE_VERTEX_BYTES + 64 * self.width)

    def _insert(self, key: Vector, value: Vector) -> None:
        position = self.points
        self.points += 1
        x, y = key
        self.upper.add(Record(position, x, y, value), x, y)
        self.lower.add(Record(position, x, y, value), x, -y)
        self.left.add(position, x, y, value)
        self.right.add(position, x, y, value)
        self.all = self.keeper.combine(self.all, Record(position, x, y, value))

    def _query(self, query: Vector) -> Found:
        records = self._winners(*query)
        latest = max(records, key=lambda record: record.position)
        if self.ties == "latest":
            return Found(tuple(latest.value), latest.position)
        total = Record(0, 0.0, 0.0, records[0].value)
        total.low = list(records[0].low)
        for record in records[1:]:
            add_pairs(total, record)
        count = sum(record.count for record in records)
        return Found(tuple(number / count for number in total.value), latest.position)

    def _winners(self, qx: float, qy: float) -> Sequence[Record]:
        if qy > 0.0:
            return self.upper.winners(qx, qy)
        if qy < 0.0:
            return self.lower.winners(qx, -qy)
        mass = self.right.mass if qx > 0.0 else self.left.mass if qx < 0.0 else self.all
        return [mass] if mass is not None else []
