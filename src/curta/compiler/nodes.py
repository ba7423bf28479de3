"""The kinds of node. All are immutable; operands are indices into the graph that owns them.

The user's language: TokenFeature, PositionFeature, Linear, Gate, Piecewise, Lookup, RunningSum,
Assume, and Declared, a name for something defined later.

`lower` turns the last four into what attention and residual stream do directly: Retrieve, Mean
and Restore. A lowered graph is called a circuit; the same Graph class holds both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from curta.dyadic import Number

Missing = Literal["nearest", "stop"] | Number


@dataclass(frozen=True, slots=True)
class TokenFeature:
    """A number that a token's embedding carries; `values` are in the order of the token ids."""

    values: tuple[Number, ...]


@dataclass(frozen=True, slots=True)
class PositionFeature:
    """((position // divisor) mod modulus - offset) ** power; modulus 0 means no modulus."""

    divisor: int = 1
    modulus: int = 0
    power: int = 1
    offset: int = 0

    def at(self, position: int) -> int:
        digit = position // self.divisor
        if self.modulus:
            digit %= self.modulus
        return int((digit - self.offset) ** self.power)


@dataclass(frozen=True, slots=True)
class Linear:
    """constant + sum of coefficient * node. Never refers to another Linear: sums are flat."""

    terms: tuple[tuple[int, Number], ...]
    constant: Number


@dataclass(frozen=True, slots=True)
class Gate:
    """relu(condition) * value."""

    condition: int
    value: int


@dataclass(frozen=True, slots=True)
class GateCopy(Gate):
    """The same gate once more (circuit only; see gate_copies.py)."""

    number: int


@dataclass(frozen=True, slots=True)
class Piecewise:
    """The sum of weight * relu(argument - place) over all bends (place, weight).

    Gates could say the same. But of a table with thousands of bends nobody reads single ones, so
    that it is one node: one wire in one slot, and its bends are hidden units of one layer.
    """

    argument: int
    bends: tuple[tuple[Number, Number], ...]

    def at(self, argument: Number) -> Number:
        return sum(weight * (argument - place) for place, weight in self.bends if place < argument)


@dataclass(frozen=True, slots=True)
class Lookup:
    """The value at the most recent position (this one included) whose key equals the query.

    Keys and queries are tuples of digits, equal when every digit is. If no key is equal:
    "nearest" takes the nearest key (of equally near ones the most recent), "stop" ends the run
    with an error, and a number is the result itself.
    """

    query: tuple[int, ...]
    key: tuple[int, ...]
    value: int
    missing: Missing


@dataclass(frozen=True, slots=True)
class RunningSum:
    """The sum of the value over all positions up to this one."""

    value: int


@dataclass(frozen=True, slots=True)
class Assume:
    """The value, promised to lie in [low, high]; a run that breaks the promise is stopped."""

    value: int
    low: Number
    high: Number


@dataclass(frozen=True, slots=True)
class Declared:
    """A node that is defined later."""

    name: str


@dataclass(frozen=True, slots=True)
class Retrieve:
    """One value fetched by one attention head (circuit only).

    The score of an earlier position is 2 * query . key - square + recency, where square is the
    sum of the squared key digits. `nearest` says whether a miss has a meaning; without it, a
    consumer compares the retrieved key with the query before it uses the value. As one number, the
    key is the node `code` = offset + the sum of weights * digits.
    """

    query: tuple[int, ...]
    key: tuple[int, ...]
    square: int
    value: int
    recency: bool
    nearest: bool
    is_key: bool
    code: int
    weights: tuple[Number, ...]
    offset: Number


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of the value over all positions up to this one (circuit only)."""

    value: int


@dataclass(frozen=True, slots=True)
class Restore:
    """A mean times the count, rounded to a multiple of 2**step (circuit only)."""

    mean: int
    step: int


Operation = (
    TokenFeature
    | PositionFeature
    | Linear
    | Gate
    | Piecewise
    | Lookup
    | RunningSum
    | Assume
    | Declared
    | Retrieve
    | Mean
    | Restore
)


def operands(operation: Operation) -> tuple[int, ...]:
    """The nodes that an operation reads, in a fixed order."""
    match operation:
        case Linear(terms):
            return tuple(index for index, _ in terms)
        case Gate(condition, value):
            return (condition, value)
        case Piecewise(argument):
            return (argument,)
        case Lookup(query, key, value):
            return (*query, *key, value)
        case Retrieve(query, key, square, value):
            return (*query, *key, square, value)
        case RunningSum(value) | Mean(value) | Assume(value):
            return (value,)
        case Restore(mean):
            return (mean,)
        case _:
            return ()
