"""Which rule speaks, in a case: told from as few comparisons of scores as can be proved enough."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from curta.compiler.numbers import Number, power_of_two
from curta.engine.native.acts import Acts, Block, Compare, Divide, Say
from curta.engine.native.case import Case
from curta.engine.native.routine import Rule
from curta.engine.native.values import CONSTANT, Bounds, Steps, Sum, ValueId

MOST_PIECES = 6
"""Branches of a division that decides between rules."""
MOST_DIVISIONS = 4
"""Such divisions on the way to one token."""
MOST_TRIED = 6
"""Numbers on which a division is tried."""


def chosen(case: Case, rules: list[Rule], depth: int = 0) -> Acts:
    """Says the best token, after dividing by numbers that decide between rules."""
    rules = possible(case, rules)
    if len(rules) == 1:
        return [(case, Say(rules[0]))]
    if depth < MOST_DIVISIONS:
        for on in decisive(case, rules):
            pieces = [(ends, case.refined(on, *ends)) for ends in places_of(case, on)]
            if len(pieces) > 1 and all(decides(rules, piece) for _, piece in pieces):
                blocks = [
                    (ends, Block(tuple(chosen(piece, rules, depth + 1)))) for ends, piece in pieces
                ]
                return [(case, Divide(on, tuple(blocks)))]
    return [(case, Compare(tuple(rules)))]


def decides(rules: list[Rule], piece: Case) -> bool:
    """Whether fewer rules are left in a piece."""
    return len(possible(piece, rules)) < len(rules)


def possible(case: Case, rules: list[Rule]) -> list[Rule]:
    """What is left of the rules that may win.

    The best score is not below any rule's, nor below the mean of several: where one of two
    conditions holds, one of two scores is high, whichever that is.
    """
    left = [Rule(rule.number, rule.tokens, *map(case.sum, rule.parts)) for rule in rules]
    ranges = [score_range(case, rule) for rule in left]
    least = max(Fraction(low) for low, _ in ranges)
    unsure = [rule.base for rule in left if rule.base.constant is None]
    if len(unsure) > 1:
        together = Sum()
        for base in unsure:
            together = together.plus(base)
        least = max(least, Fraction(case.range(case.grouped(together))[0]) / len(unsure))
    found = [s for s, (_, high) in zip(left, ranges, strict=True) if high >= least]
    return found or left  # there is none where a promise is always broken


def decisive(case: Case, rules: list[Rule]) -> Iterator[Sum]:
    """Numbers whose steps the rules' bases depend on, the nearest first."""
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
            on = definition.argument.without_constant
            if on not in tried:
                tried.add(on)
                yield on
        for total in pool.reads(value):
            queue += [v for v, _ in total.terms if v != CONSTANT]


def places_of(case: Case, on: Sum) -> list[Bounds]:
    """The intervals between the steps of a number."""
    low, high = case.range(on)
    step = power_of_two(case.pool.step(on))
    places: set[Number] = set()
    for jumps in case.pool.places.get(on, []):
        inner = {place for place, _ in jumps if low < place <= high}
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
