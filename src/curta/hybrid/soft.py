"""A compiled program at a finite temperature: every node a tensor, with gradients.

Tokens are distributions, gates are smooth, and a look-up mixes what it finds. As the temperature
falls all of it becomes what the graph says; at none of them does anything depend on the others in a
sequence or in a batch in another way than the graph has it.

| node | exactly | at temperature T |
|---|---|---|
| a token's feature | the number of that token | the mean over the distribution |
| relu(x) | max(x, 0) | T softplus(x / T) |
| a key that matches the query | 1 or 0 | m = exp(-distance^2 / T) |
| the latest that matches | the last with 1 | m, times 1 - m of all later ones |
| nearest | of the least distance | the same, distances counted from the least |
| what is said | the best score | softmax(scores / T) |

Nodes that are declared and not defined are *holes*: numbers that come from outside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy

import torch
from torch import Tensor
from torch.nn.functional import softplus

from curta.compiler.graph import Graph
from curta.compiler.nodes import (
    Assume,
    Declared,
    Gate,
    Linear,
    Lookup,
    Piecewise,
    PositionFeature,
    RunningSum,
    TokenFeature,
)
from curta.compiler.resolve import check_output, roots, topological_order

Numbers = Mapping[str, Tensor]
"""By the name of a hole: [..., 1], one number for all tokens, or [..., token]."""
Nodes = tuple[int, ...]
DECIDED = 30.0
"""How much more a rule scores whose condition holds: exp(-30) is next to nothing."""


def holes(graph: Graph) -> dict[str, int]:
    """The nodes that are declared and never defined, by name."""
    return {
        operation.name: index
        for index, operation in enumerate(graph.operations)
        if isinstance(operation, Declared) and index not in graph.definitions
    }


class SoftProgram:
    """A graph, made ready: what every step computes, in order."""

    def __init__(self, graph: Graph) -> None:
        check_output(graph)
        self.graph = graph
        filled = copy(graph)  # with holes that depend on nothing: what has an order is whole
        nothing = dict.fromkeys(holes(graph).values(), graph.constant(0).index)
        filled.definitions = graph.definitions | nothing
        self.order = topological_order(filled, roots(graph))
        self.tables = {
            index: torch.tensor([float(v) for v in operation.values], dtype=torch.float64)
            for index, operation in enumerate(graph.operations)
            if isinstance(operation, TokenFeature)
        }


class SoftSequence:
    """What was fed so far, as look-ups and running sums remember it."""

    def __init__(self, program: SoftProgram, numbers: Numbers, temperature: float) -> None:
        self.program, self.numbers, self.temperature = program, numbers, temperature
        self.position = -1
        self.values: dict[int, Tensor] = {}
        self.sums: dict[int, Tensor] = {}
        self.filed: dict[Nodes, Tensor] = {}
        self.found: dict[tuple[Nodes, Nodes, bool], tuple[Tensor, Tensor]] = {}
        """At this token, by key and query: look-ups that ask the same differ in what they read."""

    def feed(self, token: Tensor) -> Tensor:
        """A distribution over tokens, [..., token]; the logits of the next one."""
        self.position += 1
        self.values, self.found = {}, {}
        for index in self.program.order:
            self.values[index] = self._value(index, token)
        return self._logits(token)

    def _value(self, index: int, token: Tensor) -> Tensor:
        graph, values = self.program.graph, self.values
        match graph.operations[index]:
            case TokenFeature():
                return token @ self.program.tables[index]
            case PositionFeature() as feature:
                return token.new_tensor(float(feature.at(self.position)))
            case Linear(terms, constant):
                total = token.new_tensor(float(constant))
                for i, coefficient in terms:
                    total = total + float(coefficient) * values[i]
                return total
            case Gate(condition, value):
                return self._relu(values[condition]) * values[value]
            case Piecewise(argument, bends):
                places = token.new_tensor([float(place) for place, _ in bends])
                weights = token.new_tensor([float(weight) for _, weight in bends])
                return self._relu(values[argument][..., None] - places) @ weights
            case RunningSum(value):
                self.sums[index] = self.sums.get(index, 0) + values[value]
                return self.sums[index]
            case Assume(value):
                return values[value]
            case Declared() if index in graph.definitions:
                return values[graph.definitions[index]]
            case Declared(name):
                number = self.numbers[name]
                return number[..., 0] if number.shape[-1] == 1 else (token * number).sum(-1)
            case Lookup() as lookup:
                return self._look_up(lookup)
            case operation:
                raise TypeError(f"{operation} is not part of the language")

    def _relu(self, x: Tensor) -> Tensor:
        return self.temperature * softplus(x / self.temperature)

    def _look_up(self, lookup: Lookup) -> Tensor:
        asked = lookup.key, lookup.query, lookup.missing == "nearest"
        if asked not in self.found:
            self.found[asked] = self._shares(*asked)
        shares, nothing = self.found[asked]
        found = (shares * self._filed((lookup.value,))[..., 0, :]).sum(-1)
        if isinstance(lookup.missing, str):
            return found / shares.sum(-1).clamp(min=1e-12)
        return found + nothing * float(lookup.missing)

    def _shares(self, key: Nodes, query: Nodes, nearest: bool) -> tuple[Tensor, Tensor]:
        """How much of what is found stands in each place, [..., place], and of nothing, [...]."""
        asked = side_by_side([self.values[i] for i in query])
        far = ((self._filed(key) - asked[..., None]) ** 2).sum(-2)
        if nearest:
            far = far - far.amin(dim=-1, keepdim=True)
        match = torch.exp(-far / self.temperature)
        unmatched = (1 - match).flip(-1).cumprod(-1).flip(-1)  # here and later
        later = torch.cat([unmatched[..., 1:], torch.ones_like(match[..., :1])], dim=-1)
        return match * later, unmatched[..., 0]

    def _filed(self, nodes: Nodes) -> Tensor:
        """What these nodes were at all places, [..., node, place]."""
        before = self.filed.get(nodes)
        if before is None or before.shape[-1] <= self.position:
            here = side_by_side([self.values[i] for i in nodes])
            before = self.filed[nodes] = with_last(before, here)
        return before

    def _logits(self, token: Tensor) -> Tensor:
        graph = self.program.graph
        scores: dict[int, Tensor] = {}
        holding: dict[int, Tensor] = {}
        for family in graph.families:
            linear, square, base = (
                self.values[i] for i in (family.linear, family.square, family.base)
            )
            for digit, name in enumerate(family.tokens):
                scores[name] = (base + digit * linear - digit * digit * square) / self.temperature
                if family.when is not None:
                    holding[name] = self.values[family.when]
        shape = token[..., :1] * 0
        logits = side_by_side(list(scores.values())) + shape
        if holding:
            spread = (logits.amax(-1, keepdim=True) - logits.amin(-1, keepdim=True)).detach()
            held = side_by_side(list(holding.values())) + shape
            logits = logits + (2 * spread + DECIDED) * held
        everything = logits.new_full((*logits.shape[:-1], len(graph.tokens)), -torch.inf)
        everything[..., list(scores)] = logits
        return everything


def side_by_side(parts: Sequence[Tensor]) -> Tensor:
    """Tensors of shapes that go together, along a new last dimension."""
    together: Sequence[Tensor] = torch.broadcast_tensors(*parts)  # type: ignore[no-untyped-call]
    return torch.stack(tuple(together), dim=-1)


def with_last(before: Tensor | None, last: Tensor) -> Tensor:
    """One more along the last dimension, of a shape that goes together with those before."""
    if before is None:
        return last[..., None]
    shape = torch.broadcast_shapes(before.shape[:-1], last.shape)  # type: ignore[no-untyped-call]
    return torch.cat([before.expand(*shape, -1), last.expand(shape)[..., None]], dim=-1)
