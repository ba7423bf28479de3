"""The nodes of a graph on arrays of whole numbers, one after the other, by NumPy.

What is computed is the graph itself, before the compiler: sums and gates relu(condition) * value.
Every magnitude is shown to be below 2**53, as far as weights of float64 can hold whole numbers.

Thousands of sums differ in their constants only, as they do wherever a table has many places; what
they have in common is added up once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from curta.compiler import Graph, Node
from curta.compiler.nodes import Assume, Gate, Linear, Operation, Piecewise

Numbers = npt.NDArray[np.int64]
Terms = tuple[tuple[int, object], ...]
EXACT = 1 << 53


class GraphValues:
    """The nodes that some results need; `given` are those whose numbers are given."""

    def __init__(self, graph: Graph, given: Sequence[Node], results: Sequence[Node]) -> None:
        self.operations = graph.operations
        self.given = [node.index for node in given]
        self.results = [node.index for node in results]
        self.order = self._needed()
        self.dying = self._last_uses()

    def _needed(self) -> list[int]:
        """Operands come before what is made of them."""
        seen: set[int] = set()
        waiting = list(self.results)
        while waiting:
            index = waiting.pop()
            if index not in seen:
                seen.add(index)
                if index not in self.given:
                    waiting += operands_of(self.operations[index])
        return sorted(seen - set(self.given))

    def _last_uses(self) -> dict[int, list[int]]:
        """Which arrays nobody reads any more after a node is computed."""
        last: dict[int, int] = {}
        sums: dict[Terms, int] = {}
        for index in self.order:
            operation = self.operations[index]
            if isinstance(operation, Linear):
                sums[operation.terms] = index
            else:
                last |= dict.fromkeys(operands_of(operation), index)
        first: dict[Terms, int] = {}
        for index in self.order:
            operation = self.operations[index]
            if isinstance(operation, Linear) and operation.terms not in first:
                first[operation.terms] = index
                for operand in operands_of(operation):
                    last[operand] = max(index, last.get(operand, 0))
        self.last_sums = {index: terms for terms, index in sums.items()}
        dying: dict[int, list[int]] = {}
        for operand, index in last.items():
            if operand not in self.results:
                dying.setdefault(index, []).append(operand)
        return dying

    def of(self, *numbers: Numbers) -> list[Numbers]:
        """The results for these numbers of the given nodes."""
        values = dict(zip(self.given, numbers, strict=True))
        sums: dict[Terms, Numbers] = {}
        largest = {index: magnitude(array) for index, array in values.items()}
        for index in self.order:
            operation = self.operations[index]
            if isinstance(operation, Linear):
                if operation.terms not in sums:
                    sums[operation.terms] = total_of(operation.terms, values)
                values[index] = sums[operation.terms] + whole(operation.constant)
            else:
                values[index] = evaluated(operation, values)
            known = bound(operation, largest)
            largest[index] = magnitude(values[index]) if known is None else known
            assert largest[index] < EXACT, f"{operation} gives {largest[index]}"
            for operand in self.dying.get(index, ()):
                del values[operand]
            if index in self.last_sums:
                del sums[self.last_sums[index]]
        return [np.broadcast_to(values[index], numbers[0].shape) for index in self.results]


def operands_of(operation: Operation) -> list[int]:
    match operation:
        case Linear(terms, _):
            return [index for index, _ in terms]
        case Gate(condition, value):
            return [condition, value]
        case Piecewise(argument, _):
            return [argument]
        case Assume(value, _, _):
            return [value]
    raise NotImplementedError(f"{operation} has no value of its own")


def evaluated(operation: Operation, values: Mapping[int, Numbers]) -> Numbers:
    match operation:
        case Gate(condition, value):
            open_gate = np.maximum(values[condition], 0)
            return open_gate if is_one(values[value]) else open_gate * values[value]
        case Piecewise(argument, bends):
            return sum(
                (np.maximum(values[argument] - whole(at), 0) * whole(by) for at, by in bends),
                np.zeros((), np.int64),
            )
        case Assume(value, low, high):
            assert (values[value] >= whole(low)).all()
            assert (values[value] <= whole(high)).all()
            return values[value]
    raise NotImplementedError(f"{operation} has no value of its own")


def total_of(terms: Terms, values: Mapping[int, Numbers]) -> Numbers:
    """The sum of weight * array."""
    total: Numbers = np.zeros((), np.int64)
    for index, weight in terms:
        part = values[index] if weight == 1 else values[index] * whole(weight)
        total = np.add(total, part, out=total if total.shape == part.shape else None)
    return total


def bound(operation: Operation, largest: Mapping[int, int]) -> int | None:
    """No magnitude is larger, where that follows at once: most nodes need not be looked at."""
    match operation:
        case Linear(((index, weight),), constant):
            return abs(whole(weight)) * largest[index] + abs(whole(constant))
        case Gate(condition, value) if largest[value] <= 1:
            return largest[condition]
    return None


def is_one(numbers: Numbers) -> bool:
    return not numbers.shape and int(numbers) == 1


def magnitude(numbers: Numbers) -> int:
    return max(-int(numbers.min()), int(numbers.max()), 0)


def whole(number: object) -> int:
    """Weights of these nodes are whole numbers."""
    value = int(number)  # type: ignore[call-overload]
    assert value == number, f"a weight of {number}"
    return int(value)
