"""Nested hulls in Python: what topk.c does.

An *onion* is a list of layers, each a `Chain`. Call S_1 all points and S_(i+1) what layer i leaves
over. For every direction with qy > 0, layer i holds the first of S_i by (score, position): a hull
vertex (of several points there, the latest) or, when a whole edge ties, the latest point inside
that edge. Everything else goes on to S_(i+1).

*Layers 1 to k are enough.* A point p in none of them is in S_1, ..., S_k. For any query, the first
of S_i is in layer i and comes before p: k different points come before p, so p is not among the
first k. Points that fall out of layer k are forgotten; points only ever arrive, so none comes back.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator
from fractions import Fraction
from functools import total_ordering
from math import exp, isfinite
from sys import float_info
from typing import NamedTuple

import numpy as np

from curta.engine.hull.admission import Floats, Positions, check_points, check_queries
from curta.engine.hull.chain import Chain, Cursor, Keeper, Policy, Record
from curta.engine.hull.predicates import dot_sign
from curta.engine.hull.reference import Vector, score

LARGEST_FLOAT = float_info.max
Direction = tuple[float, float]


class Attended(NamedTuple):
    """Softmax over the winners of one query, best first."""

    value: tuple[float, ...]
    positions: tuple[int, ...]
    weights: tuple[float, ...]


@total_ordering
class Candidate:
    """A point on the way from the summit of its layer; the better one is the lesser."""

    __slots__ = ("layer", "query", "record", "rest", "sign")

    def __init__(
        self, record: Record, layer: int, rest: Iterator[Record], query: Direction, sign: float
    ) -> None:
        self.record = record
        self.layer = layer
        self.rest = rest
        self.query = query
        self.sign = sign

    def __lt__(self, other: Candidate) -> bool:
        a, b = self.record, other.record
        sign = dot_sign(*self.query, a.x, self.sign * a.y, b.x, self.sign * b.y)
        return sign > 0 or (sign == 0 and a.position > b.position)


class Onion:
    """At most k layers over the points (x, sign * y)."""

    def __init__(self, k: int, sign: float) -> None:
        self.k = k
        self.sign = sign
        self.keeper = Keeper(Policy.PASS_DOWN)
        self.layers: list[Chain] = []

    def insert(self, record: Record) -> None:
        arriving = [record]
        for layer in range(self.k):
            if not arriving:
                return
            if layer == len(self.layers):
                self.layers.append(Chain(self.keeper))
            chain = self.layers[layer]
            leaving = [r for r in arriving if not chain.add(r, r.x, self.sign * r.y)]
            arriving = leaving + self.keeper.passed
            self.keeper.passed = []

    def ranked(self, qx: float, up: float) -> Iterator[Record]:
        """All points kept, best first; right for the first k."""
        heap: list[Candidate] = []
        opened = 0

        def open_layer() -> None:
            for rest in _descents(self.layers[opened], qx, up):
                record = next(rest, None)
                if record is not None:
                    heapq.heappush(heap, Candidate(record, opened, rest, (qx, up), self.sign))

        open_layer()
        while heap:
            taken = heapq.heappop(heap)
            yield taken.record
            following = next(taken.rest, None)
            if following is not None:
                heapq.heappush(
                    heap, Candidate(following, taken.layer, taken.rest, taken.query, self.sign)
                )
            if taken.layer == opened and opened + 1 < len(self.layers):
                opened += 1
                open_layer()


def _descents(chain: Chain, qx: float, up: float) -> list[Iterator[Record]]:
    """Runs of points whose scores strictly fall; the ties at the summit start different runs."""
    best = chain.summit(qx, up)
    after = chain.successor(best)
    if after is None:
        return [_leftward(chain, best)]
    here, there = chain.vertex(best), chain.vertex(after)
    edge = [here.edge] if here.edge is not None else []
    if dot_sign(qx, up, there.x, there.y, here.x, here.y) != 0:
        return [_leftward(chain, best), _rightward(chain, after, edge)]
    return [_leftward(chain, best), iter(edge), _rightward(chain, after, [])]


def _leftward(chain: Chain, cursor: Cursor | None) -> Iterator[Record]:
    is_first = True
    while cursor is not None:
        vertex = chain.vertex(cursor)
        if vertex.edge is not None and not is_first:
            yield vertex.edge
        if vertex.mass is not None:
            yield vertex.mass
        is_first = False
        cursor = chain.predecessor(cursor)


def _rightward(chain: Chain, cursor: Cursor | None, edge: list[Record]) -> Iterator[Record]:
    yield from edge
    while cursor is not None:
        vertex = chain.vertex(cursor)
        if vertex.mass is not None:
            yield vertex.mass
        if vertex.edge is not None:
            yield vertex.edge
        cursor = chain.successor(cursor)


def _score_below(query: Direction, record: Record, best: Record) -> float:
    """q . (key - best), the keys' difference taken first; no key scores higher than the best."""
    difference = query[0] * (record.x - best.x) + query[1] * (record.y - best.y)
    if not isfinite(difference):
        exact = score((record.x, record.y), query) - score((best.x, best.y), query)
        difference = float(max(exact, -Fraction(LARGEST_FLOAT)))
    return difference


class PythonTopK:
    """The k best keys by exact score, ties by the latest, and the softmax over them."""

    def __init__(self, width: int, k: int, scale: float) -> None:
        self.width = width
        self.k = k
        self.scale = scale
        self.reset()

    def reset(self) -> None:
        self.points = 0
        self.upper = Onion(self.k, 1.0)
        self.lower = Onion(self.k, -1.0)
        self.rankings: dict[int, list[tuple[float, int, Record]]] = {1: [], -1: []}
        self.recent: deque[Record] = deque(maxlen=self.k)

    def vertices(self) -> int:
        return sum(len(chain) for o in (self.upper, self.lower) for chain in o.layers)

    def memory_bytes(self) -> int:
        """An estimate."""
        return (self.vertices() + 3 * self.k) * (400 + 64 * self.width)

    def insert_many(self, keys: Floats, values: Floats) -> None:
        check_points(keys, values)
        for key, value in zip(keys.tolist(), values.tolist(), strict=True):
            self._insert(key, value)

    def query_many(self, queries: Floats) -> tuple[Floats, Positions, Floats]:
        check_queries(queries)
        return self._as_arrays([self._attend(*query) for query in queries.tolist()])

    def insert_and_query_many(
        self, keys: Floats, values: Floats, queries: Floats
    ) -> tuple[Floats, Positions, Floats]:
        check_points(keys, values)
        check_queries(queries)
        found = []
        for key, value, query in zip(keys.tolist(), values.tolist(), queries.tolist(), strict=True):
            self._insert(key, value)
            found.append(self._attend(*query))
        return self._as_arrays(found)

    def _insert(self, key: Vector, value: Vector) -> None:
        x, y = key
        record = Record(self.points, x, y, value)
        self.points += 1
        self.upper.insert(record)
        self.lower.insert(record)
        self.recent.appendleft(record)
        for sign, ranking in self.rankings.items():
            heapq.heappush(ranking, (sign * x, record.position, record))
            if len(ranking) > self.k:
                heapq.heappop(ranking)

    def _winners(self, qx: float, qy: float) -> list[Record]:
        if qx == qy == 0.0:
            return list(self.recent)
        if qy == 0.0:
            ranking = self.rankings[1 if qx > 0.0 else -1]
            return [record for _, _, record in sorted(ranking, reverse=True)]
        onion = self.upper if qy > 0.0 else self.lower
        ranked = onion.ranked(qx, abs(qy))
        return [record for record, _ in zip(ranked, range(self.k), strict=False)]

    def _attend(self, qx: float, qy: float) -> Attended:
        """Weights exp(scale * (score - best score))."""
        winners = self._winners(qx, qy)
        best = winners[0]
        weights = [exp(self.scale * _score_below((qx, qy), r, best)) for r in winners]
        total = sum(weights)
        shares = tuple(weight / total for weight in weights)
        value = [0.0] * self.width
        for share, record in zip(shares, winners, strict=True):
            value = [v + share * r for v, r in zip(value, record.value, strict=True)]
        return Attended(tuple(value), tuple(r.position for r in winners), shares)

    def _as_arrays(self, found: list[Attended]) -> tuple[Floats, Positions, Floats]:
        values = np.empty((len(found), self.width))
        positions = np.full((len(found), self.k), -1, dtype=np.int64)
        weights = np.zeros((len(found), self.k))
        for i, answer in enumerate(found):
            values[i] = answer.value
            positions[i, : len(answer.positions)] = answer.positions
            weights[i, : len(answer.weights)] = answer.weights
        return values, positions, weights
