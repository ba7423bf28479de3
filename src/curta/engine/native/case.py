"""Partial evaluation: what is left of a sum under the facts of a case.

    a gate that cannot open                    0
    a gate that cannot close                   the sum itself
    a step that was or cannot be taken         a constant
    steps of steps of one number               steps of that number
    a gate on "the key found is the query",    the value: it is zero if nothing was found
      times the value found

Evaluation is by demand: the factor of a gate that cannot open is never looked at.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from operator import itemgetter
from typing import Self

from curta.dyadic import FLOAT64, Number, common_factor, divided, power_of_two, simplify, step_of
from curta.engine.native.intervals import Intervals, unbounded
from curta.engine.native.shapes import jumps_of, staircase_of
from curta.engine.native.values import (
    CONSTANT,
    ONE,
    ZERO,
    Bounds,
    Definition,
    FetchedKey,
    FetchedValue,
    Held,
    Pool,
    Product,
    Rises,
    Steps,
    Sum,
    ValueId,
    constant,
    sum_of,
)

place_of = itemgetter(0)
MOST_COMPOSED = 64
"""Jumps of a function of one number that is put together from others."""
FEWEST_FOR_TABLE = 8
MOST_OF_TABLE = 512
"""Gates on one number that are worth a table of what they add up to, and its entries."""
MOST_INLINED = 128
"""Terms of a sum with a name that is written out where it is read."""
FEWEST_COUNTED = 8
"""Comparisons that are added up to a number."""
FAR_LARGER = 2**8
"""Times a sum: parts that cancel."""


@dataclass(frozen=True)
class Facts:
    """What is known in a case, beyond what holds at every token."""

    equal: dict[ValueId, Sum] = field(default_factory=dict)
    bounds: dict[Sum, Bounds] = field(default_factory=dict)
    """Intervals of sums without constant that begin with coefficient 1."""
    hits: dict[int, bool] = field(default_factory=dict)
    """Whether a look-up finds something."""

    def with_hit(self, look_up: int, hit: bool = True) -> Facts:
        return replace(self, hits={**self.hits, look_up: hit})

    def with_bound(self, total: Sum, low: Number, high: Number) -> Facts:
        """The same, and total (without constant) is in low..high."""
        scale, unit = total.direction
        ends = sorted((divided(low, scale), divided(high, scale)))
        known = self.bounds.get(unit, (ends[0], ends[1]))
        bound = max(known[0], ends[0]), min(known[1], ends[1])
        return replace(self, bounds={**self.bounds, unit: bound})


Bound = tuple[Sum, Number, Number]
"""A sum without constant, and its least and greatest value."""


class Case:
    """A pool's values under some facts."""

    def __init__(self, pool: Pool, facts: Facts, above: Intervals | None = None) -> None:
        """`above` are the intervals of a case in which less is known."""
        self.pool = pool
        self.facts = facts
        self.values: dict[ValueId, Sum] = {CONSTANT: ONE}
        self.sums: dict[Sum, Sum] = {}
        self.intervals = (above or unbounded(pool)).under(facts.bounds)
        self.under_hit: dict[int, Self] = {}
        self.fixed = {total: low for total, (low, high) in facts.bounds.items() if low == high}
        self.begin_fixed = {total.terms[0][0] for total in self.fixed}

    def under(self, facts: Facts) -> Self:
        """The same values under other facts."""
        return type(self)(self.pool, facts, self.intervals)

    def refined(self, total: Sum, low: Number, high: Number) -> Self:
        """The case in which a sum is in an interval as well."""
        facts, added = self.facts, total.added
        found: Bound | None = (total.without_constant, low - added, high - added)
        while found is not None:
            facts = facts.with_bound(*found)
            found = self.behind(*found)
        return self.under(facts)

    def behind(self, total: Sum, low: Number, high: Number) -> Bound | None:
        """What an interval of a single value says of the number that it is a function of."""
        if len(total.terms) != 1:
            return None
        ((value, scale),) = total.terms
        ends = sorted((divided(low, scale), divided(high, scale)))
        definition = self.pool.entries[value].definition
        if not isinstance(definition, Steps) or any(height < 0 for _, height in definition.jumps):
            return None
        low, high = self.range(definition.argument)
        unit = power_of_two(self.pool.step(definition.argument))
        level: Number = 0
        for place, height in definition.jumps:
            if level + height <= ends[1] and level < ends[0]:
                low = max(low, place)
            if level + height > ends[1]:
                high = min(high, place - unit)
                break
            level += height
        return definition.argument, low, high

    def learned(self, total: Sum, low: Number, high: Number) -> Self:
        """The same for what comes after a check that a sum is in an interval."""
        if total.constant is not None:
            return self
        case = self.refined(total, low, high)
        case.values, case.sums = dict(self.values), dict(self.sums)
        return case

    def range(self, total: Sum) -> Bounds:
        return self.intervals.of(total)

    # -- sums -------------------------------------------------------------------------------

    def sum(self, total: Sum) -> Sum:
        """What is left of a sum."""
        found = self.sums.get(total)
        if found is None:
            left = sum_of([(self.value(value), factor) for value, factor in total.terms])
            if len(left.terms) > 1:
                left = self.grouped(left)
            found = self.sums[total] = self.settled(left)
        return found

    def grouped(self, total: Sum) -> Sum:
        """The same, with gates on one number that make up steps written as steps."""
        groups: dict[Sum, list[tuple[ValueId, Number]]] = {}
        for value, coefficient in total.terms:
            definition = self.pool.definition(value)
            if isinstance(definition, Product) and definition.factor == ONE:
                group = groups.setdefault(definition.gate.without_constant, [])
                group.append((value, coefficient))
        for argument, members in groups.items():
            if len(members) > 1:
                total = self.as_steps(total, argument, members)
        return self.merged(total)

    def merged(self, total: Sum) -> Sum:
        """The same, with parts of a staircase written as one: those in equal proportion, or all."""
        by_number: dict[Sum, dict[Number, list[tuple[ValueId, Number]]]] = {}
        for value, coefficient in total.terms:
            definition = self.pool.definition(value)
            if isinstance(definition, Steps):
                groups = by_number.setdefault(definition.argument, {})
                groups.setdefault(coefficient, []).append((value, coefficient))
        for groups in by_number.values():
            together = [term for members in groups.values() for term in members]
            for members in (together, *groups.values()):
                parts = Sum(tuple(members))
                left = self.mapped(parts, lambda level: level) if len(members) > 1 else None
                if left is None or not (left.constant is not None or self.is_staircase(left)):
                    continue
                total = total.plus(parts, -1).plus(left)
                if members is together:
                    break
        return total

    def is_staircase(self, total: Sum) -> bool:
        definition = self.pool.entries[total.terms[-1][0]].definition
        assert isinstance(definition, Steps)
        unit = power_of_two(min(step_of(place) for place, _ in definition.jumps))
        jumps = tuple((int(place / unit), height) for place, height in definition.jumps)
        return len(jumps) == 1 or staircase_of(jumps) is not None

    def as_steps(self, total: Sum, argument: Sum, members: list[tuple[ValueId, Number]]) -> Sum:
        """The total, its members replaced by steps if that is what they are.

        They may be so only together with a multiple of the argument, which is a gate that is
        always open.
        """
        unit = power_of_two(self.pool.step(argument))
        bends: list[tuple[int, Number]] = []
        for value, coefficient in members:
            definition = self.pool.entries[value].definition
            assert isinstance(definition, Product)
            # A bend between two places of the argument is as good as one at each, weighted.
            below, part = divmod(-Fraction(definition.gate.added) / unit, 1)
            parts = (below, 1 - part), (below + 1, part)
            bends += [(int(n), simplify(coefficient * unit * share)) for n, share in parts if share]
        rest = total.plus(Sum(tuple(members)), -1)
        jumps = jumps_of(bends)
        if jumps is None and (slope := total.proportion(argument)):
            low = Fraction(self.range(argument)[0]) // unit
            jumps = jumps_of([(int(low), simplify(slope * unit)), *bends])
            rest = rest.plus(argument, -slope).plus(constant(simplify(slope * low * unit)))
        elif jumps is None and len(bends) >= FEWEST_FOR_TABLE:
            # Beyond the highest value of the argument, it may as well be flat.
            high = int(Fraction(self.range(argument)[1]) // unit)
            if high - min(bends)[0] < MOST_OF_TABLE:
                jumps = jumps_of([*bends, (high, -sum(c for place, c in bends if place < high))])
        if jumps is None:
            return total
        places = tuple((simplify(place * unit), height) for place, height in jumps)
        return rest.plus(self.steps(argument, places))

    # -- values -----------------------------------------------------------------------------

    def value(self, number: ValueId) -> Sum:
        """What is left of one value."""
        found = self.values.get(number)
        if found is None:
            found = self.values[number] = self.evaluated(number)
        return found

    def evaluated(self, number: ValueId) -> Sum:
        if number in self.facts.equal:
            return self.sum(self.facts.equal[number])
        definition: Definition = self.pool.entries[number].definition
        match definition:
            case Product(gate, factor):
                return self.product(gate, factor)
            case Steps(argument, jumps):
                if self.is_as_it_was(definition):
                    return self.settled(Sum(((number, 1),)))
                return self.settled(self.steps(argument, jumps))
            case Held(total):
                return self.held(total)
            case FetchedValue(look_up, member):
                hit = self.facts.hits.get(look_up)
                if hit is False:
                    return ZERO
                copied = self.pool.rows_behind(look_up).members[member].copied
                if hit and copied is not None and not self.pool.look_ups[look_up].nearest:
                    return self.sum(self.pool.look_ups[look_up].query).plus(constant(copied))
            case FetchedKey(look_up) if self.facts.hits.get(look_up):
                return self.sum(self.pool.look_ups[look_up].query)
        itself = Sum(((number, 1),))
        low, high = self.range(itself)
        return constant(low) if low == high else itself

    def is_as_it_was(self, steps: Steps) -> bool:
        """Whether nothing is known of a value's argument that it was not defined with."""
        if self.sum(steps.argument) != steps.argument:
            return False
        low, high = self.range(steps.argument)
        return low < steps.jumps[0][0] and steps.jumps[-1][0] <= high

    def settled(self, total: Sum) -> Sum:
        """The same, with what is known to be a constant as that."""
        if self.begin_fixed.isdisjoint(value for value, _ in total.terms):
            return total
        for known, number in self.fixed.items():
            if slope := total.proportion(known):
                total = total.plus(known, -slope).plus(constant(simplify(slope * number)))
        return total

    def held(self, total: Sum) -> Sum:
        """What is left of a slot's sum: a value of its own if it is long, if it counts comparisons,
        or if its terms are beyond what a slot holds and cancel one another.
        """
        left = self.sum(total)
        if len(left.terms) > MOST_INLINED or self.counts(left) or self.cancels(left):
            return self.pool.value(Held(left), self.pool.step(left))
        return left

    def counts(self, total: Sum) -> bool:
        terms = total.without_constant.terms
        steps = (isinstance(self.pool.entries[value].definition, Steps) for value, _ in terms)
        return len(terms) >= FEWEST_COUNTED and all(steps)

    def cancels(self, total: Sum) -> bool:
        ends = [(max(c, -c), self.intervals.of_value(v)) for v, c in total.terms if v != CONSTANT]
        size = sum(factor * max(-low, high) for factor, (low, high) in ends)
        low, high = self.range(total)
        is_large = size >= power_of_two(FLOAT64.mantissa_bits + self.pool.step(total))
        return is_large and size > FAR_LARGER * max(-low, high)

    def product(self, gate: Sum, factor: Sum) -> Sum:
        """relu(gate) * factor."""
        gate = self.sum(gate)
        if self.range(gate)[1] <= 0:
            return ZERO
        factor = self.sum(factor)
        if not factor.terms:
            return ZERO
        case = self.assuming_found(factor)
        if case is not self:
            gate = case.sum(gate)
        low, high = case.range(gate)
        if high <= 0:
            return ZERO
        if gate.constant is not None:
            return factor.scaled(gate.constant)
        rectified = self.mapped(gate, lambda level: max(level, 0))
        if rectified is not None:
            gate, low = rectified, 0
            if gate.constant is not None:
                return factor.scaled(gate.constant)
        number = factor.constant
        if number is None:
            return self.pool.product(gate, factor)
        if low >= 0:
            return gate.scaled(number)
        unit = power_of_two(self.pool.step(gate.without_constant))
        if high <= unit:  # there is one value above 0
            least = gate.added % unit or unit
            return self.steps(gate, ((least, simplify(least * number)),))
        return self.pool.product(gate, ONE).scaled(number)

    def assuming_found(self, factor: Sum) -> Self:
        """The case that a gate on this factor is evaluated in: without it the factor is zero."""
        read = [self.pool.definition(value) for value, _ in factor.terms]
        behind = {one.look_up if isinstance(one, FetchedValue) else None for one in read}
        look_up = behind.pop()
        if behind or look_up is None or look_up in self.facts.hits:
            return self
        if self.pool.look_ups[look_up].nearest:
            return self
        if look_up not in self.under_hit:
            self.under_hit[look_up] = self.under(self.facts.with_hit(look_up))
        return self.under_hit[look_up]

    def steps(self, argument: Sum, jumps: Rises) -> Sum:
        """f(argument), f given by its jumps."""
        argument = self.sum(argument)
        low, high = self.range(argument)
        first, last = (bisect_right(jumps, end, key=place_of) for end in (low, high))
        base = constant(simplify(sum(height for _, height in jumps[:first])))
        added, argument = argument.added, argument.without_constant
        unit = power_of_two(self.pool.step(argument))
        heights: dict[Number, Number] = {}
        for place, height in jumps[first:last]:
            value = simplify(-((added - place) // unit) * unit)
            heights[value] = heights.get(value, 0) + height
        inner = tuple((value, simplify(height)) for value, height in heights.items() if height)
        if not inner:
            return base

        def reached(level: Number) -> Number:
            return simplify(sum(height for place, height in inner if place <= level))

        simplest = (
            self.straight(argument, inner, low - added, high - added)
            or self.mapped(argument, reached)
            or self.in_units(argument, inner)
        )
        return simplest.plus(base)

    def straight(self, argument: Sum, jumps: Rises, low: Number, high: Number) -> Sum | None:
        """The steps as a multiple of the argument, if there is one at every value that it takes."""
        unit = power_of_two(self.pool.step(argument))
        (first, height), (last, _) = jumps[0], jumps[-1]
        if first - low > unit or high - last >= unit:
            return None
        if len(jumps) != 1 + (last - first) / Fraction(unit):
            return None
        if any(h != height for _, h in jumps):
            return None
        slope = divided(height, unit)
        return argument.scaled(slope).plus(constant(simplify(-slope * (first - unit))))

    # -- functions of one number -------------------------------------------------------------

    def mapped(self, total: Sum, function: Callable[[Number], Number]) -> Sum | None:
        """A function of a sum of steps of one number, as steps of that number."""
        argument: Sum | None = None
        jumps: dict[Number, Number] = {}
        for value, coefficient in total.without_constant.terms:
            steps = self.pool.entries[value].definition
            if not isinstance(steps, Steps) or len(steps.jumps) > MOST_COMPOSED:
                return None
            if argument not in (None, steps.argument):
                return None
            argument = steps.argument
            for place, height in steps.jumps:
                jumps[place] = jumps.get(place, 0) + height * coefficient
        if argument is None or len(jumps) > MOST_COMPOSED:
            return None
        level = total.added
        first = before = function(level)
        rises = []
        for place in sorted(jumps):
            level = simplify(level + jumps[place])
            after = function(level)
            if after != before:
                rises.append((place, simplify(after - before)))
            before = after
        if not rises:
            return constant(first)
        return self.in_units(argument, tuple(rises)).plus(constant(first))

    def in_units(self, argument: Sum, jumps: Rises) -> Sum:
        """Steps as a multiple of steps of whole heights: one value, however it is scaled."""
        height = common_factor(h for _, h in jumps)
        if height == 1:
            return self.pool.steps(argument, jumps)
        units = tuple((place, divided(h, height)) for place, h in jumps)
        return self.pool.steps(argument, units).scaled(height)


def common(cases: list[Case], known: Iterable[tuple[ValueId, Sum]]) -> Facts:
    """What holds in all of these cases; these numbers do."""
    first = cases[0].facts
    equal = {v: total for v, total in known if total.constant is not None}
    equal |= {
        v: total
        for v, total in first.equal.items()
        if all(case.facts.equal.get(v) == total for case in cases)
    }
    bounds = {}
    for total in first.bounds:
        held = [case.facts.bounds[total] for case in cases if total in case.facts.bounds]
        if len(held) == len(cases):
            bounds[total] = min(low for low, _ in held), max(high for _, high in held)
    return Facts(equal, bounds, first.hits)
