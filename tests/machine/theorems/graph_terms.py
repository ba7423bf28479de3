"""The graph's nodes as integer terms of z3, for proofs about all words.

A node is a number: sums with whole weights, gates relu(condition) * value. The only rewriting is
this. In a sum, the gates relu(y + c) of one and the same y make a function of y that is piecewise
linear. Where its last slope is 0, then for integers y, with S(k) the slope between k and k + 1,

    sum of weight * relu(y - place)  =  sum over k of S(k) * [y >= k + 1]

and n steps of the same height s that follow each other in the same distance u are one division:

    s * sum over j = 1..n of [y >= first + (j - 1) u]  =  s * ((y - first + u) // u, cut to 0..n)

Each of these tables is proved equal to its relus when it first occurs (`prove_table`), for all
integers y, so the rewriting need not be trusted.

Products of two unknowns are unknowns themselves, of which only the bounds are known.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

import z3

from curta.compiler import Graph, Node
from curta.compiler.nodes import Assume, Gate, Linear
from tests.machine.theorems.proving import RefutedError, UndecidedError

Term = z3.ArithRef | int
Bends = tuple[tuple[int, int], ...]
Arguments = tuple[tuple[int, int], ...]
"""The terms of a sum: nodes and their weights."""
Grouped = tuple[list[tuple[int, int]], list[tuple[Arguments, Bends]]]


def relu(term: Term) -> Term:
    if isinstance(term, int):
        return max(term, 0)
    return z3.If(term > 0, term, 0)


@dataclass(frozen=True)
class Steps:
    """`height` more at `first`, and so on `count` times, `unit` apart."""

    height: int
    first: int
    unit: int
    count: int


@cache
def steps_of(bends: Bends) -> tuple[Steps, ...] | None:
    """The steps that the sum of weight * relu(y - place) is; None if that takes too many."""
    single = single_steps(bends)
    if single is None:
        return None
    runs: list[Steps] = []
    for at, height in single:
        last = runs[-1] if runs else None
        if last and last.height == height and last.count == 1:
            runs[-1] = Steps(height, last.first, at - last.first, 2)
        elif last and last.height == height and at == last.first + last.unit * last.count:
            runs[-1] = Steps(height, last.first, last.unit, last.count + 1)
        else:
            runs.append(Steps(height, at, 1, 1))
    prove_table(bends, tuple(runs))
    return tuple(runs)


LONGEST_LINE = 300
"""Of a longer stretch with a slope the relus stay as they are."""


def single_steps(bends: Bends) -> list[tuple[int, int]] | None:
    """(where y is one step further, its height)."""
    slope, single = 0, []
    for (place, weight), (following, _) in zip(bends, (*bends[1:], (bends[-1][0], 0)), strict=True):
        slope += weight
        if slope and following - place > LONGEST_LINE:
            return None
        if slope:  # where nothing changes it may be far to the next bend
            single += [(at + 1, slope) for at in range(place, following)]
    return None if slope else single


def step_term(y: Term, steps: Steps) -> Term:
    if isinstance(y, int):
        return steps.height * min(max((y - steps.first + steps.unit) // steps.unit, 0), steps.count)
    if steps.count == 1:
        return z3.If(y >= steps.first, steps.height, 0)
    reached = (y - steps.first + steps.unit) / z3.IntVal(steps.unit)
    cut = z3.If(reached < 0, 0, z3.If(reached > steps.count, steps.count, reached))
    return steps.height * cut


def prove_table(bends: Bends, runs: tuple[Steps, ...]) -> None:
    """For integers between two neighbouring bends both sides are lines: equal at two, always equal.

    Both sides are functions of y with the same bends (a step is two); between them and beyond the
    last ones they are linear, so it is enough to compare them at the ends of all these stretches.
    """
    places = {place for place, _ in bends}
    for steps in runs:
        for turn in range(steps.count):
            at = steps.first + turn * steps.unit
            places |= {at - 1, at}
    ends = {end for place in places for end in (place - 1, place, place + 1)}
    for y in ends | {min(places) - 1000, max(places) + 1000}:
        literal = sum(weight * max(y - place, 0) for place, weight in bends)
        if literal != sum(step_term(y, steps) for steps in runs):
            raise RefutedError(f"a table is not its steps at {y}: {bends}")


@dataclass
class Evaluator:
    """Terms of nodes, where those of some are given."""

    graph: Graph
    given: dict[int, Term]
    facts: list[z3.BoolRef] = field(default_factory=list)
    """What is known of the unknowns."""
    products: dict[tuple[str, str], z3.ArithRef] = field(default_factory=dict)
    groups: dict[Arguments, Grouped] = field(default_factory=dict)
    """Of the graph alone: evaluators that are given the same nodes can share them."""
    _terms: dict[int, Term] = field(default_factory=dict)

    def term(self, node: Node) -> Term:
        return self.at(node.index)

    def at(self, index: int) -> Term:
        if index in self.given:
            return self.given[index]
        if index not in self._terms:
            self._terms[index] = self.evaluated(index)
        return self._terms[index]

    def evaluated(self, index: int) -> Term:
        match self.graph.operations[index]:
            case Linear(terms, constant):
                return self.sum(terms, constant)
            case Gate(condition, value):
                return self.gate(self.at(condition), self.at(value))
            case Assume(value, low, high):
                term = self.at(value)
                self.check(z3.And(term >= low, term <= high))
                return term
            case operation:
                raise NotImplementedError(f"{operation} has no given term")

    def sum(self, terms: Arguments, constant: int) -> Term:
        """Gates of the same argument are taken together."""
        total: Term = int(constant)
        plain, tables = self.grouped(terms)
        for index, weight in plain:
            total = total + weight * self.at(index)
        for argument, bends in tables:
            total = total + self.table(self.sum(argument, 0), bends)
        return total if isinstance(total, int) else as_known(z3.simplify(total, som=True))

    def grouped(self, terms: Arguments) -> Grouped:
        """Plain terms, and the bends of the relus of each argument."""
        if terms not in self.groups:
            plain: list[tuple[int, int]] = []
            tables: dict[Arguments, list[tuple[int, int]]] = {}
            for index, weight in terms:
                found = self.relu_argument(index)
                if found is None:
                    plain.append((index, whole(weight)))
                else:
                    tables.setdefault(found[0], []).append((-found[1], whole(weight)))
            shapes = [(argument, tuple(sorted(bends))) for argument, bends in tables.items()]
            self.groups[terms] = plain, shapes
        return self.groups[terms]

    def relu_argument(self, index: int) -> tuple[Arguments, int] | None:
        """(the terms of y, c), if the node is relu(y + c)."""
        operation = self.graph.operations[index]
        if index in self.given or not isinstance(operation, Gate):
            return None
        value = self.graph.operations[operation.value]
        if not (isinstance(value, Linear) and not value.terms and value.constant == 1):
            return None
        inner = self.graph.operations[operation.condition]
        if isinstance(inner, Linear) and operation.condition not in self.given:
            return tuple((i, whole(c)) for i, c in inner.terms), whole(inner.constant)
        return ((operation.condition, 1),), 0

    def table(self, y: Term, bends: Bends) -> Term:
        runs = steps_of(bends)
        if runs is None:
            return sum((weight * relu(y - place) for place, weight in bends), 0)
        return sum((self.steps(y, steps) for steps in runs), 0)

    def steps(self, y: Term, steps: Steps) -> Term:
        """Where y is known to be unit * q + r, with r below the unit, the quotient is q."""
        if isinstance(y, int) or steps.count == 1:
            return step_term(y, steps)
        whole_units, rest = divided(y - steps.first + steps.unit, steps.unit)
        fits = z3.And(rest >= 0, rest < steps.unit)
        if self.holds(fits) and self.holds(z3.And(whole_units >= 0, whole_units <= steps.count)):
            return steps.height * whole_units
        return step_term(y, steps)

    def gate(self, condition: Term, value: Term) -> Term:
        """relu(condition) * value: one of them a number, or the condition 0 or 1."""
        if isinstance(condition, int):
            return max(condition, 0) * value
        if isinstance(value, int):
            return value * relu(condition)
        if self.holds(condition <= 0):
            return 0
        if self.holds(condition <= 1):
            return z3.If(condition >= 1, value, 0)
        return self.product(condition, value)

    def product(self, a: z3.ArithRef, b: z3.ArithRef) -> z3.ArithRef:
        """An unknown; both factors have to be halves of words."""
        self.check(z3.And(a >= 0, a < 1 << 16, b >= 0, b < 1 << 16))
        key = tuple(sorted((z3.simplify(a).sexpr(), z3.simplify(b).sexpr())))
        if key not in self.products:
            found = z3.Int(f"product {len(self.products)}")
            self.products[key] = found
            self.facts += [found >= 0, found <= ((1 << 16) - 1) ** 2]
        return self.products[key]

    # -- claims -------------------------------------------------------------------------------

    def holds(self, claim: z3.BoolRef | bool, seconds: int = 20) -> bool:
        solver = z3.Solver()
        solver.set("timeout", seconds * 1000)
        solver.add(*self.facts, z3.Not(claim))
        return bool(solver.check() == z3.unsat)

    def check(self, claim: z3.BoolRef | bool, seconds: int = 120) -> None:
        """The claim holds for all values of the unknowns."""
        solver = z3.Solver()
        solver.set("timeout", seconds * 1000)
        solver.add(*self.facts, z3.Not(claim))
        answer = solver.check()
        if answer == z3.sat:
            raise RefutedError(str(solver.model()))
        if answer != z3.unsat:
            raise UndecidedError(f"no answer after {seconds} s")


def divided(term: z3.ArithRef, unit: int) -> tuple[z3.ArithRef, z3.ArithRef]:
    """The terms of a sum that are multiples of the unit, divided by it; and the others."""
    simple = z3.simplify(term, som=True)
    parts = simple.children() if z3.is_add(simple) else [simple]
    whole_units, rest = z3.IntVal(0), z3.IntVal(0)
    for part in parts:
        factors = part.children() if z3.is_mul(part) else [part]
        factor = factors[0].as_long() if z3.is_int_value(factors[0]) else 1
        if factor % unit == 0:
            others = factors[1:] if z3.is_int_value(factors[0]) else factors
            whole_units += z3.Product([z3.IntVal(factor // unit), *others])
        else:
            rest += part - factor // unit * unit if z3.is_int_value(part) else part
            whole_units += factor // unit if z3.is_int_value(part) else 0
    return whole_units, rest


def as_known(term: z3.ArithRef) -> Term:
    """The number, if it is one."""
    return int(term.as_long()) if z3.is_int_value(term) else term


def whole(number: object) -> int:
    """Weights of the machine's nodes are whole numbers."""
    value = int(number)  # type: ignore[call-overload]
    if value != number:
        raise NotImplementedError(f"a weight of {number}")
    return value
