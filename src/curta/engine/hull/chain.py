"""An upper hull under insertion, in Python: what chain.c does, on sorted blocks of vertices.

Vertices lie from left to right in blocks of at most `BLOCK_CAPACITY`. Finding a place, or the
highest vertex in a direction, is a binary search over blocks and then within one: O(log n)
comparisons. Inserting shifts one block, and the list of blocks when one splits. Each point is
removed at most once.

A vertex carries a *mass*, the record of the points that lie there, and its edge to the right
another, for the points strictly inside the edge. An edge stays, or becomes part of a longer one on
the same line, or vanishes below the hull: a mass is never split.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from enum import Enum

from curta.engine.hull.predicates import dot_sign, orientation

BLOCK_CAPACITY = 512


class Policy(Enum):
    """What becomes of the lesser of two points in one place."""

    KEEP_LATEST = "keep latest"
    KEEP_SUM = "keep sum"
    PASS_DOWN = "pass down"


class Record:
    """What is known about the points in one place: a sum, or the latest of them."""

    __slots__ = ("count", "low", "position", "value", "x", "y")

    def __init__(self, position: int, x: float, y: float, value: Sequence[float]) -> None:
        self.position = position
        self.count = 1
        self.x = x
        self.y = y
        self.value = array("d", value)
        self.low: list[float] = []  # what the sum is too large to hold, from the first addition on


def two_sum(a: float, b: float) -> tuple[float, float]:
    """fl(a + b) and what rounding lost."""
    high = a + b
    b_part = high - a
    a_part = high - b_part
    return high, (a - a_part) + (b - b_part)


def add_pairs(total: Record, addend: Record) -> None:
    """total += addend, each a pair of doubles per number."""
    for record in (total, addend):
        record.low = record.low or [0.0] * len(record.value)
    for i, (a, b) in enumerate(zip(total.value, addend.value, strict=True)):
        high, low = two_sum(a, b)
        low += total.low[i] + addend.low[i]
        total.value[i] = high + low
        total.low[i] = low - (total.value[i] - high)


class Keeper:
    """Applies one policy; collects what is passed down."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.passed: list[Record] = []

    def drop(self, record: Record | None) -> None:
        if record is not None and self.policy is Policy.PASS_DOWN:
            self.passed.append(record)

    def combine(self, first: Record | None, second: Record | None) -> Record | None:
        """One record for the points of both, which lie in one place or on one edge."""
        if first is None or second is None:
            return second if first is None else first
        if self.policy is Policy.KEEP_SUM:
            add_pairs(first, second)
            first.count += second.count
            first.position = max(first.position, second.position)
            return first
        later, earlier = (first, second) if first.position > second.position else (second, first)
        self.drop(earlier)
        return later


class Vertex:
    """A corner of the hull and the edge to its right."""

    __slots__ = ("edge", "mass", "x", "y")

    def __init__(self, x: float, y: float, mass: Record | None) -> None:
        self.x = x
        self.y = y
        self.mass = mass
        self.edge: Record | None = None


Cursor = tuple[int, int]
"""A block and an index in it."""


class Chain:
    """The vertices of an upper hull from left to right."""

    def __init__(self, keeper: Keeper) -> None:
        self.keeper = keeper
        self.blocks: list[list[Vertex]] = []

    def __len__(self) -> int:
        return sum(map(len, self.blocks))

    def vertex(self, cursor: Cursor) -> Vertex:
        return self.blocks[cursor[0]][cursor[1]]

    def successor(self, cursor: Cursor) -> Cursor | None:
        block, index = cursor
        if index + 1 < len(self.blocks[block]):
            return block, index + 1
        return (block + 1, 0) if block + 1 < len(self.blocks) else None

    def predecessor(self, cursor: Cursor) -> Cursor | None:
        block, index = cursor
        if index > 0:
            return block, index - 1
        return (block - 1, len(self.blocks[block - 1]) - 1) if block > 0 else None

    def locate(self, x: float) -> Cursor | None:
        """The last vertex not right of x."""
        low, high = -1, len(self.blocks)
        while high - low > 1:
            middle = (low + high) // 2
            if self.blocks[middle][0].x <= x:
                low = middle
            else:
                high = middle
        if low < 0:
            return None
        block = self.blocks[low]
        index, end = 0, len(block)
        while end - index > 1:
            middle = (index + end) // 2
            if block[middle].x <= x:
                index = middle
            else:
                end = middle
        return low, index

    def rises(self, cursor: Cursor, qx: float, qy: float) -> bool:
        """Does the next vertex score higher than this one?"""
        onward = self.successor(cursor)
        if onward is None:
            return False
        here, there = self.vertex(cursor), self.vertex(onward)
        return dot_sign(qx, qy, there.x, there.y, here.x, here.y) > 0

    def summit(self, qx: float, qy: float) -> Cursor:
        """The leftmost vertex with the highest score, for qy > 0; the chain has one."""
        low, high = 0, len(self.blocks)
        while high - low > 1:
            middle = (low + high) // 2
            if self.rises((middle, 0), qx, qy):
                low = middle
            else:
                high = middle
        index, last = 0, len(self.blocks[low])
        while index < last:
            middle = (index + last) // 2
            if self.rises((low, middle), qx, qy):
                index = middle + 1
            else:
                last = middle
        return (low, index) if index < len(self.blocks[low]) else (low + 1, 0)

    def winners(self, qx: float, qy: float) -> list[Record]:
        """The records that tie for the highest score, from left to right."""
        best = self.summit(qx, qy)
        here = self.vertex(best)
        found = [here.mass]
        after = self.successor(best)
        if after is not None:
            there = self.vertex(after)
            if dot_sign(qx, qy, there.x, there.y, here.x, here.y) == 0:
                found += [here.edge, there.mass]
        return [record for record in found if record is not None]

    def add(self, record: Record, x: float, y: float) -> bool:
        """Take up a point with its record; False, and no change, when it lies below the hull."""
        near = self.locate(x)
        if near is None:
            self._raise_over(None, record, x, y)
            return True
        here = self.vertex(near)
        after = self.successor(near)
        if here.x == x:
            if here.y > y:
                return False
            if here.y == y:
                here.mass = self.keeper.combine(here.mass, record)
                return True
            left = self.predecessor(near)
            self.keeper.drop(here.mass)
            self.keeper.drop(here.edge)
            self._remove(near)
            self._raise_over(left, record, x, y)
            return True
        if after is not None:
            there = self.vertex(after)
            side = orientation(here.x, here.y, there.x, there.y, x, y)
            if side < 0:
                return False
            if side == 0:
                here.edge = self.keeper.combine(here.edge, record)
                return True
        self._raise_over(near, record, x, y)
        return True

    def _raise_over(self, left: Cursor | None, record: Record, x: float, y: float) -> None:
        """Insert a new vertex right of `left` and remove those that it hides."""
        vertex = Vertex(x, y, record)
        if left is not None:
            self.keeper.drop(self.vertex(left).edge)
            self.vertex(left).edge = None
            left = self._clear_left(left, x, y)
        right = (0, 0) if left is None else self.successor(left)
        if right is not None and self.blocks:
            vertex.edge = self._clear_right(right, x, y)
        self._insert(left, vertex)

    def _clear_left(self, left: Cursor, x: float, y: float) -> Cursor:
        while (beyond := self.predecessor(left)) is not None:
            hidden, stays = self.vertex(left), self.vertex(beyond)
            side = orientation(stays.x, stays.y, x, y, hidden.x, hidden.y)
            if side > 0:
                return left
            if side == 0:
                stays.edge = self.keeper.combine(stays.edge, hidden.mass)
                self._remove(left)
                return beyond
            self.keeper.drop(hidden.mass)
            self.keeper.drop(stays.edge)
            stays.edge = None
            self._remove(left)
            left = beyond
        return left

    def _clear_right(self, right: Cursor, x: float, y: float) -> Record | None:
        """Returns the mass of the points strictly between the new vertex and the next."""
        while (beyond := self.successor(right)) is not None:
            hidden, stays = self.vertex(right), self.vertex(beyond)
            side = orientation(x, y, stays.x, stays.y, hidden.x, hidden.y)
            if side > 0:
                return None
            next_right = self._remove(right)
            if side == 0:
                return self.keeper.combine(hidden.edge, hidden.mass)
            self.keeper.drop(hidden.mass)
            self.keeper.drop(hidden.edge)
            right = next_right
        return None

    def _remove(self, cursor: Cursor) -> Cursor:
        """Returns where the next vertex now is."""
        block, index = cursor
        del self.blocks[block][index]
        if not self.blocks[block]:
            del self.blocks[block]
            return block, 0
        return (block, index) if index < len(self.blocks[block]) else (block + 1, 0)

    def _insert(self, left: Cursor | None, vertex: Vertex) -> None:
        if not self.blocks:
            self.blocks.append([vertex])
            return
        block, index = (0, 0) if left is None else (left[0], left[1] + 1)
        vertices = self.blocks[block]
        vertices.insert(index, vertex)
        if len(vertices) > BLOCK_CAPACITY:
            at_the_end = block == len(self.blocks) - 1 and index == BLOCK_CAPACITY
            keep = BLOCK_CAPACITY if at_the_end else BLOCK_CAPACITY // 2
            self.blocks.insert(block + 1, vertices[keep:])
            del vertices[keep:]
