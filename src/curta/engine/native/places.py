"""What a step does at one place of a program: the steps of an instruction, one after the other.

The selector is looked up under a number that tokens move on: the *place*. Other values that are
looked up under it, in tables of the weights or in rows that a run does not file any more, are the
*fields* of the place. Given those, a step begins where a token that moved the place has been taken
in; tokens that leave it as it is are followed until one moves it. What is known of one token is
known at the next, but for what has changed in between.

A token is taken in up to the *border*: the first event that depends on the selector.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from curta.dyadic import Number, power_of_two, simplify
from curta.engine.native.bits import Bits, Cut
from curta.engine.native.case import Case, Facts, common
from curta.engine.native.changes import Change, Changes
from curta.engine.native.choice import whole_vertex
from curta.engine.native.classes import class_facts, numbers_over, quiet_stretch, token_classes
from curta.engine.native.dividing import Divider
from curta.engine.native.following import Follower, without_repetitions
from curta.engine.native.intervals import Intervals
from curta.engine.native.routine import (
    FEWEST_FOR_SELECTOR,
    Acts,
    Divide,
    Event,
    Filing,
    Growth,
    NotWorthItError,
    Rule,
    Say,
    read_by,
    selector_of,
)
from curta.engine.native.values import (
    ZERO,
    Column,
    Digit,
    FetchedKey,
    FetchedValue,
    Parameter,
    Pool,
    PositionValue,
    Rises,
    Steps,
    Sum,
    Total,
    ValueId,
    constant,
    sum_of,
)

MOST_TOKENS = 16
"""Tokens of one instruction that are followed."""
Signature = tuple[tuple[ValueId, Sum], ...]


@dataclass(frozen=True)
class Moment:
    """A token of an instruction, taken in up to somewhere."""

    case: Case
    taken: tuple[Case, ...]
    """What was known of it and of those before it when they were taken in, the latest first; the
    last is the token that began the instruction.
    """


class Exact(Case):
    """Values under facts, in which look-ups that ask the same are the same.

    So a value that was fetched is known by what was asked, and may be kept from token to token.
    """

    def __init__(self, pool: Pool, facts: Facts, above: Intervals | None = None) -> None:
        # What is found out of such a look-up is not known in cases beside this one.
        super().__init__(pool, replace(facts, hits=dict(facts.hits)), above)

    def evaluated(self, number: ValueId) -> Sum:
        entry, definition = self.pool.entries[number], self.pool.entries[number].definition
        if number not in self.facts.equal and isinstance(definition, FetchedValue | FetchedKey):
            asked = self.pool.look_ups[definition.look_up]
            by_position = self.pool.rows[asked.rows].by_position
            if not by_position and (query := self.sum(asked.query)) != asked.query:
                exact = self.pool.look_up(replace(asked, query=query))
                if (hit := self.facts.hits.get(definition.look_up)) is not None:
                    self.facts.hits.setdefault(exact, hit)
                same = replace(definition, look_up=exact)
                return self.value(self.pool.define(same, entry.step, entry.name))
        return super().evaluated(number)


class Places:
    """The steps of a routine by places."""

    def __init__(self, follower: Follower) -> None:
        self.follower = follower
        self.routine = routine = follower.routine
        self.pool = routine.pool
        self.selector, self.selecting = selector_of(routine), routine.selecting
        self.query, self.counter, self.sign = self.counting()
        self.classes = token_classes(routine)
        self.quiet = quiet_stretch(routine, [t for one in self.classes for t in one])
        border = next(
            number
            for number, event in enumerate((*routine.events, None))
            if event is None or self.selector in self.pool.reachable(read_by(event))
        )
        self.before = routine.events[:border]
        self.rest = replace(routine, events=routine.events[border:])
        """What a step does up to the border, and from there on."""
        self.changes, self.divider = Changes(self.pool), Divider(follower)
        self.low, self.high = follower.promised.range(self.query)
        self.place = self.pool.value(Parameter("place", self.low, self.high), 0)
        self.taken = self.taken_in()
        self.ending, self.arrived = self.arriving()
        self.filed = {
            act.rows for acts, _ in self.taken for _, act in acts if isinstance(act, Filing)
        }
        """Rows in which tokens up to the border file what was not there."""
        self.tables = self.fields_in_tables()
        self.fields = self.fields_by_name()
        self.check_rest()
        self.check_track()

    # -- the beginning --------------------------------------------------------------------------

    def counting(self) -> tuple[Sum, ValueId, Number]:
        """The number that the selector is found by; the total in it that tokens move on, and its
        sign.
        """
        asked = [one for one in self.pool.reads(self.selector) if one.constant is None]
        totals = [
            (value, coefficient)
            for one in asked
            for value, coefficient in one.terms
            if isinstance(self.pool.definition(value), Total) and abs(coefficient) == 1
        ]
        if not self.routine.ring() or len(asked) != 1 or len(totals) != 1:
            raise NotWorthItError
        return asked[0], *totals[0]

    def taken_in(self) -> list[tuple[Acts, Case]]:
        """What is done with a token up to the border, by class, and what is known there."""
        cases = [Case(self.pool, facts) for facts in self.facts]
        taken = [self.follower.followed(case, self.before) for case in cases]
        acts = without_repetitions(self.pool, [acts for acts, _ in taken], self.open)
        return list(zip(acts, (case for _, case in taken), strict=True))

    def arriving(self) -> tuple[list[int], Case]:
        """The classes of tokens behind which a place begins, and what is known behind them: the
        rest of a step has to be the same after all tokens that move the place.
        """
        signatures = [self.signature(case) for _, case in self.taken]
        moving = {
            signature
            for signature, (acts, case) in zip(signatures, self.taken, strict=True)
            if not self.selects_the_same(case, acts)
        }
        if len(moving) != 1:
            raise NotWorthItError
        signature = moving.pop()
        classes = [number for number, own in enumerate(signatures) if own == signature]
        known = common([self.taken[number][1] for number in classes], signature)
        return classes, Case(self.pool, known)

    def signature(self, case: Case) -> Signature:
        """What the rest of the step reads of the token."""
        read = self.pool.reachable(self.rest.sums())
        columns = (v for v in sorted(read) if isinstance(self.pool.definition(v), Column))
        return tuple((value, case.value(value)) for value in columns)

    def selects_the_same(self, case: Case, acts: Acts) -> bool:
        """Whether the selector is looked up where it would be if there were no such token.

        That is so if what it adds to totals, and what it says itself, cancel each other.
        """
        added = {act.total: act.addend for _, act in acts if isinstance(act, Growth)}
        moved = Sum()
        for value, coefficient in self.query.without_constant.terms:
            match self.pool.definition(value):
                case Total():
                    moved = moved.plus(added.get(value, ZERO), coefficient)
                case Column() | PositionValue():
                    moved = moved.plus(case.value(value), coefficient)
        return moved == ZERO

    def check_rest(self) -> None:
        """What is known of a total at one token holds at the next: none grows behind the border.
        Fields are what they are as long as only tokens that rules say are taken in.
        """
        filed = self.filed | {event.rows for event in self.rest.events if isinstance(event, Filing)}
        if any(isinstance(event, Growth) for event in self.rest.events):
            raise NotWorthItError
        if self.selecting is not None and self.routine.look_ups[self.selecting].rows in filed:
            raise NotWorthItError

    def check_track(self) -> None:
        """When the code is left, what its tokens file by position is computed from them alone."""
        filed = [
            member.total
            for rows in self.routine.rows
            if rows.by_position
            for member in rows.members.values()
        ]
        for value in self.pool.reachable(filed):
            definition = self.pool.definition(value)
            if isinstance(definition, Total | FetchedValue | FetchedKey | PositionValue):
                raise NotWorthItError

    def fields_in_tables(self) -> list[tuple[ValueId, str | Rises, Sum]]:
        """Values that may be fields: what they are found by, and the number that is looked up."""
        found: list[tuple[ValueId, str | Rises, Sum]] = []
        rows = None if self.selecting is None else self.routine.look_ups[self.selecting].rows
        for value in sorted(self.pool.reachable(self.routine.sums())):
            match self.pool.entries[value].definition:
                case FetchedValue(number, member) if self.pool.look_ups[number].rows == rows:
                    found.append((value, member, self.pool.look_ups[number].query))
                case Steps(argument, jumps) if rows is None:
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

    def selectors(self) -> list[Number]:
        """What the selector can be."""
        case = self.arrived
        if self.selecting is not None:
            case = case.under(case.facts.with_hit(self.selecting))
        on = case.value(self.selector)
        low, high = case.range(on)
        terms = on.without_constant.terms
        if len(terms) == 1 and isinstance(self.pool.definition(terms[0][0]), Steps):
            value, scale = terms[0]
            _, levels = self.pool.levels(value)
            found = {simplify(level * scale + on.added) for level in levels}
            return sorted(number for number in found if low <= number <= high)
        unit = Fraction(power_of_two(self.pool.step(on)))
        return [simplify(low + unit * n) for n in range(int((high - low) / unit) + 1)]

    def beginning(self, value: Number) -> Moment:
        """A place whose selector is this, once the token before it is taken in."""
        facts = self.arrived.facts
        rest = self.arrived.sum(self.query.plus(Sum(((self.counter, 1),)), -self.sign))
        if not self.changes.stay(rest.terms, Change(token=True)):
            raise NotWorthItError  # the next token says something else
        counted = sum_of([(self.place, self.sign), (rest, -self.sign)])
        facts = self.with_fields(replace(facts, equal=facts.equal | {self.counter: counted}))
        selector = Exact(self.pool, facts).value(self.selector)
        facts = replace(facts, equal=facts.equal | {self.selector: constant(value)})
        if selector.constant is None:
            facts = facts.with_bound(selector.without_constant, value, value)
        case = Exact(self.pool, facts)
        return Moment(case, (self.arrived,))

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
            case Steps(_, jumps):
                return self.pool.steps(self.place, jumps)
            case definition:
                raise AssertionError(f"{definition} is no field")

    # -- from token to token --------------------------------------------------------------------

    def said(self, moment: Moment, case: Case, rule: Rule) -> Moment:
        """What is known of the token that this rule said, before it is taken in."""
        number = self.class_of[rule.number]
        facts = self.facts[number]
        digit = self.pool.define(Digit(), 0)
        named, known = self.spoken(case, rule, f"said{len(moment.taken)}")
        equal = facts.equal | {digit: named} | self.looking_back(moment)
        equal[self.counter] = moment.case.facts.equal[self.counter]
        kept = self.changes.kept(replace(known, equal=equal), Change(token=True))
        facts = replace(kept, bounds=kept.bounds | facts.bounds, hits=kept.hits | facts.hits)
        after = Exact(self.pool, self.with_fields(facts))
        return Moment(after, (after, *moment.taken))

    @cached_property
    def facts(self) -> list[Facts]:
        """What the token says, by class."""
        return [class_facts(self.routine, one, self.quiet.facts) for one in self.classes]

    def spoken(self, case: Case, rule: Rule, name: str) -> tuple[Sum, Facts]:
        """What a rule says, as its place in the class, by a name; and what is known of it."""
        tokens = self.classes[self.class_of[rule.number]]
        first, most = tokens.index(rule.tokens[0]), len(rule.tokens) - 1
        found = whole_vertex(case, rule)
        if found is None:
            return self.pool.value(Parameter(name, first, first + most), 0), case.facts
        bits = None if first else self.cut(case, rule)
        if bits is not None:
            return self.pool.value(Cut(name, 0, min(most, bits.most), bits), 0), case.facts
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
        """What look-ups by fixed distances find at the token after a moment, if that is a sum of
        numbers that stay what they are.
        """
        known = {v for total in moment.case.facts.equal.values() for v, _ in total.terms}
        found = {}
        for value, distance, filed in self.behind:
            if distance <= len(moment.taken):
                left = moment.taken[distance - 1].sum(filed)
                read = [self.pool.definition(v) for v, _ in left.without_constant.terms]
                if all(isinstance(shape, Parameter) for shape in read):
                    found[value] = self.changes.without_cuts(left, known)
        return found

    @cached_property
    def behind(self) -> list[tuple[ValueId, int, Sum]]:
        """Values that were filed a fixed distance back, how far back, and what was filed."""
        found = []
        for value, entry in enumerate(self.pool.entries):
            if isinstance(entry.definition, FetchedValue):
                number, name = entry.definition.look_up, entry.definition.member
                distance = self.routine.distances.get(number) or 0
                if distance >= 1:
                    filed = self.pool.rows_behind(number).members[name].total
                    found.append((value, distance, filed))
        return found

    def moved(self, moment: Moment, grown: Sum) -> Moment:
        """The same once the place has moved on."""
        counted = moment.case.facts.equal[self.counter].plus(grown)
        facts = self.changes.kept(moment.case.facts, Change(totals=frozenset({self.counter})))
        looked_up = {value for value, _, _ in self.tables}
        equal = {n: s for n, s in facts.equal.items() if n not in looked_up}
        equal[self.counter] = counted
        case = Exact(self.pool, self.with_fields(replace(facts, equal=equal)))
        return Moment(case, (case, *moment.taken[1:]))

    @property
    def open(self) -> list[int]:
        """Rows that are begun before the border, and filled behind it."""
        filings = [event for event in self.rest.events if isinstance(event, Filing)]
        filled = {filing.rows for filing in filings if not filing.opens}
        begun = filled - {filing.rows for filing in filings if filing.opens}
        return sorted(n for n in begun if not self.pool.rows[n].by_position)

    @property
    def uncounted(self) -> list[ValueId]:
        """Totals of which it is not the token alone that says by how much they grow."""
        return [
            event.total
            for event in self.routine.events
            if isinstance(event, Growth) and numbers_over(self.routine, event.addend, [0]) is None
        ]

    def speaks(self, moment: Moment) -> Acts:
        """What a token does from the border on, and what is said after it."""
        return self.divider.divided(moment.case, self.rest)

    def says(self, block: Acts) -> set[int]:
        """The classes of the tokens that a block may say."""
        found: set[int] = set()
        for _, act in block:
            match act:
                case Say(rules):
                    found |= {self.class_of[rule.number] for rule in rules}
                case Divide(_, branches):
                    found = found.union(*(self.says(inner) for _, inner in branches))
        return found

    @cached_property
    def class_of(self) -> list[int]:
        """The class of each rule's tokens."""
        return [
            next(n for n, one in enumerate(self.classes) if rule.tokens[0] in one)
            for rule in self.routine.rules
        ]

    def can_be_guarded(self, filing: Filing) -> bool:
        """Whether it is one comparison that a look-up does not find what is filed."""
        return filing.key.constant is not None and self.pool.rows[filing.rows].kind != "nearest"

    def follow(
        self, moment: Moment, event: Event, still: set[ValueId], guarded: frozenset[int]
    ) -> tuple[Acts, Moment]:
        """What is left of an event, and what is known behind it.

        Guarded look-ups do not ask for what is filed under a number.
        """
        if isinstance(event, Filing) and event.rows not in self.filed:
            return [], moment
        acts, case = self.follower.follow(moment.case, event, still)
        for _, act in acts:
            if isinstance(act, Growth) and act.total == self.counter:
                return acts, self.moved(replace(moment, case=case), act.addend)
            change = self.changes.of(act)
            if guarded and isinstance(act, Filing) and self.can_be_guarded(act):
                change = replace(change, spared=guarded)
            if not self.changes.stay(self.query.terms, change):
                raise NotWorthItError
            if change != Change():
                case = Exact(self.pool, self.changes.kept(case.facts, change))
        return acts, replace(moment, case=case)
