"""Level 1, the definition: every node of the graph, in exact arithmetic, one token at a time."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from curta.compiler.graph import Family, Graph
from curta.compiler.nodes import (
    Assume,
    Gate,
    Linear,
    Lookup,
    Operation,
    Piecewise,
    PositionFeature,
    RunningSum,
    TokenFeature,
)
from curta.dyadic import Number, distance, simplify
from curta.engine.base import Engine, Ids, Mask, Session, broken_promise
from curta.errors import RegionError


class Evaluate(Engine):
    """The graph itself."""

    level: ClassVar[str] = "evaluate"

    def session(self) -> EvaluateSession:
        return EvaluateSession(self)


class EvaluateSession(Session):
    def __init__(self, engine: Evaluate) -> None:
        super().__init__(engine)
        self.graph = GraphSession(engine.model.graph)

    def _read(self, tokens: Ids, asked: Mask) -> Iterator[Ids]:
        for token in tokens.tolist():
            yield np.array([self.graph.feed(token)], dtype=np.int32)


class GraphSession:
    """The values of all nodes at the last position, and what earlier positions left behind.

    It belongs to a graph alone: tokens and lengths are checked by the Session around it.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.position = -1
        self.values: list[Number] = []
        self.sums = defaultdict[int, Number](int)
        self.memories = defaultdict[int, Memory](Memory)

    def feed(self, token: int) -> int:
        self.compute(token)
        return self._choose()

    def compute(self, token: int) -> list[Number]:
        """The values of all nodes at the next position."""
        self.position += 1
        self.values = [0] * len(self.graph.operations)
        for index, operation in enumerate(self.graph.operations):
            self.values[index] = simplify(self.value(index, operation, token))
        return self.values

    def value(self, index: int, operation: Operation, token: int) -> Number:
        values = self.values
        match operation:
            case TokenFeature(table):
                return table[token]
            case PositionFeature():
                return operation.at(self.position)
            case Linear(terms, constant):
                return constant + sum(c * values[i] for i, c in terms)
            case Gate(condition, value):
                return max(values[condition], 0) * values[value]
            case Piecewise(argument):
                return operation.at(values[argument])
            case RunningSum(value):
                self.sums[index] += values[value]
                return self.sums[index]
            case Assume(value, low, high):
                if not low <= values[value] <= high:
                    name = self.graph.name_of(index)
                    raise broken_promise(name, self.position, values[value], low, high)
                return values[value]
            case Lookup():
                return self._look_up(index, operation)
            case _:
                raise TypeError(f"{operation} is not part of the language")

    def _look_up(self, index: int, operation: Lookup) -> Number:
        memory, values = self.memories[index], self.values
        key = tuple(values[i] for i in operation.key)
        query = tuple(values[i] for i in operation.query)
        memory.store(key, self.position, values[operation.value])
        if query in memory.latest:
            return memory.latest[query][1]
        if operation.missing == "nearest":
            return memory.nearest(query[0])
        if operation.missing == "stop":
            raise RegionError(
                f"position {self.position}: {self.graph.name_of(index)} looks for the key "
                f"{', '.join(map(str, query))}, which no position has; give the lookup a default "
                "or missing='nearest'"
            )
        assert not isinstance(operation.missing, str)
        return operation.missing

    def _choose(self) -> int:
        """The best token: `when` first, then the score, then the order of declaration."""
        return -max(score for family in self.graph.families for score in self._scores(family))[2]

    def _scores(self, family: Family) -> Iterator[tuple[Number, Number, int]]:
        linear, square, base = (self.values[i] for i in (family.linear, family.square, family.base))
        when = 0 if family.when is None else self.values[family.when]
        for digit, token in enumerate(family.tokens):
            yield when, base + digit * linear - digit * digit * square, -token


class Memory:
    """What one lookup has filed: the latest position and value under every key."""

    def __init__(self) -> None:
        self.latest: dict[tuple[Number, ...], tuple[int, Number]] = {}
        self.keys: list[Number] = []

    def store(self, key: tuple[Number, ...], position: int, value: Number) -> None:
        if key not in self.latest:
            insort(self.keys, key[0])
        self.latest[key] = (position, value)

    def nearest(self, query: Number) -> Number:
        """The value under the key nearest to the query, the latest of two equally near."""
        place = bisect_left(self.keys, query)
        around = self.keys[max(place - 1, 0) : place + 1]
        distances = [distance(key, query) for key in around]
        tied = [
            self.latest[(key,)]
            for key, distance in zip(around, distances, strict=True)
            if distance == min(distances)
        ]
        return max(tied)[1]
