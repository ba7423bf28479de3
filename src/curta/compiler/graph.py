"""The language: a graph of numbers that every token of a sequence computes.

A Graph owns its nodes. A node is immutable and interned: building the same operation twice gives
the same node, so `is` compares nodes and nothing is ever computed twice. A name counts for all
uses of a node; the first one given with `named` stays.

What the model says next is described by *families* of tokens. Token number d of a family with
nodes (linear, square, base) scores `base + d * linear - d * d * square`; the best score wins and
ties go to the token that was declared first. With linear = 2x and square = 1 that is the token
nearest to x. Families may carry a condition `when` (0 or 1): one whose condition holds always
beats one whose condition does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NoReturn

import numpy as np

from curta.compiler.nodes import (
    Assume,
    Declared,
    Gate,
    Linear,
    Lookup,
    Mean,
    Operation,
    Piecewise,
    PositionFeature,
    Restore,
    Retrieve,
    RunningSum,
    TokenFeature,
)
from curta.dyadic import FLOAT64, Arithmetic, Number, exact, integer, short
from curta.errors import GraphError

LARGEST_DIVISOR = 2**62
"""Divisors and moduli of positions are 64-bit integers."""


def refused(what: str, remedy: str) -> Callable[..., NoReturn]:
    """An operator that nodes do not have, though Python might give it a meaning of its own."""

    def refuse(node: Node, *others: object) -> NoReturn:
        raise GraphError(f"{node.name}: nodes have no {what}; use {remedy}")

    return refuse


@dataclass(frozen=True, eq=False, slots=True)
class Node:
    """One number per position. Add and subtract nodes, and multiply them by constants."""

    graph: Graph
    index: int

    __array_ufunc__ = None  # NumPy numbers leave arithmetic to the node
    __hash__ = object.__hash__

    @property
    def operation(self) -> Operation:
        return self.graph.operations[self.index]

    @property
    def name(self) -> str:
        return self.graph.name_of(self.index)

    def named(self, name: str) -> Node:
        """The same node, called `name` in errors, tables and generated code."""
        self.graph.rename(self, name)
        return self

    def __add__(self, other: object) -> Node:
        return self.graph.linear([(self, 1), (self.graph.node(other), 1)])

    __radd__ = __add__

    def __sub__(self, other: object) -> Node:
        return self.graph.linear([(self, 1), (self.graph.node(other), -1)])

    def __rsub__(self, other: object) -> Node:
        return self.graph.linear([(self.graph.node(other), 1), (self, -1)])

    def __mul__(self, factor: object) -> Node:
        if isinstance(factor, Node):
            raise GraphError(
                f"{self.name} * {factor.name}: a linear node multiplies by constants only; "
                "use curta.compiler.product, which is two gates"
            )
        return self.graph.linear([(self, factor)])

    __rmul__ = __mul__

    def __neg__(self) -> Node:
        return self.graph.linear([(self, -1)])

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Node | int | float | Fraction | np.number) and other is not self:
            name = other.name if isinstance(other, Node) else other
            raise GraphError(f"{self.name} == {name}: nodes have no values yet; use equals")
        return self is other

    __lt__ = __le__ = __gt__ = __ge__ = refused("order", "at_least or at_most")
    __bool__ = refused("truth value", "select, both, either or invert")
    __truediv__ = __floordiv__ = __rtruediv__ = __rfloordiv__ = refused(
        "division", "quotient_of, or multiply by a constant"
    )
    __mod__ = __rmod__ = refused("remainder", "remainder_of")
    __pow__ = __rpow__ = refused("powers", "product")
    __abs__ = refused("abs()", "absolute")

    def __repr__(self) -> str:
        return f"<{type(self.operation).__name__} {self.name}>"


@dataclass(frozen=True, slots=True)
class Family:
    """Tokens that compete by `base + d * linear - d * d * square`, with d = 0, 1, 2, ..."""

    tokens: tuple[int, ...]
    linear: int
    square: int
    base: int
    when: int | None


class Graph:
    """A program for a transformer: nodes, the vocabulary, and what to say next."""

    arithmetic: Arithmetic = FLOAT64
    """With which it is computed."""

    def __init__(self, tokens: Iterable[str] = ()) -> None:
        self.operations: list[Operation] = []
        self.names: dict[int, str] = {}
        self.tokens: dict[str, int] = {}
        self.families: list[Family] = []
        self.stops: set[int] = set()
        self.definitions: dict[int, int] = {}
        self._nodes: list[Node] = []
        self._interned: dict[Operation, Node] = {}
        self._named: set[int] = set()
        self.add_tokens(*listed(tokens, "the tokens of a graph"))

    # -- vocabulary ---------------------------------------------------------------------------

    def add_tokens(self, *tokens: str) -> None:
        """Declare tokens; their ids follow the order of declaration."""
        if any(isinstance(operation, TokenFeature) for operation in self.operations):
            raise GraphError("declare all tokens before the first feature")
        for token in tokens:
            if checked_text(token, "a token") in self.tokens:
                raise GraphError(f"token {token!r} is declared twice")
            self.tokens[token] = len(self.tokens)

    def token_id(self, token: str) -> int:
        if not isinstance(token, str) or token not in self.tokens:
            known = " ".join(list(self.tokens)[:12]) + (" ..." if len(self.tokens) > 12 else "")
            raise GraphError(f"unknown token {short(token)}; declared are: {known}")
        return self.tokens[token]

    # -- nodes --------------------------------------------------------------------------------

    def feature(self, name: str, values: Mapping[str, object], default: object = 0) -> Node:
        """A number carried by each token: `values`, and `default` for tokens not named."""
        checked_text(name, "a feature's name")
        if not isinstance(values, Mapping):
            raise GraphError(f"feature {name!r}: expected {{token: number}}, got {short(values)}")
        table = [exact(default)] * len(self.tokens)
        for token, value in values.items():
            table[self.token_id(token)] = exact(value)
        node = self.intern(TokenFeature(tuple(table)))
        self.names.setdefault(node.index, name)
        return node

    def is_token(self, *tokens: str) -> Node:
        """1 on the given tokens, 0 on all others."""
        ids = {self.token_id(token) for token in tokens}
        return self.intern(TokenFeature(tuple(int(n in ids) for n in range(len(self.tokens)))))

    @property
    def one(self) -> Node:
        return self.constant(1)

    @property
    def position(self) -> Node:
        """The number of tokens before this one."""
        return self.position_feature(1)

    def position_feature(self, divisor: int, modulus: int = 0, power: int = 1) -> Node:
        """((position // divisor) mod modulus) ** power, from the positional embedding."""
        divisor, modulus = integer(divisor, "divisor"), integer(modulus, "modulus")
        largest = max(divisor, modulus)
        if divisor < 1 or modulus < 0 or largest > LARGEST_DIVISOR or power not in (1, 2):
            raise GraphError(
                f"position_feature({short(divisor)}, {short(modulus)}, {short(power)}): the "
                "divisor must be at least 1, the modulus at least 0 (none), both at most 2**62, "
                "and the power 1 or 2"
            )
        power = int(power)
        return self.intern(PositionFeature(divisor, modulus, power))

    def constant(self, value: object) -> Node:
        return self.intern(Linear((), exact(value)))

    def linear(self, terms: Iterable[tuple[Node, object]], constant: object = 0) -> Node:
        """constant + the sum of coefficient * node."""
        total: dict[int, Number] = {}
        shift = exact(constant)
        for node, coefficient in terms:
            index = self.own(node).index
            operation, factor = self.operations[index], exact(coefficient)
            if isinstance(operation, Linear):
                shift += factor * operation.constant
                for inner, weight in operation.terms:
                    total[inner] = total.get(inner, 0) + factor * weight
            else:
                total[index] = total.get(index, 0) + factor
        flat = tuple((i, exact(c)) for i, c in sorted(total.items()) if c != 0)
        shift = exact(shift)
        if shift == 0 and len(flat) == 1 and flat[0][1] == 1:
            return self.node_at(flat[0][0])
        return self.intern(Linear(flat, shift))

    def gate(self, condition: object, value: object) -> Node:
        """relu(condition) * value."""
        return self.intern(Gate(self.node(condition).index, self.node(value).index))

    def piecewise(self, argument: object, bends: Iterable[tuple[object, object]]) -> Node:
        """The sum of weight * relu(argument - place) over the bends (place, weight)."""
        weights: dict[Number, Number] = {}
        for place, weight in bends:
            at = exact(place)
            weights[at] = weights.get(at, 0) + exact(weight)
        turns = tuple((place, exact(w)) for place, w in sorted(weights.items()) if w != 0)
        if not turns:
            return self.constant(0)
        return self.intern(Piecewise(self.node(argument).index, turns))

    def lookup(
        self,
        *,
        query: object,
        key: object,
        value: object,
        missing: Literal["nearest", "stop"] | float | Fraction = "stop",
    ) -> Node:
        """The value at the most recent position whose key equals the query (see nodes.Lookup)."""
        queries = query if isinstance(query, tuple | list) else (query,)
        keys = key if isinstance(key, tuple | list) else (key,)
        if len(queries) != len(keys) or not keys:
            raise GraphError(f"a query of {len(queries)} digits cannot match keys of {len(keys)}")
        if isinstance(missing, str) and missing not in ("nearest", "stop"):
            raise GraphError(f"missing={missing!r}: expected 'nearest', 'stop' or a number")
        if isinstance(missing, Node):
            raise GraphError("missing is a node: expected 'nearest', 'stop' or a number")
        if missing == "nearest" and len(keys) > 1:
            raise GraphError("missing='nearest' needs a key of one digit: nearness is a distance")
        return self.intern(
            Lookup(
                tuple(self.node(digit).index for digit in queries),
                tuple(self.node(digit).index for digit in keys),
                self.node(value).index,
                missing if isinstance(missing, str) else exact(missing),
            )
        )

    def running_sum(self, value: object) -> Node:
        """The sum of the value over all positions up to this one."""
        return self.intern(RunningSum(self.node(value).index))

    def assume(self, value: object, low: object, high: object) -> Node:
        """The value, promised to lie in [low, high]. Runs that break the promise are stopped."""
        bottom, top = exact(low), exact(high)
        node = self.node(value)
        if bottom > top:
            raise GraphError(f"assume {node.name} in [{low}, {high}]: the interval is empty")
        return self.intern(Assume(node.index, bottom, top))

    def declare(self, name: str) -> Node:
        """A node to be defined later, with `define`."""
        node = self.intern(Declared(checked_text(name, "a name")))
        self.names.setdefault(node.index, name)
        return node

    def define(self, declared: Node, value: object) -> None:
        if not isinstance(self.own(declared).operation, Declared):
            raise GraphError(f"{declared.name} was not made by declare()")
        if declared.index in self.definitions:
            raise GraphError(f"{declared.name} is defined twice")
        self.definitions[declared.index] = self.node(value).index

    # -- circuit nodes, for the passes of the compiler ----------------------------------------

    def retrieve(self, operation: Retrieve) -> Node:
        return self.intern(operation)

    def mean(self, value: Node) -> Node:
        return self.intern(Mean(value.index))

    def restore(self, mean: Node, step: int) -> Node:
        return self.intern(Restore(mean.index, step))

    # -- what to say next ---------------------------------------------------------------------

    def emit(self, tokens: Iterable[str], number: object, when: object | None = None) -> None:
        """Say the token whose place in `tokens` is nearest to the number.

        Of two that are equally near the one declared first is said. With `when`, which is 0 or 1
        (a promise, if it cannot be proved), this rule counts only where `when` is 1.
        """
        self._family(tokens, self.node(number) * 2, self.one, when)

    def emit_quotient(
        self, tokens: Iterable[str], dividend: object, divisor: object, when: object | None = None
    ) -> None:
        """Say the token numbered floor(dividend / divisor); both integers, the divisor positive.

        The arg-max over q of q * (2A - B + 1) - q * q * B is floor(A / B), because q + 1 scores
        more than q by 2 * (A - (q + 1) * B) + 1: positive exactly while (q + 1) * B <= A.
        """
        numerator, denominator = self.node(dividend), self.node(divisor)
        self._family(tokens, numerator * 2 - denominator + 1, denominator, when)

    def emit_token(self, token: str, when: object | None = None) -> None:
        """Say this token (when the condition holds)."""
        self._family([token], self.constant(0), self.constant(0), when)

    def score(self, token: str, score: object, when: object | None = None) -> None:
        """The token's score as it stands (when the condition holds): the highest is said."""
        zero = self.constant(0)
        self._family([token], zero, zero, when, self.node(score))

    def stop_after(self, *tokens: str) -> None:
        """Generation ends once one of these tokens has been said."""
        self.stops.update(self.token_id(token) for token in tokens)

    def _family(
        self,
        tokens: Iterable[str],
        linear: Node,
        square: Node,
        when: object | None,
        base: Node | None = None,
    ) -> None:
        said = listed(tokens, "the tokens to say")
        if not said:
            raise GraphError("an output rule needs at least one token to say")
        ids = tuple(self.token_id(token) for token in said)
        taken = {token for family in self.families for token in family.tokens}
        for token, number in zip(said, ids, strict=True):
            if number in taken:
                raise GraphError(f"token {token!r} is scored twice; merge the two rules into one")
            taken.add(number)
        self.families.append(
            Family(
                ids,
                linear.index,
                square.index,
                (self.constant(0) if base is None else base).index,
                None if when is None else self.assume(when, 0, 1).index,
            )
        )

    # -- internals ----------------------------------------------------------------------------

    def node(self, value: object) -> Node:
        """The value as a node of this graph."""
        return self.own(value) if isinstance(value, Node) else self.constant(value)

    def own(self, node: Node) -> Node:
        if not isinstance(node, Node):
            raise GraphError(f"expected a node of this graph, got {short(node)}")
        if node.graph is not self:
            raise GraphError(f"{node.name} belongs to another graph; nodes cannot be shared")
        return node

    def intern(self, operation: Operation) -> Node:
        node = self._interned.get(operation)
        if node is None:
            node = self._interned[operation] = Node(self, len(self.operations))
            self.operations.append(operation)
            self._nodes.append(node)
        return node

    def node_at(self, index: int) -> Node:
        """The node with this index."""
        return self._nodes[index]

    def rename(self, node: Node, name: str) -> None:
        """Call the node by the first name it is given, not by the one its feature came with."""
        if node.index not in self._named:
            self.names[node.index] = checked_text(name, "a name")
            self._named.add(node.index)

    def name_of(self, index: int) -> str:
        """The node's name, or its expression in a few words."""
        while index not in self.names and isinstance(promise := self.operations[index], Assume):
            index = promise.value
        if index in self.names:
            return self.names[index]
        match self.operations[index]:
            case TokenFeature(values) if set(values) <= {0, 1}:
                marked = [token for token, value in zip(self.tokens, values, strict=True) if value]
                return (
                    f"is {' '.join(marked if len(marked) <= 4 else (marked[0], '...', marked[-1]))}"
                )
            case PositionFeature(divisor, modulus, power, offset):
                text = "position" if divisor == 1 else f"position//{divisor}"
                text += f" mod {modulus}" if modulus else ""
                text += f" - {offset}" if offset else ""
                if power == 2:
                    text = f"({text})^2" if " " in text or "/" in text else f"{text}^2"
                return text
            case Linear(terms, constant):
                return self.name_of_terms(terms, constant)
            case Gate(condition, value):
                return f"gate{index}({self._short(condition)}, {self._short(value)})"
            case Piecewise(argument):
                return f"table{index}({self._short(argument)})"
            case Lookup(_, _, value) | Retrieve(_, _, _, value):
                return f"lookup{index}({self._short(value)})"
            case RunningSum(value):
                return f"running_sum({self._short(value)})"
            case Mean(value):
                return f"mean({self._short(value)})"
            case Restore(mean):
                return f"count*{self._short(mean)}"
            case operation:
                return f"{type(operation).__name__.lower()}{index}"

    def name_of_terms(self, terms: Sequence[tuple[int, Number]], constant: Number = 0) -> str:
        """A weighted sum in a few words."""
        if len(terms) == 1 and terms[0][1] == 1 and not constant:
            return self.name_of(terms[0][0])
        parts = [(self._short(i) if c == 1 else f"{c}*{self._short(i)}") for i, c in terms[:3]]
        parts += ["..."] * (len(terms) > 3) + [str(constant)] * (constant != 0 or not terms)
        return " + ".join(parts).replace("+ -1*", "- ").replace("+ -", "- ")

    def _short(self, index: int) -> str:
        name = self.names.get(index)
        if name is not None:
            return name
        if isinstance(self.operations[index], TokenFeature | PositionFeature):
            return self.name_of(index)
        return f"n{index}"


# -- what users hand in ---------------------------------------------------------------------------


def listed(values: Iterable[Any], what: str) -> tuple[Any, ...]:
    """Any iterable, once through."""
    if not isinstance(values, Iterable):
        raise GraphError(f"{what}: expected a list, got {short(values)}")
    return tuple(values)


def checked_text(text: str, what: str) -> str:
    """The text, if it is one that can be written to a file."""
    if not is_text(text):
        raise GraphError(f"{what} has to be a string of Unicode characters, got {short(text)}")
    return text


def is_text(value: object) -> bool:
    """Whether this is a string that can be written down: lone surrogates cannot."""
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        return False
