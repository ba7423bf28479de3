"""Which rule speaks, in a case: told from as few comparisons of scores as can be proved enough."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from curta.dyadic import Number, power_of_two, simplify
from curta.engine.native.case import Case
from curta.engine.native.routine import Rule
from curta.engine.native.values import CONSTANT, Bounds, Steps, Sum, ValueId, sum_of

MOST_PIECES = 6
"""Branches of a division that decides between rules."""
MOST_TRIED = 6
"""Numbers on which a division is tried."""


def division(
    case: Case, rules: Sequence[Rule], *, few: bool = False
) -> tuple[Sum, list[tuple[Bounds, Case]]] | None:
    """A number, and intervals of it in each of which fewer of the rules are left; neighbours with
    the same rules are one if there should be few. If there is no such number, the one that leaves
    the fewest on average.
    """
    best, least = None, Fraction(len(rules))
    for on in decisive(case, rules):
        pieces, left = list[tuple[Bounds, Case]](), list[list[int]]()
        for ends in places_of(case, on):
            piece = refined(case, on, ends)
            numbers = [rule.number for rule in possible(piece, rules)]
            if few and left and numbers == left[-1]:
                ends = pieces.pop()[0][0], ends[1]
                piece = refined(case, on, ends)
                left.pop()
            pieces.append((ends, piece))
            left.append(numbers)
        if len(pieces) < 2:
            continue
        if max(map(len, left)) < len(rules):
            return on, pieces
        average = Fraction(sum(map(len, left)), len(left))
        if average < least and not few:
            best, least = (on, pieces), average
    return best


def refined(case: Case, on: Sum, ends: Bounds) -> Case:
    """The case in which a number is in an interval, and what it has become in that case, too."""
    piece = case.refined(on, *ends)
    left = piece.sum(on)
    is_known = left == on or left.constant is not None
    return piece if is_known else piece.refined(left, *ends)


def possible(case: Case, rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """What is left of the rules that may win.

    The best score is not below any rule's, nor below the mean of several: where one of two
    conditions holds, one of two scores is high, whichever that is.
    """
    left = tuple(Rule(rule.number, rule.tokens, *map(case.sum, rule.parts)) for rule in rules)
    ranges = [score_range(case, rule) for rule in left]
    least = max(Fraction(low) for low, _ in ranges)
    unsure = [rule.base for rule in left if rule.base.constant is None]
    if len(unsure) > 1:
        together = sum_of((base, 1) for base in unsure)
        least = max(least, Fraction(case.range(case.grouped(together))[0]) / len(unsure))
    found = tuple(s for s, (_, high) in zip(left, ranges, strict=True) if high >= least)
    return found or left  # there is none where a promise is always broken


def decisive(case: Case, rules: Sequence[Rule]) -> Iterator[Sum]:
    """Numbers whose steps the rules' bases depend on, the nearest first; or the bases."""
    pool = case.pool
    queue = [v for rule in rules for v, _ in rule.base.terms if v != CONSTANT]
    seen: set[ValueId] = set()
    tried: set[Sum] = set()
    while queue and len(tried) < MOST_TRIED:
        value = queue.pop(0)
        if value in seen:
            continue
        seen.add(value)
        definition = pool.entries[value].definition
        if isinstance(definition, Steps) and len(definition.jumps) < MOST_PIECES:
            on = definition.argument.upright[1]
            if on not in tried:
                tried.add(on)
                yield on
        for total in pool.reads(value):
            queue += [v for v, _ in total.terms if v != CONSTANT]
    for rule in rules:
        on = rule.base.without_constant.upright[1]
        if on.terms and on not in tried:
            tried.add(on)
            yield on


def places_of(case: Case, on: Sum) -> list[Bounds]:
    """The intervals between the steps of a number."""
    low, high = case.range(on)
    step = power_of_two(case.pool.step(on))
    places: set[Number] = set()
    if (high - low) / step < MOST_PIECES:
        first = int(Fraction(low) // step) + 1
        places = {simplify(step * n) for n in range(first, int(Fraction(high) // step) + 1)}
    for found in case.pool.places.get(on, []):
        whole = {simplify(-(-place // step) * step) for place in found}
        inner = {place for place in whole if low < place <= high}
        if len(places | inner) < MOST_PIECES:
            places |= inner
    starts = [low, *sorted(places)]
    ends = [*(place - step for place in sorted(places)), high]
    return list(zip(starts, ends, strict=True))


def score_range(case: Case, rule: Rule) -> Bounds:
    """Least and greatest score of a rule's best token."""
    low, high = case.range(rule.base)
    most = len(rule.tokens) - 1
    square = rule.square.constant
    if most == 0 or (not rule.linear.terms and square is not None and square >= 0):
        return low, high
    steepest = case.range(rule.linear)[1]
    if square is None or square <= 0:
        flattest = case.range(rule.square)[0]
        return low, high + max(0, most * steepest, most * steepest - most * most * flattest)
    vertex = max(0, min(most, round(Fraction(steepest) / (2 * square))))
    return low, high + max(0, vertex * steepest - vertex * vertex * square)


def whole_vertex(case: Case, rule: Rule) -> tuple[Number, int, Bounds] | None:
    """(unit, width, ends): a rule's best token is the floor of (linear / unit + width // 2 - 1)
    / width, between 0 and the last; in between before it is brought there. None if that is not
    known.
    """
    square = rule.square.constant
    if square is None or square <= 0:
        return None
    unit = power_of_two(min(case.pool.step(rule.linear), case.pool.step(rule.square)))
    width = int(2 * Fraction(square) / unit)
    low, high = (
        int((Fraction(end) / unit + width // 2 - 1) // width) for end in case.range(rule.linear)
    )
    return unit, width, (low, high)
