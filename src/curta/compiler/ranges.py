"""Ranges: an interval and a step for every node of a circuit, for sequences of at most T tokens.

Plain interval arithmetic forgets that relu(x + 1) and relu(x) rise together, and would put a step
function in [-K, K]. So a sum is first split into groups of gates whose conditions are
`alpha * u + beta` for one common direction u. Within a group everything is a function of u alone,
linear between the bends -beta / alpha, times the values of the gates. Its extremes over the lattice
on which u lives lie next to the bends or at the ends of u's interval, and are found exactly. Token
features are added up token by token. The groups are then added up as intervals.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from curta.compiler.graph import Graph
from curta.compiler.nodes import (
    Assume,
    Gate,
    Linear,
    Mean,
    Piecewise,
    PositionFeature,
    Restore,
    Retrieve,
    TokenFeature,
)
from curta.dyadic import (
    STEP_OF_ZERO,
    Number,
    Range,
    common_factor,
    divided,
    power_of_two,
    simplify,
    step_of,
)

Terms = tuple[tuple[int, Number], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Direction:
    """The u of conditions alpha * u + beta. An analysis has one object for every u."""

    terms: Terms

    @property
    def order(self) -> tuple[int, int, Terms]:
        """A direction absorbs the terms that it is made of, so it goes before their directions."""
        return -self.terms[-1][0], -len(self.terms), self.terms


@dataclass(frozen=True, slots=True)
class Bend:
    """coefficient * relu(alpha * u + beta) * value."""

    alpha: Number
    beta: Number
    coefficient: Number
    value: Range
    node: int
    """Which node the value is: bends of one node rise and fall with it together."""


class RangeAnalysis:
    """Ranges of the nodes of one circuit, computed when asked for and remembered."""

    def __init__(self, circuit: Graph, max_tokens: int) -> None:
        self.circuit = circuit
        self.max_tokens = max_tokens
        self._known: dict[int, Range] = {}
        self._added: dict[int, tuple[Number, int]] = {}
        self._directions: dict[Terms, Direction] = {}
        self._conditions: dict[int, tuple[Direction, Number, Number]] = {}
        self._spans: dict[Direction, Range] = {}
        self._groups: dict[tuple[Direction, Terms, Number], Range] = {}

    def __getitem__(self, index: int) -> Range:
        found = self._known.get(index)
        if found is None:
            found = self._compute(index)
            self._known[index] = found
        return found

    def _compute(self, index: int) -> Range:
        match self.circuit.operations[index]:
            case TokenFeature(values):
                return Range(min(values), max(values), min(step_of(v) for v in values))
            case PositionFeature(divisor, modulus, power, offset):
                largest = (self.max_tokens - 1) // divisor
                largest = min(largest, modulus - 1) if modulus else largest
                least, most = -offset, largest - offset
                if power == 1:
                    return Range(least, most, 0)
                smallest = 0 if least <= 0 <= most else min(least**2, most**2)
                return Range(smallest, max(least**2, most**2), 0)
            case Linear(terms, constant):
                return self.sum_of(terms, constant)
            case Gate(condition, value):
                return self._gate(condition, value)
            case Piecewise(argument, bends):
                one = Range.constant(1)
                turns = [Bend(1, -place, weight, one, index) for place, weight in bends]
                return range_of_bends(self[argument], turns, 0)
            case Retrieve(_, _, _, value) | Mean(value):
                return self[value]
            case Restore(mean, step):
                low, high = self[mean].low, self[mean].high
                many = self.max_tokens
                return Range(min(low, low * many), max(high, high * many), step)
            case Assume(value, least, most):
                proved = self[value]
                return Range(max(proved.low, least), min(proved.high, most), proved.step)
            case operation:
                raise TypeError(f"{operation} is no circuit node")

    def _gate(self, condition: int, value: int) -> Range:
        gate = self[condition].rectified()
        if condition == value:
            return Range(gate.low**2, gate.high**2, 2 * gate.step)
        return gate.times(self[value])

    def while_added(self, index: int) -> tuple[Number, int]:
        """(largest magnitude, step) of what a slot holds while a node is being added to it.

        Attention adds a value at once; so does a gate; bends are added up one by one, in any order.
        """
        known = self._added.get(index)
        if known is None:
            found, operation = self[index], self.circuit.operations[index]
            largest = found.magnitude
            if isinstance(operation, Piecewise):
                most = self[operation.argument].high
                parts = [weight * max(most - place, 0) for place, weight in operation.bends]
                up, down = (sum(max(sign * part, 0) for part in parts) for sign in (1, -1))
                largest = simplify(max(up, down))
            known = self._added[index] = largest, found.step
        return known

    # -- sums ---------------------------------------------------------------------------------

    def sum_of(self, terms: Terms, constant: Number = 0) -> Range:
        """The range of a weighted sum of nodes."""
        rest = dict(terms)
        groups: dict[Direction, list[int]] = {}
        for index in rest:
            operation = self.circuit.operations[index]
            if isinstance(operation, Gate) and operation.condition != operation.value:
                direction = self.direction_of(operation.condition)[0]
                groups.setdefault(direction, []).append(index)
        total = Range.constant(constant)
        for direction in sorted(groups, key=lambda direction: direction.order):
            members = tuple((i, rest.pop(i)) for i in groups[direction] if i in rest)
            if members:
                slope = absorb(rest, direction.terms)
                total = total + self._group(direction, members, slope)
        operations = self.circuit.operations
        features = [index for index in rest if isinstance(operations[index], TokenFeature)]
        if len(features) > 1:
            total = total + self._features({index: rest.pop(index) for index in features})
        for index, coefficient in rest.items():
            total = total + self[index].scaled(coefficient)
        return total

    def _features(self, factors: dict[int, Number]) -> Range:
        """The range of a sum of token features: token by token."""
        sums: list[Number] = [0] * len(self.circuit.tokens)
        step = STEP_OF_ZERO
        for index, factor in factors.items():
            operation = self.circuit.operations[index]
            assert isinstance(operation, TokenFeature)
            sums = [s + factor * v for s, v in zip(sums, operation.values, strict=True)]
            step = min(step, self[index].step + step_of(factor))
        return Range(simplify(min(sums)), simplify(max(sums)), step)

    def direction_of(self, condition: int) -> tuple[Direction, Number, Number]:
        """(u, alpha, beta) of a condition alpha * u + beta."""
        found = self._conditions.get(condition)
        if found is None:
            terms, beta = self._flat(condition)
            alpha = common_factor(c for _, c in terms)
            u = tuple((index, divided(c, alpha)) for index, c in terms)
            found = self._directions.setdefault(u, Direction(u)), alpha, beta
            self._conditions[condition] = found
        return found

    def _span(self, direction: Direction) -> Range:
        found = self._spans.get(direction)
        if found is None:
            found = self._spans[direction] = self.sum_of(direction.terms)
        return found

    def _flat(self, index: int) -> tuple[Terms, Number]:
        operation = self.circuit.operations[index]
        if isinstance(operation, Linear):
            return operation.terms, operation.constant
        return ((index, 1),), 0

    def _group(self, direction: Direction, members: Terms, slope: Number) -> Range:
        key = (direction, members, slope)
        found = self._groups.get(key)
        if found is None:
            bends = [self._bend(index, coefficient) for index, coefficient in members]
            found = self._groups[key] = range_of_bends(self._span(direction), bends, slope)
        return found

    def _bend(self, index: int, coefficient: Number) -> Bend:
        operation = self.circuit.operations[index]
        assert isinstance(operation, Gate)
        _, alpha, beta = self.direction_of(operation.condition)
        return Bend(alpha, beta, coefficient, self[operation.value], operation.value)


def absorb(rest: dict[int, Number], direction: Terms) -> Number:
    """Take slope * direction out of the rest, if the rest holds such a multiple."""
    first, lead = direction[0]
    held = rest.get(first, 0)
    if held == 0 or any(rest.get(index, 0) * lead != held * c for index, c in direction):
        return 0
    for index, _ in direction:
        del rest[index]
    return simplify(Fraction(held) / lead)


def range_of_bends(u: Range, bends: list[Bend], slope: Number) -> Range:
    """The range of slope * u + the bends, for u on its lattice."""
    step = min([u.step + step_of(slope)] + [bend_step(u, bend) for bend in bends])
    places = lattice_places(u, bends)
    fixed = [b for b in bends if b.value.is_constant]
    loose: dict[tuple[int, Range], list[Bend]] = {}
    for bend in bends:
        if not bend.value.is_constant:
            loose.setdefault((bend.node, bend.value), []).append(bend)
    low: Number | None = None
    high: Number | None = None
    for place, base in zip(places, sweep(places, fixed, slope), strict=True):
        bottom, top = base, base
        for (_, value), members in loose.items():
            openings = (b.coefficient * max(b.alpha * place + b.beta, 0) for b in members)
            part = value.scaled(simplify(sum(openings)))
            bottom, top = bottom + part.low, top + part.high
        low = bottom if low is None else min(low, bottom)
        high = top if high is None else max(high, top)
    assert low is not None
    assert high is not None
    return Range(simplify(low), simplify(high), step)


def bend_step(u: Range, bend: Bend) -> int:
    opening = min(u.step + step_of(bend.alpha), step_of(bend.beta))
    return opening + bend.value.step + step_of(bend.coefficient)


def lattice_places(u: Range, bends: list[Bend]) -> list[Number]:
    """The ends of u's interval and the lattice points beside every bend, in order."""
    unit = power_of_two(u.step)
    places: set[Number] = {u.low, u.high}
    for bend in bends:
        below = (-bend.beta // (bend.alpha * unit)) * unit
        places.update(simplify(p) for p in (below, below + unit) if u.low <= p <= u.high)
    return sorted(places)


def sweep(places: list[Number], bends: list[Bend], slope: Number) -> list[Number]:
    """slope * u + the bends at each of the places, in one pass from left to right."""
    value, turns = slope * places[0], []
    for bend in bends:
        weight = bend.coefficient * bend.value.low
        bend_at = divided(-bend.beta, bend.alpha)
        opening = bend.alpha * places[0] + bend.beta
        if opening > 0:
            value += weight * opening
        falls = bend.alpha < 0
        open_now = bend_at > places[0] if falls else bend_at <= places[0]
        slope += weight * bend.alpha if open_now else 0
        if bend_at > places[0]:
            turns.append((bend_at, -weight * bend.alpha if falls else weight * bend.alpha))
    turns.sort()
    values, at, pending = [value], places[0], iter([*turns, None])
    turn = next(pending)
    for place in places[1:]:
        while turn is not None and turn[0] <= place:
            value += slope * (turn[0] - at)
            at, slope = turn[0], slope + turn[1]
            turn = next(pending)
        value += slope * (place - at)
        at = place
        values.append(value)
    return values
