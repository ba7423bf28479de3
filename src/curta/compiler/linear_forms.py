"""What layers read and compute, as weighted sums of wires.

A *wire* is a node that exists in the residual stream: a feature, or the result of one gate, one
retrieval, one mean or one restored sum. Linear nodes are linear forms over wires, folded into the
weights of whoever reads them. A *task* computes one wire (or checks a promise) from what it reads.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from curta.compiler.lower import Circuit
from curta.compiler.nodes import Gate
from curta.dyadic import (
    STEP_OF_ZERO,
    Number,
    distance,
    simplify,
    step_of,
)

Wire = int
ONE: Wire = -1
"""The wire that is 1 everywhere: forms put their constants on it."""


@dataclass(frozen=True, slots=True)
class LinearForm:
    """A weighted sum of wires."""

    terms: tuple[tuple[Wire, Number], ...]

    @property
    def wires(self) -> tuple[Wire, ...]:
        return tuple(wire for wire, _ in self.terms)

    def scaled(self, factor: Number) -> LinearForm:
        return LinearForm(tuple((wire, simplify(c * factor)) for wire, c in self.terms))

    def __add__(self, other: LinearForm) -> LinearForm:
        total = dict(self.terms)
        for wire, coefficient in other.terms:
            total[wire] = total.get(wire, 0) + coefficient
        return linear_form(total)


def linear_form(weights: dict[Wire, Number]) -> LinearForm:
    return LinearForm(tuple((w, simplify(c)) for w, c in sorted(weights.items()) if c != 0))


@dataclass(frozen=True)
class Task:
    """Work for one sublayer. `node` is the wire it computes, or the promise it checks."""

    node: int
    kind: str  # "attention", "gate", "piecewise", "restore" or "guard"
    reads: tuple[LinearForm, ...]

    @cached_property
    def inputs(self) -> frozenset[Wire]:
        return frozenset(w for form in self.reads for w in form.wires if w != ONE)

    @property
    def in_attention(self) -> bool:
        return self.kind == "attention"

    @property
    def delay(self) -> int:
        """Sublayers from the start until the result is in its final state."""
        return 2 if self.kind == "restore" else 0


@dataclass(frozen=True, slots=True)
class OutputRule:
    """The forms of one family of tokens: base + d * linear - d * d * square."""

    tokens: tuple[int, ...]
    linear: LinearForm
    square: LinearForm
    base: LinearForm

    def logit(self, digit: int) -> LinearForm:
        return self.base + self.linear.scaled(digit) + self.square.scaled(-digit * digit)


def bend_of(circuit: Circuit, wire: Wire) -> object:
    """What gates that can only be bounded together have in common."""
    operation = circuit.graph.operations[wire]
    if isinstance(operation, Gate):
        return circuit.ranges.direction_of(operation.condition)[0], operation.value
    return wire


def partial_sums(circuit: Circuit, members: Iterable[tuple[Wire, Number]]) -> tuple[Number, int]:
    """(largest magnitude, step) of the sums of any of the members."""
    total: Number = 0
    step = STEP_OF_ZERO
    for wire, weight in members:
        magnitude, unit = (1, 0) if wire == ONE else circuit.ranges.while_added(wire)
        total += magnitude * distance(weight, 0)
        step = min(step, unit + step_of(weight))
    return simplify(total), step
