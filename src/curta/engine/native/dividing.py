"""The blocks of a step: divided by what tells apart most, until it is known which rule speaks."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from curta.engine.native.case import Case
from curta.engine.native.choice import division, possible
from curta.engine.native.following import Follower
from curta.engine.native.routine import (
    Acts,
    Check,
    Divide,
    Event,
    Filing,
    Growth,
    NotWorthItError,
    Routine,
    Say,
    is_found,
)
from curta.engine.native.values import Product, Steps, Sum, ValueId

FEWEST_FOR_ROOT = 8
MOST_OF_ROOT = 4
"""Gates and steps that have to be functions of a number for the code to be divided by it, and the
most values that it may have.
"""
MOST_FOR_SWITCH = 1000
"""Values that are left to compute where a gate divides the code: both halves are written."""
MUCH = 256
"""The same, where that is done only if it tells which rule speaks."""
MOST_DIVISIONS = 4
"""Divisions in a row that decide between rules."""
MOST_LEAVES = 2000
"""Cases in which events are followed to their end."""


class Divider:
    """Makes blocks of what is left to do in a case."""

    def __init__(self, follower: Follower) -> None:
        self.follower = follower
        self.pool = follower.pool
        self.leaves = 0

    def divided(self, case: Case, work: Routine) -> Acts:
        """All cases of what a step still has to do; by a fetched value that is 0 or 1 and gates
        others, if there is one.
        """
        self.leaves = 0
        work = left_of(case, work)
        reachable = self.pool.reachable(work.sums())
        on = self.switch(case, reachable) if len(reachable) <= MOST_FOR_SWITCH else None
        if on is None or len(reachable) > MUCH:
            whole = self.by_root(case, work)
            if on is None or not compares(whole):
                return whole
        halves = [((n, n), self.by_root(case.refined(on, n, n), work)) for n in (0, 1)]
        return [(case, Divide(on, halves))]

    def switch(self, case: Case, reachable: set[ValueId]) -> Sum | None:
        for value in sorted(reachable):
            definition = self.pool.entries[value].definition
            if not isinstance(definition, Product) or definition.factor.constant is not None:
                continue
            terms = definition.gate.without_constant.terms
            if len(terms) == 1 and is_found(self.pool, terms[0][0]):
                on = Sum(((terms[0][0], 1),))
                if case.range(on) == (0, 1):
                    return on if self.pool.step(on) >= 0 else None
        return None

    def by_root(self, case: Case, work: Routine) -> Acts:
        """Divided by a number of few values that much is a function of: a place within a word."""
        work = left_of(case, work)
        on = self.root(case, work)
        if on is None:
            return self.decided(case, work)
        low, high = case.range(on)
        pieces = [((n, n), case.refined(on, n, n)) for n in range(int(low), int(high) + 1)]
        branches = [(ends, self.decided(piece, work)) for ends, piece in pieces]
        return [(case, Divide(on, branches))]

    def decided(self, case: Case, work: Routine, depth: int = 0) -> Acts:
        """Divided by what decides between rules: before anything is filed, and behind all events,
        where the best token is said.
        """
        work = left_of(case, work)
        files = any(isinstance(e, Filing) and e.key.constant is None for e in work.events)
        undecided = len(work.rules) > 1 and depth < MOST_DIVISIONS
        if undecided and (files or not work.events):
            found = division(case, work.rules, few=files)
            if found is not None:
                on, pieces = found
                branches = [(ends, self.decided(one, work, depth + 1)) for ends, one in pieces]
                return [(case, Divide(on, branches))]
        if not work.events:
            return [(case, Say(work.rules))]
        self.leaves += 1
        if self.leaves > MOST_LEAVES:
            raise NotWorthItError
        acts, case = self.follower.followed(case, work.events)
        return [*acts, *self.decided(case, replace(work, events=()))]

    def root(self, case: Case, work: Routine) -> Sum | None:
        counts: Counter[Sum] = Counter()
        for value in self.pool.reachable(work.sums()):
            match self.pool.entries[value].definition:
                case Product(asked) | Steps(asked):
                    number = self.number_behind(case, asked.without_constant)
                    if number is not None:
                        counts[number] += 1
        for number, count in counts.most_common():
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
        return None if curves else total.direction[1]


def compares(block: Acts) -> bool:
    """Whether scores are compared anywhere."""
    match block[-1][1]:
        case Divide(_, branches):
            return any(compares(inner) for _, inner in branches)
        case act:
            return isinstance(act, Say) and len(act.rules) > 1


def left_of(case: Case, work: Routine) -> Routine:
    """What is left of events and rules in a case."""
    events = tuple(left_of_event(case, event) for event in work.events)
    return replace(work, events=events, rules=possible(case, work.rules))


def left_of_event(case: Case, event: Event) -> Event:
    match event:
        case Growth(total, addend):
            return Growth(total, case.sum(addend))
        case Filing(_, _, key, members):
            left = tuple((name, case.sum(total)) for name, total in members)
            return replace(event, key=case.sum(key), members=left)
        case Check():
            return replace(event, total=case.sum(event.total))
