"""What is left of a sum in a case is what it was: on random values, at every point of the case."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from curta.dyadic import Number, power_of_two, simplify
from curta.engine.native.bits import Bits
from curta.engine.native.case import Case, Facts
from curta.engine.native.choice import places_of
from curta.engine.native.intervals import Intervals
from curta.engine.native.values import (
    CONSTANT,
    ONE,
    Conjunction,
    Held,
    Parameter,
    Pool,
    Product,
    Steps,
    Sum,
    ValueId,
    constant,
)
from tests.support.slow import draws

Point = dict[str, Number]
COEFFICIENTS = st.sampled_from([1, 1, 1, -1, 2, -2, 3, 4, -4, 8, Fraction(1, 2)])


def meaning(pool: Pool, total: Sum, point: Point) -> Number:
    """The number that a sum is, by the definitions of its values."""
    return simplify(sum(c * value_at(pool, v, point) for v, c in total.terms))


def value_at(pool: Pool, value: ValueId, point: Point) -> Number:
    match pool.definition(value):
        case None:
            return 1
        case Parameter(name, _, _):
            return point[name]
        case Product(gate, factor):
            return max(meaning(pool, gate, point), 0) * meaning(pool, factor, point)
        case Steps(argument, jumps):
            at = meaning(pool, argument, point)
            return sum(height for place, height in jumps if place <= at)
        case Held(total):
            return meaning(pool, total, point)
        case Conjunction(one, other):
            counts = (
                int(meaning(pool, part, point) / Fraction(power_of_two(pool.step(part))))
                for part in (one, other)
            )
            return next(counts) & next(counts)
        case definition:
            raise AssertionError(definition)


@st.composite
def pools(draw: st.DrawFn) -> tuple[Pool, list[Point], list[Sum]]:
    """Values that are computed from two numbers, all that those can be, and sums of all."""
    pool = Pool(64)
    known: list[Sum] = []
    ranges: dict[str, list[Number]] = {}
    for name in "ab":
        low = draw(st.sampled_from([0, 0, 0, -3, 1]))
        count = draw(st.sampled_from([2, 7, 8, 16]))
        step = draw(st.sampled_from([0, 0, 2, -1]))
        unit = power_of_two(step)
        ranges[name] = [simplify((low + n) * unit) for n in range(count)]
        known.append(pool.value(Parameter(name, ranges[name][0], ranges[name][-1]), step))
    for _ in range(draw(st.integers(1, 7))):
        known.append(draw(values(pool, known)))
    points = [dict(zip("ab", pair, strict=True)) for pair in product(*ranges.values())]
    return pool, points, [*known, draw(sums(known)), draw(sums(known))]


def sums(known: list[Sum]) -> st.SearchStrategy[Sum]:
    def added(parts: list[tuple[Sum, Number]], number: Number) -> Sum:
        total = constant(number)
        for part, coefficient in parts:
            total = total.plus(part, coefficient)
        return total

    parts = st.lists(st.tuples(st.sampled_from(known), COEFFICIENTS), min_size=1, max_size=3)
    return st.builds(added, parts, st.sampled_from([0, 0, 1, -1, -8, Fraction(1, 2)]))


@st.composite
def values(draw: st.DrawFn, pool: Pool, known: list[Sum]) -> Sum:
    argument = draw(sums(known))
    factor = draw(st.one_of(st.just(ONE), st.just(ONE), st.sampled_from(known)))
    if not argument.without_constant.terms:
        argument = known[0]
    kind = draw(st.sampled_from(["gate", "steps", "bits", "held", "both"]))
    if kind == "gate":
        return pool.product(argument, factor)
    if kind == "both":
        one, other = known[:2]
        if all(Intervals(pool, {}).defined(part.terms[0][0])[0] >= 0 for part in (one, other)):
            return pool.value(Conjunction(one, other), 0)
    if kind == "held":
        return pool.value(Held(argument), pool.step(argument))
    if kind == "bits":
        unit = power_of_two(pool.step(argument))
        width = draw(st.sampled_from([1, 2, 4, 8]))
        count = draw(st.sampled_from([1, 3, 7, 15]))
        jumps = tuple((simplify(n * width * unit), 1) for n in range(1, count + 1))
        return Case(pool, Facts()).steps(argument, jumps)
    places = draw(st.sets(st.sampled_from([Fraction(n, 2) for n in range(-20, 40)]), min_size=1))
    heights = draw(st.lists(COEFFICIENTS, min_size=len(places), max_size=len(places)))
    jumps = tuple(zip(map(simplify, sorted(places)), heights, strict=True))
    return Case(pool, Facts()).steps(argument, jumps)


def is_so(case: Case, pool: Pool, points: list[Point], totals: list[Sum]) -> None:
    for total in totals:
        left = case.sum(total)
        low, high = case.range(total)
        for point in points:
            found = meaning(pool, total, point)
            assert low <= found <= high
            assert meaning(pool, left, point) == found


@given(pools())
@settings(deadline=None, max_examples=draws(80))
def test_under_no_facts(drawn: tuple[Pool, list[Point], list[Sum]]) -> None:
    pool, points, totals = drawn
    is_so(Case(pool, Facts()), pool, points, totals)


@given(pools(), st.data())
@settings(deadline=None, max_examples=draws(80))
def test_in_an_interval_of_a_sum(
    drawn: tuple[Pool, list[Point], list[Sum]], data: st.DataObject
) -> None:
    pool, points, totals = drawn
    on = data.draw(st.sampled_from(totals))
    if not on.without_constant.terms:
        return
    ends = sorted(meaning(pool, on, data.draw(st.sampled_from(points))) for _ in range(2))
    case = Case(pool, Facts()).refined(on, *ends)
    is_so(case, pool, [p for p in points if ends[0] <= meaning(pool, on, p) <= ends[1]], totals)


@given(pools(), st.data(), st.integers(1, 4))
@settings(deadline=None, max_examples=draws(150))
def test_intervals_that_are_found_above_are_what_would_be_found_here(
    drawn: tuple[Pool, list[Point], list[Sum]], data: st.DataObject, depth: int
) -> None:
    pool, points, totals = drawn
    case = Case(pool, Facts())
    for _ in range(depth):
        on = data.draw(st.sampled_from([each for each in totals if each.without_constant.terms]))
        if data.draw(st.booleans()):
            is_so(case, pool, [], totals)  # something may be known above before it is asked below
        ends = sorted(meaning(pool, on, data.draw(st.sampled_from(points))) for _ in range(2))
        case = case.refined(on, *ends)
        points = [point for point in points if ends[0] <= meaning(pool, on, point) <= ends[1]]
    alone = Intervals(pool, case.facts.bounds)
    for total in totals:
        assert case.range(total) == alone.of(total)
        for value in {value for value, _ in total.terms} - {CONSTANT}:
            assert case.intervals.of_value(value) == alone.of_value(value)
            assert case.intervals.bits.of(value) == alone.bits.of(value)


@given(pools(), st.data())
@settings(deadline=None, max_examples=draws(80))
def test_where_a_value_is_known(
    drawn: tuple[Pool, list[Point], list[Sum]], data: st.DataObject
) -> None:
    pool, points, totals = drawn
    value = data.draw(st.sampled_from([v for t in totals for v, _ in t.terms if v != CONSTANT]))
    number = value_at(pool, value, data.draw(st.sampled_from(points)))
    case = Case(pool, Facts(equal={value: constant(number)}))
    is_so(case, pool, [p for p in points if value_at(pool, value, p) == number], totals)


@given(pools(), st.data())
@settings(deadline=None, max_examples=draws(80))
def test_every_number_is_in_one_piece(
    drawn: tuple[Pool, list[Point], list[Sum]], data: st.DataObject
) -> None:
    """Code finds the piece by its start; what is known there has to be so."""
    pool, points, totals = drawn
    known = Case(pool, Facts())
    on = known.sum(data.draw(st.sampled_from(totals))).without_constant
    if not on.terms:
        return
    pieces = places_of(known, on.scaled(1))
    assert [ends[0] for ends in pieces] == sorted({ends[0] for ends in pieces})
    for place, (start, end) in enumerate(pieces):
        behind = pieces[place + 1][0] if place + 1 < len(pieces) else None
        within = [
            point
            for point in points
            if start <= meaning(pool, on, point)
            and (behind is None or meaning(pool, on, point) < behind)
        ]
        is_so(known.refined(on, start, end), pool, within, totals)


def test_bits_of_a_number_that_has_bits_of_another_in_it() -> None:
    """As an address has that is an offset and a sum modulo 2^n."""
    pool = Pool(64)
    a, b, offset = (pool.value(Parameter(name, 0, 255), 0) for name in ("a", "b", "offset"))
    known = Case(pool, Facts())

    def digit(total: Sum, width: int, most: int) -> Sum:
        return known.steps(total, tuple((width * n, 1) for n in range(1, most + 1)))

    both = a.plus(b)
    number = both.plus(digit(both, 256, 1), -256).plus(offset)
    high = digit(number, 256, 1)
    middle = digit(rest := number.plus(high, -256), 16, 15)
    bits = known.intervals.bits
    assert bits.put_together(rest.plus(middle, -16)) == ([(1, Bits(number, 9, 0, 4))], Sum())
    assert bits.put_together(middle, alone=True) == ([(1, Bits(number, 9, 4, 8))], Sum())
    assert bits.put_together(both.plus(digit(both, 256, 1), -256)) == (
        [(1, Bits(both, 9, 0, 8))],
        Sum(),
    )
