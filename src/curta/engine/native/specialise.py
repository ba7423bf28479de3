"""The steps of a run by cases: by the token's class, then by what the tables say.

For each class of tokens, the events of a step are followed with the class's facts, up to the first
that depends on the *selector*: the fetched value on which most gates and steps ask a question, such
as the operation of an instruction. From there on classes with the same facts share the code, which
is divided by the selector's values, and then by whatever decides which rule speaks.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from curta.compiler.numbers import Number, power_of_two, simplify
from curta.engine.native.case import Case, Facts
from curta.engine.native.classes import (
    Quiet,
    TokenClass,
    class_facts,
    quiet_stretch,
    token_classes,
)
from curta.engine.native.events import Check, Event, Filing, Growth, Score, Steady, read_by
from curta.engine.native.pool import (
    FetchedValue,
    Input,
    Pool,
    Range,
    Steps,
    direction,
)
from curta.engine.native.symbolic import CONSTANT, Column, Product, Stored, Sum, Total, ValueId

MOST_CHOICES = 256
"""Values of a selector."""
FEWEST_QUESTIONS = 12
"""Gates and steps that have to ask about a value before it is made the selector."""
MOST_FOR_SWITCH = 150
"""Values that are left to compute where a gate divides the code: both halves are written."""
MOST_PIECES = 6
"""Branches of a division that decides between rules."""
MOST_DIVISIONS = 4
"""Such divisions on the way to one token."""
MOST_CHOSEN = 3000
"""Places in the code where a token is chosen."""


LARGEST_PROGRAM = 4000
"""Values of a program whose cases are looked for; beyond, that takes minutes and 100 MB of C."""


class NotWorthItError(Exception):
    """The cases of a program are not worth being told apart, or there are too many of them."""


# -- what is left to do -----------------------------------------------------------------------


@dataclass(frozen=True)
class Grow:
    total: ValueId
    addend: Sum


@dataclass(frozen=True)
class File:
    owner: int
    opens: bool
    key: Sum
    members: tuple[tuple[str, Stored, Sum], ...]


@dataclass(frozen=True)
class Test:
    number: int
    total: Sum
    low: Number
    high: Number


@dataclass(frozen=True)
class Say:
    """The vertex of one rule is said."""

    rule: int
    linear: Sum
    square: Sum


@dataclass(frozen=True)
class Compare:
    """The best of several rules is said."""

    scores: tuple[Score, ...]


@dataclass(frozen=True)
class Divide:
    """Branches by the interval that a sum is in; together they cover all that it can be."""

    on: Sum
    branches: tuple[tuple[Range, Block], ...]


@dataclass(frozen=True)
class Proceed:
    """The rest is that of a group of classes."""

    group: int


Act = Grow | File | Test | Say | Compare | Divide | Proceed
Acts = list[tuple[Case, Act]]


@dataclass(frozen=True)
class Block:
    """Acts in order, each with what is known at it; the last says a token, divides or proceeds."""

    acts: tuple[tuple[Case, Act], ...]


@dataclass(frozen=True)
class Plan:
    """All cases of a step in a quiet stretch."""

    steady: Steady
    quiet: Quiet
    classes: list[TokenClass]
    entries: list[Block]
    """What to do first with a token, by class."""
    groups: list[Block]


def specialised(steady: Steady) -> Plan:
    """The cases of a step, if there is a selector: then most of the general code is idle."""
    return Specialiser(steady).plan()


@dataclass(frozen=True)
class Work:
    """What a step still has to do."""

    events: list[Event]
    scores: list[Score]

    def sums(self) -> list[Sum]:
        found = [total for event in self.events for total in read_by(event)]
        for score in self.scores:
            found += [score.base, score.linear, score.square]
        return found


class Specialiser:
    def __init__(self, steady: Steady) -> None:
        self.steady = steady
        if len(steady.pool.program.values) > LARGEST_PROGRAM:
            raise NotWorthItError
        self.pool = steady.pool
        self.classes = token_classes(steady)
        said = sorted({token for one in self.classes for token in one.tokens})
        self.quiet = quiet_stretch(steady, said)
        self.selector = selector(steady)
        if self.selector is None and FEWEST_QUESTIONS > 0:
            raise NotWorthItError
        self.chosen_count = 0
        self.border = self.first_that_reads(self.selector)

    def first_that_reads(self, value: ValueId | None) -> int:
        if value is None:
            return len(self.steady.events)
        for number, event in enumerate(self.steady.events):
            if value in self.pool.reachable(read_by(event)):
                return number
        return len(self.steady.events)

    def plan(self) -> Plan:
        facts = [class_facts(self.steady, one.tokens, self.quiet.facts) for one in self.classes]
        cases = [Case(self.pool, one) for one in facts]
        before = []
        for number, case in enumerate(cases):
            acts, cases[number] = self.followed(case, self.steady.events[: self.border])
            before.append(acts)
        before = self.without_repetitions(before)
        signatures = [self.signature(case) for case in cases]
        groups: list[Block] = []
        entries = []
        numbers = {signature: n for n, signature in enumerate(dict.fromkeys(signatures))}
        for signature in numbers:
            members = [case for case, s in zip(cases, signatures, strict=True) if s == signature]
            groups.append(self.rest(Case(self.pool, common(members, signature))))
        for case, acts, signature in zip(cases, before, signatures, strict=True):
            entries.append(Block((*acts, (case, Proceed(numbers[signature])))))
        return Plan(self.steady, self.quiet, self.classes, entries, groups)

    # -- classes ------------------------------------------------------------------------------

    def signature(self, case: Case) -> tuple[tuple[ValueId, Sum], ...]:
        """What the rest of the step reads of the token."""
        read = self.pool.reachable(self.steady.sums(self.border))
        found = []
        for value in sorted(read):
            definition = self.pool.entries[value].definition
            if isinstance(definition, Input) and isinstance(
                self.pool.program.values[definition.value].definition, Column
            ):
                found.append((value, case.value(value)))
        return tuple(found)

    def without_repetitions(self, classes: list[Acts]) -> list[Acts]:
        """Without filing what every token of the stretch files: the token before has filed it."""
        owners = {act.owner for acts in classes for _, act in acts if isinstance(act, File)}
        for owner in owners:
            filed = [
                [a for _, a in acts if isinstance(a, File) and a.owner == owner] for acts in classes
            ]
            table = self.pool.program.tables[owner]
            fixed = all(
                a.key.constant is not None and all(t.constant is not None for _, _, t in a.members)
                for acts in filed
                for a in acts
            )
            if fixed and not table.nearest and all(acts == filed[0] for acts in filed):
                classes = [
                    [(c, a) for c, a in acts if not (isinstance(a, File) and a.owner == owner)]
                    for acts in classes
                ]
        return classes

    # -- events -------------------------------------------------------------------------------

    def followed(self, case: Case, events: list[Event]) -> tuple[Acts, Case]:
        """What is left of these events, and the case after them, in which promises are kept."""
        acts: Acts = []
        still: set[ValueId] = set()
        for event in events:
            match event:
                case Growth(total, addend):
                    left = case.sum(addend)
                    if left.terms:
                        acts.append((case, Grow(total, left)))
                    else:
                        still.add(total)
                case Filing(_, owner, opens, key, members):
                    filed = tuple((name, stored, case.sum(t)) for name, stored, t in members)
                    acts.append((case, File(owner, opens, case.sum(key), filed)))
                case Check(number, promised, low, high):
                    left = case.sum(promised)
                    ends = case.range(left)
                    if not ((low <= ends[0] and ends[1] <= high) or self.is_still(promised, still)):
                        acts.append((case, Test(number, left, low, high)))
                    case = case.learned(left, low, high)
        return acts, case

    def is_still(self, promised: Sum, still: set[ValueId]) -> bool:
        """Whether a sum is of totals that did not grow: it was checked at the token before."""
        for value, _ in promised.without_constant.terms:
            definition = self.pool.entries[value].definition
            if not isinstance(definition, Input) or definition.value not in still:
                return False
            assert isinstance(self.pool.program.values[definition.value].definition, Total)
        return True

    def rest(self, case: Case) -> Block:
        """From the border on: divided by the selector."""
        work = Work(self.steady.events[self.border :], self.steady.scores)
        on = None if self.selector is None else case.value(self.selector)
        if on is None or on.constant is not None:
            return self.by_switches(case, work)
        low, high = case.range(on)
        unit = power_of_two(self.pool.step(on))
        branches: list[tuple[Range, Block]] = []
        value = Fraction(low)
        while value <= high:
            place = simplify(value)
            refined = case.refined(on, place, place)
            branches.append(((place, place), self.by_switches(refined, work)))
            value += unit
        return Block(((case, Divide(on, tuple(branches))),))

    def by_switches(self, case: Case, work: Work) -> Block:
        """Divided by a fetched value that is 0 or 1 and gates others."""
        work = left_of(case, work)
        on = self.switch(case, work)
        if on is None:
            return self.finished(case, work)
        halves = [((n, n), self.finished(case.refined(on, n, n), work)) for n in (0, 1)]
        return Block(((case, Divide(on, tuple(halves))),))

    def switch(self, case: Case, work: Work) -> Sum | None:
        reachable = self.pool.reachable(work.sums())
        if len(reachable) > MOST_FOR_SWITCH:
            return None
        for value in sorted(reachable):
            definition = self.pool.entries[value].definition
            if not isinstance(definition, Product) or definition.factor.constant is not None:
                continue
            terms = definition.gate.without_constant.terms
            if len(terms) != 1:
                continue
            gate = self.pool.entries[terms[0][0]]
            on = Sum(((terms[0][0], 1),))
            if isinstance(gate.definition, FetchedValue) and case.range(on) == (0, 1):
                return on if gate.step >= 0 else None
        return None

    def finished(self, case: Case, work: Work) -> Block:
        acts, case = self.followed(case, work.events)
        return Block((*acts, *self.chosen(case, work.scores, 0)))

    # -- the choice ---------------------------------------------------------------------------

    def chosen(self, case: Case, scores: list[Score], depth: int) -> Acts:
        self.chosen_count += 1
        if self.chosen_count > MOST_CHOSEN:
            raise NotWorthItError
        scores = possible(case, scores)
        if len(scores) == 1:
            score = scores[0]
            return [(case, Say(score.number, score.linear, score.square))]
        on = self.decisive(scores) if depth < MOST_DIVISIONS else None
        if on is None:
            return [(case, Compare(tuple(scores)))]
        branches = []
        for low, high in self.pieces(case, on):
            refined = case.refined(on, low, high)
            acts = self.chosen(refined, scores, depth + 1)
            branches.append(((low, high), Block(tuple(acts))))
        return [(case, Divide(on, tuple(branches)))]

    def decisive(self, scores: list[Score]) -> Sum | None:
        """A number whose steps the scores' bases depend on."""
        queue = [v for score in scores for v, _ in score.base.terms if v != CONSTANT]
        seen: set[ValueId] = set()
        while queue:
            value = queue.pop(0)
            if value in seen:
                continue
            seen.add(value)
            definition = self.pool.entries[value].definition
            if isinstance(definition, Steps) and len(definition.jumps) < MOST_PIECES:
                return definition.argument
            for total in self.pool.reads(value):
                queue += [v for v, _ in total.terms if v != CONSTANT]
        return None

    def pieces(self, case: Case, on: Sum) -> list[Range]:
        """The intervals between the steps of a number."""
        low, high = case.range(on)
        step = power_of_two(self.pool.step(on))
        places: set[Number] = set()
        for jumps in self.pool.places.get(on, []):
            inner = {place for place, _ in jumps if low < place <= high}
            if len(places | inner) < MOST_PIECES:
                places |= inner
        starts = [low, *sorted(places)]
        ends = [*(place - step for place in sorted(places)), high]
        return list(zip(starts, ends, strict=True))


def left_of(case: Case, work: Work) -> Work:
    """What is left of events and rules in a case."""
    return Work([left_of_event(case, event) for event in work.events], possible(case, work.scores))


def left_of_event(case: Case, event: Event) -> Event:
    match event:
        case Growth(total, addend):
            return Growth(total, case.sum(addend))
        case Filing(table, owner, opens, key, members):
            left = tuple((name, stored, case.sum(total)) for name, stored, total in members)
            return Filing(table, owner, opens, case.sum(key), left)
        case Check(number, total, low, high):
            return Check(number, case.sum(total), low, high)


def possible(case: Case, scores: list[Score]) -> list[Score]:
    """What is left of the rules that may win."""
    left = [
        Score(s.number, s.tokens, case.sum(s.base), case.sum(s.linear), case.sum(s.square))
        for s in scores
    ]
    ranges = [score_range(case, score) for score in left]
    least = max(low for low, _ in ranges)
    return [s for s, (_, high) in zip(left, ranges, strict=True) if high >= least]


def selector(steady: Steady) -> ValueId | None:
    """The fetched value, of few possible ones, that most gates and steps ask about."""
    pool = steady.pool
    questions: dict[ValueId, int] = {}
    for value in pool.reachable(steady.sums()):
        match pool.entries[value].definition:
            case Product(gate, _):
                asked = gate.without_constant
            case Steps(argument, _, _):
                asked = argument
            case _:
                continue
        terms = direction(asked)[1].terms
        if len(terms) == 1 and isinstance(pool.entries[terms[0][0]].definition, FetchedValue):
            questions[terms[0][0]] = questions.get(terms[0][0], 0) + 1
    few = [value for value in questions if is_choice(pool, value)]
    best = max(few, key=lambda value: (questions[value], -value), default=None)
    return best if best is not None and questions[best] >= FEWEST_QUESTIONS else None


def is_choice(pool: Pool, value: ValueId) -> bool:
    """Whether a value is one of a few."""
    low, high = pool.range_of_given(value)
    return (high - low) / Fraction(power_of_two(pool.entries[value].step)) < MOST_CHOICES


def common(cases: list[Case], signature: tuple[tuple[ValueId, Sum], ...]) -> Facts:
    """What holds in all of these cases."""
    first = cases[0].facts
    equal = {v: total for v, total in signature if total.constant is not None}
    equal |= {
        v: total
        for v, total in first.equal.items()
        if all(case.facts.equal.get(v) == total for case in cases)
    }
    bounds = {}
    for total, (low, high) in first.bounds.items():
        ranges = [case.facts.bounds.get(total) for case in cases]
        if all(ends is not None for ends in ranges):
            known = [ends for ends in ranges if ends is not None]
            bounds[total] = min(low for low, _ in known), max(high for _, high in known)
    return Facts(equal, bounds, first.hits)


def score_range(case: Case, score: Score) -> Range:
    """Least and greatest score of a rule's best token."""
    low, high = case.range(score.base)
    most = len(score.tokens) - 1
    square = score.square.constant
    if most == 0 or (not score.linear.terms and square is not None and square >= 0):
        return low, high
    steepest = case.range(score.linear)[1]
    if square is None or square <= 0:
        flattest = case.range(score.square)[0]
        return low, high + max(0, most * steepest, most * steepest - most * most * flattest)
    vertex = max(0, min(most, round(Fraction(steepest) / (2 * square))))
    return low, high + max(0, vertex * steepest - vertex * vertex * square)
