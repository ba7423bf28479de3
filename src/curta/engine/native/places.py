"""What a step does at one place of a program: the steps of an instruction, one after the other.

The selector is looked up under a number that tokens move on: the *place*. Other values that are
looked up under it, in tables of the weights or in rows that a run does not file any more, are the
*fields* of the place. Given those, a step begins where a token that moved the place has been taken
in; tokens that leave it as it is are followed until one moves it. What is known of one token is
known at the next, but for what has changed in between.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from curta.compiler.numbers import Number, power_of_two
from curta.engine.native.bits import Bits, Cut
from curta.engine.native.case import Case, Facts
from curta.engine.native.choice import MOST_DIVISIONS, division, possible, whole_vertex
from curta.engine.native.classes import class_facts, numbers_over
from curta.engine.native.following import Follower
from curta.engine.native.routine import Acts, Block, Divide, Event, Filing, Growth, Rule
from curta.engine.native.specialise import (
    FEWEST_FOR_SELECTOR,
    Group,
    NotWorthItError,
    Specialiser,
    Work,
    left_of,
)
from curta.engine.native.values import (
    CONSTANT,
    ONE,
    Column,
    Digit,
    FetchedKey,
    FetchedValue,
    Parameter,
    PositionValue,
    Product,
    Rises,
    Steps,
    Sum,
    Total,
    ValueId,
    constant,
    direction,
    sum_of,
)

MOST_TOKENS = 16
"""Tokens of one instruction that are followed."""
FEWEST_FOR_ROOT = 8
MOST_OF_ROOT = 4
"""Gates and steps that have to be functions of a number for the code to be divided by it, and the
most values that it may have.
"""


@dataclass(frozen=True)
class Moment:
    """A token of an instruction, taken in up to somewhere; that which began it has depth 0."""

    depth: int
    case: Case
    taken: tuple[Case, ...]
    """What was known of it and of those before it when they were taken in, the latest first."""
    counted: Sum
    """What the total that counts places is."""


@dataclass(frozen=True)
class Change:
    """What is not what it was: values at every token, totals that grew, rows that were filed, rows
    of which one was begun, whose values come later.
    """

    totals: frozenset[ValueId] = frozenset()
    rows: frozenset[int] = frozenset()
    begun: frozenset[int] = frozenset()
    token: bool = False


class Exact(Case):
    """Values under facts, in which look-ups that ask the same are the same.

    So a value that was fetched is known by what was asked, and may be kept from token to token.
    """

    def evaluated(self, number: ValueId) -> Sum:
        definition = self.pool.entries[number].definition
        if number in self.facts.equal or not isinstance(definition, FetchedValue | FetchedKey):
            return super().evaluated(number)
        if self.pool.rows_behind(definition.look_up).by_position:
            return super().evaluated(number)
        asked = self.pool.look_ups[definition.look_up]
        query = self.sum(asked.query)
        if query == asked.query:
            return super().evaluated(number)
        exact = self.pool.look_up(replace(asked, query=query))
        if (hit := self.facts.hits.get(definition.look_up)) is not None:
            self.facts.hits.setdefault(exact, hit)
        entry = self.pool.entries[number]
        return self.value(
            self.pool.define(replace(definition, look_up=exact), entry.step, entry.name)
        )


class Places(Specialiser):
    """The steps of a routine by places."""

    def __init__(self, follower: Follower) -> None:
        super().__init__(follower)
        if self.selector is None or not self.routine.ring():
            raise NotWorthItError
        asked = [one for one in self.pool.reads(self.selector) if one.constant is None]
        totals = [
            (value, coefficient)
            for one in asked
            for value, coefficient in one.terms
            if isinstance(self.pool.definition(value), Total) and abs(coefficient) == 1
        ]
        if len(asked) != 1 or len(totals) != 1:
            raise NotWorthItError
        self.query = asked[0]
        ((self.counter, self.sign),) = totals
        self.low, self.high = self.follower.promised.range(self.query)
        self.place = self.pool.value(Parameter("place", self.low, self.high), 0)
        self.stays = dict[tuple[Change, ValueId], bool]()
        self.taken = self.taken_in()
        self.filed_again = {
            rows.number
            for rows in self.routine.rows
            if not any(
                isinstance(act, Filing) and act.rows == rows.number
                for acts in self.taken.before
                for _, act in acts
            )
        }
        """Rows in which tokens up to the border file nothing that was not there."""
        self.tables = self.fields_in_tables()
        self.fields = self.fields_by_name()
        self.check_rows()

    # -- the beginning --------------------------------------------------------------------------

    def check_rows(self) -> None:
        """Fields are what they are as long as only tokens that rules say are taken in."""
        if self.selecting is None:
            return
        rows = self.routine.look_ups[self.selecting].rows
        for acts in self.taken.before:
            if any(isinstance(act, Filing) and act.rows == rows for _, act in acts):
                raise NotWorthItError
        if any(
            isinstance(event, Filing) and event.rows == rows
            for event in self.routine.events[self.border :]
        ):
            raise NotWorthItError

    def fields_in_tables(self) -> list[tuple[ValueId, str | Rises, Sum]]:
        """Values that may be fields: what they are found by, and the number that is looked up."""
        found: list[tuple[ValueId, str | Rises, Sum]] = []
        rows = None if self.selecting is None else self.routine.look_ups[self.selecting].rows
        for value in sorted(self.pool.reachable(self.routine.sums())):
            match self.pool.entries[value].definition:
                case FetchedValue(number, member) if self.pool.look_ups[number].rows == rows:
                    found.append((value, member, self.pool.look_ups[number].query))
                case Steps(argument, jumps, factor) if rows is None and factor == ONE:
                    if len(jumps) >= FEWEST_FOR_SELECTOR and self.counts(argument):
                        found.append((value, jumps, argument))
        return found

    def counts(self, argument: Sum) -> bool:
        """Whether a sum is the place, but for what tokens add to it."""
        terms = dict(argument.terms)
        away = argument.plus(self.query, -terms.get(self.counter, 0) * self.sign)
        return self.counter in terms and all(
            isinstance(self.pool.definition(value), Column | FetchedValue)
            for value, _ in away.without_constant.terms
        )

    def beginning(self, group: Group, value: Number) -> Moment:
        """A place whose selector is this, once the token before it is taken in."""
        assert self.selector is not None
        facts = group.case.facts
        rest = self.query.plus(Sum(((self.counter, 1),)), -self.sign)
        counted = sum_of([(self.place, self.sign), (group.case.sum(rest), -self.sign)])
        facts = self.with_fields(replace(facts, equal=facts.equal | {self.counter: counted}))
        selector = Exact(self.pool, facts).value(self.selector)
        facts = replace(facts, equal=facts.equal | {self.selector: constant(value)})
        if selector.constant is None:
            facts = facts.with_bound(selector.without_constant, value, value)
        case = Exact(self.pool, facts)
        return Moment(0, case, (group.case,), counted)

    def with_fields(self, facts: Facts) -> Facts:
        """The same, with what is looked up under the place as fields."""
        case = Exact(self.pool, facts)
        equal = dict(facts.equal)
        hits = dict(facts.hits)
        for value, name, argument in self.tables:
            if case.sum(argument) == self.place:
                definition = self.pool.entries[value].definition
                equal[value] = self.fields[name]
                if isinstance(definition, FetchedValue):
                    hits[definition.look_up] = True
        return replace(facts, equal=equal, hits=hits)

    def fields_by_name(self) -> dict[str | Rises, Sum]:
        """All fields, by member or by the table of the weights."""
        found: dict[str | Rises, Sum] = {}
        for value, name, _ in self.tables:
            if name not in found:
                low, high = self.follower.promised.range(Sum(((value, 1),)))
                field = Parameter(f"field{len(found)}", low, high)
                found[name] = self.pool.value(field, self.pool.entries[value].step)
        return found

    def looked_up(self, value: ValueId) -> Sum:
        """A field as it is found under the number of any place."""
        match self.pool.entries[value].definition:
            case FetchedValue(number, member):
                there = self.pool.look_up(replace(self.pool.look_ups[number], query=self.place))
                entry = self.pool.entries[value]
                return self.pool.value(FetchedValue(there, member), entry.step, entry.name)
            case Steps(_, jumps, factor):
                return self.pool.steps(self.place, jumps, factor)
            case definition:
                raise AssertionError(f"{definition} is no field")

    # -- from token to token --------------------------------------------------------------------

    def said(self, moment: Moment, case: Case, rule: Rule) -> Moment:
        """What is known of the token that this rule said, before it is taken in."""
        number = self.class_of[rule.number]
        depth = moment.depth + 1
        facts = self.facts[number]
        digit = self.pool.define(Digit(), 0)
        named, known = self.spoken(case, rule, f"said{depth}")
        equal = facts.equal | {digit: named} | self.looking_back(moment)
        equal[self.counter] = moment.counted
        kept = self.kept(replace(known, equal=equal), Change(token=True))
        facts = replace(kept, bounds=kept.bounds | facts.bounds, hits=kept.hits | facts.hits)
        after = Exact(self.pool, self.with_fields(facts))
        return Moment(depth, after, (after, *moment.taken), moment.counted)

    @cached_property
    def facts(self) -> list[Facts]:
        """What the token says, by class."""
        return [class_facts(self.routine, one.tokens, self.quiet.facts) for one in self.classes]

    def spoken(self, case: Case, rule: Rule, name: str) -> tuple[Sum, Facts]:
        """What a rule says, as its place in the class, by a name; and what is known of it."""
        tokens = self.classes[self.class_of[rule.number]].tokens
        first, most = tokens.index(rule.tokens[0]), len(rule.tokens) - 1
        found = whole_vertex(case, rule)
        if found is None:
            return self.pool.value(Parameter(name, first, first + most), 0), case.facts
        bits = None if first else self.cut(case, rule)
        if bits is not None:
            highest = (1 << bits.high - bits.low) - 1
            return self.pool.value(Cut(name, 0, min(most, highest), bits), 0), case.facts
        unit, width, (low, high) = found
        ends = (first + max(0, min(most, end)) for end in (low, high))
        said = self.pool.value(Parameter(name, *ends), 0)
        left = rule.linear.plus(said.plus(constant(-first)), -unit * width)
        if low < 0 or high > most or not left.without_constant.terms:
            return said, case.facts
        away = unit * (1 - width // 2) - left.added, unit * (width - width // 2) - left.added
        return said, case.facts.with_bound(left.without_constant, *away)

    def cut(self, case: Case, rule: Rule) -> Bits | None:
        """The bits of a number that a rule says the token of: (linear + added) // width."""
        found = whole_vertex(case, rule)
        if found is None:
            return None
        unit, width, (low, high) = found
        total, added = rule.linear.without_constant, rule.linear.added + unit * (width // 2 - 1)
        grain = power_of_two(self.pool.step(total))
        if low < 0 or high >= len(rule.tokens) or not total.terms or not 0 <= added < grain:
            return None
        steps = Fraction(unit) * width / grain
        if steps.denominator != 1 or steps.numerator & (steps.numerator - 1):
            return None
        return case.intervals.bits.quotient(total, steps.numerator, int(high), alone=True)

    def looking_back(self, moment: Moment) -> dict[ValueId, Sum]:
        """What look-ups by fixed distances find at the token after a moment."""
        known = {v for total in moment.case.facts.equal.values() for v, _ in total.terms}
        found = {}
        for value, entry in enumerate(self.pool.entries):
            distance = self.distance_of(value)
            if 1 <= distance <= len(moment.taken) and isinstance(entry.definition, FetchedValue):
                number, name = entry.definition.look_up, entry.definition.member
                filed = self.pool.rows_behind(number).members[name].total
                left = moment.taken[distance - 1].sum(filed)
                if self.is_named(left):
                    found[value] = self.without_cuts(left, known)
        return found

    def is_named(self, total: Sum) -> bool:
        """Whether a sum is of numbers that stay what they are."""
        return all(
            v == CONSTANT or isinstance(self.pool.definition(v), Parameter) for v, _ in total.terms
        )

    def distance_of(self, value: ValueId) -> int:
        """How far back a value was filed; 0 if it is of this token, or no such value."""
        definition = self.pool.entries[value].definition
        if not isinstance(definition, FetchedValue):
            return 0
        return self.routine.distances.get(definition.look_up) or 0

    def moved(self, moment: Moment, grown: Sum) -> Moment:
        """The same once the place has moved on."""
        counted = moment.counted.plus(grown)
        facts = self.kept(moment.case.facts, Change(totals=frozenset({self.counter})))
        equal = {n: s for n, s in facts.equal.items() if n not in self.table_values}
        equal[self.counter] = counted
        case = Exact(self.pool, self.with_fields(replace(facts, equal=equal)))
        return Moment(moment.depth, case, (case, *moment.taken[1:]), counted)

    @property
    def uncounted(self) -> list[ValueId]:
        """Totals of which it is not the token alone that says by how much they grow."""
        return [
            event.total
            for event in self.routine.events
            if isinstance(event, Growth) and numbers_over(self.routine, event.addend, [0]) is None
        ]

    @property
    def table_values(self) -> set[ValueId]:
        return {value for value, _, _ in self.tables}

    def speaks(self, moment: Moment) -> Block:
        """What a token does from the border on, and what is said after it."""
        self.leaves = 0
        work = Work(list(self.routine.events[self.border :]), list(self.routine.rules))
        return self.by_switches(moment.case, work)

    def finished(self, case: Case, work: Work) -> Block:
        """Divided by a number of few values that much is a function of: a place within a word."""
        work = left_of(case, work)
        on = self.root(case, work)
        if on is None:
            return self.decided(case, work)
        low, high = case.range(on)
        points = range(int(low), int(high) + 1)
        pieces = [(point, case.refined(on, point, point)) for point in points]
        branches = [
            ((point, point), self.decided(piece, left_of(piece, work))) for point, piece in pieces
        ]
        return Block(((case, Divide(on, tuple(branches))),))

    def decided(self, case: Case, work: Work, depth: int = 0) -> Block:
        """Divided by what decides between rules, before anything is filed."""
        rules = possible(case, work.rules)
        files = any(isinstance(e, Filing) and e.key.constant is None for e in work.events)
        if files and len(rules) > 1 and depth < MOST_DIVISIONS:
            found = division(case, rules, few=True)
            if found is not None:
                on, pieces = found
                branches = [
                    (ends, self.decided(piece, left_of(piece, work), depth + 1))
                    for ends, piece in pieces
                ]
                return Block(((case, Divide(on, tuple(branches))),))
        return super().finished(case, work)

    def root(self, case: Case, work: Work) -> Sum | None:
        counts: dict[Sum, int] = {}
        for value in self.pool.reachable(work.sums()):
            match self.pool.entries[value].definition:
                case Product(asked) | Steps(asked):
                    number = self.number_behind(case, asked.without_constant)
                    if number is not None:
                        counts[number] = counts.get(number, 0) + 1
        for number, count in sorted(counts.items(), key=lambda item: -item[1]):
            if count < FEWEST_FOR_ROOT:
                break
            low, high = case.range(number)
            if self.pool.step(number) == 0 and 0 < high - low < MOST_OF_ROOT:
                return number
        return None

    def number_behind(self, case: Case, total: Sum) -> Sum | None:
        """The number that a sum is a function of, if it is one."""
        curves = [c for v, _ in total.terms if (c := self.pool.curve(v)) is not None]
        for curve in curves:
            if not case.intervals.without(total, curve.number)[0].terms:
                return curve.number
        return None if curves else direction(total)[1]

    def follow(
        self, moment: Moment, event: Event, still: set[ValueId], guarded: bool
    ) -> tuple[Acts, Moment]:
        """What is left of an event, and what is known behind it.

        If guarded, nobody asks for what is filed under a number.
        """
        if isinstance(event, Filing) and event.rows in self.filed_again:
            return [], moment
        acts, case = self.follower.follow(moment.case, event, still)
        for _, act in acts:
            if isinstance(act, Growth) and act.total == self.counter:
                return acts, self.moved(replace(moment, case=case), act.addend)
            if isinstance(act, Growth):
                case = Exact(self.pool, self.kept(case.facts, Change(frozenset({act.total}))))
            if isinstance(act, Filing) and not self.pool.rows[act.rows].by_position:
                if guarded and act.key.constant is not None:
                    continue
                if not self.stay(self.query.terms, self.changed(act)):
                    raise NotWorthItError
                case = Exact(self.pool, self.kept(case.facts, self.changed(act)))
        return acts, replace(moment, case=case)

    # -- what has changed -----------------------------------------------------------------------

    def changed(self, act: Filing) -> Change:
        """A row of an array that is only begun has its values still."""
        rows = frozenset({act.rows})
        begun = not act.members and self.pool.rows[act.rows].kind == "direct"
        return Change(begun=rows) if begun else Change(rows=rows)

    def kept(self, facts: Facts, change: Change) -> Facts:
        """What is still known behind a change."""
        cuts = {v for total in facts.equal.values() for v, _ in total.terms}
        cuts = {v for v in cuts if isinstance(self.pool.definition(v), Cut)}
        whole = {v for v in cuts if self.bits_stay(v, change)}
        equal = facts.equal
        if whole != cuts:
            equal = {v: self.without_cuts(total, whole) for v, total in equal.items()}
        bounds = {t: ends for t, ends in facts.bounds.items() if self.stay(t.terms, change)}
        hits: dict[int, bool] = {
            number: True
            for number, hit in facts.hits.items()
            if hit and self.stay(self.pool.look_ups[number].query.terms, change)
        }
        return Facts(equal, bounds, hits)

    def without_cuts(self, total: Sum, whole: set[ValueId]) -> Sum:
        """The same, with bits of numbers that are not what they were as numbers of their own."""
        for value, coefficient in total.terms:
            shape = self.pool.definition(value)
            if isinstance(shape, Cut) and value not in whole:
                plain = self.pool.value(Parameter(shape.name, shape.low, shape.high), 0)
                total = total.plus(Sum(((value, 1),)), -coefficient).plus(plain, coefficient)
        return total

    def stay(self, terms: Iterable[tuple[ValueId, Number]], change: Change) -> bool:
        return all(v == CONSTANT or self.stays_as_it_was(v, change) for v, _ in terms)

    def stays_as_it_was(self, value: ValueId, change: Change) -> bool:
        key = change, value
        if key not in self.stays:
            self.stays[key] = self.is_untouched(value, change) and all(
                self.stay(total.terms, change) for total in self.pool.reads(value)
            )
        return self.stays[key]

    def bits_stay(self, value: ValueId, change: Change) -> bool:
        """Whether bits of a number are still bits of it."""
        shape = self.pool.definition(value)
        return not isinstance(shape, Cut) or self.stay(shape.bits.number.terms, change)

    def finds_the_same(self, number: int, change: Change, *, key: bool = False) -> bool:
        """Whether a look-up finds the same values, or the same key as well."""
        asked = self.pool.look_ups[number]
        filed = change.rows | change.begun if key else change.rows
        by_position = self.pool.rows[asked.rows].by_position
        touched = change.token if by_position else asked.rows in filed
        return not touched and self.stay(asked.query.terms, change)

    def is_untouched(self, value: ValueId, change: Change) -> bool:
        match self.pool.entries[value].definition:
            case Digit() | Column() | PositionValue():
                return not change.token
            case FetchedValue(number):
                rows = self.pool.rows_behind(number)
                return not change.token if rows.by_position else rows.number not in change.rows
            case FetchedKey(number):
                rows = self.pool.rows_behind(number)
                filed = change.rows | change.begun
                return not change.token if rows.by_position else rows.number not in filed
            case Total():
                return value not in change.totals
            case _:
                return True
