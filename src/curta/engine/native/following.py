"""Events followed under the facts of a case: the acts that are left of them.

Most of a prompt are tokens that no rule ever says. What would be said after them is not asked for;
and tables that none of them files under the key that is asked for have found nothing yet. A stretch
of such tokens is taken in by code of its own.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from curta.dyadic import Number
from curta.engine.native.case import Case, Facts
from curta.engine.native.classes import (
    TokenClass,
    are_in_a_row,
    class_facts,
    numbers_over,
    track_facts,
)
from curta.engine.native.routine import Acts, Check, Event, Filing, Growth, Routine, read_by
from curta.engine.native.values import ZERO, Bounds, Column, Pool, Sum, Total, ValueId

Ends = tuple[Number | float, Number | float]
"""Bounds, or none on one side or both."""


class Follower:
    def __init__(self, routine: Routine) -> None:
        self.routine = routine
        self.pool = routine.pool
        self.promised = promised(routine, Facts())
        self.asked = asked_keys(self.promised, routine)
        self.filed = filed_keys(self.promised, routine.events)

    def with_misses(self, facts: Facts) -> Facts:
        """The same, and what is looked up in vain because nothing is filed there."""
        case = promised(self.routine, facts)
        for number, look_up in self.routine.look_ups.items():
            filed = self.filed.get(look_up.rows)
            if filed is not None and number not in facts.hits and self.pool.is_plain(number):
                low, high = case.range(case.sum(look_up.query))
                if high < filed[0] or low > filed[1]:
                    facts = facts.with_hit(number, False)
        return facts

    def followed(self, case: Case, events: Iterable[Event]) -> tuple[Acts, Case]:
        """What is left of these events, and the case after them, in which promises are kept."""
        acts: Acts = []
        still: set[ValueId] = set()
        for event in events:
            left, case = self.follow(case, event, still)
            acts += left
        return acts, case

    def follow(self, case: Case, event: Event, still: set[ValueId]) -> tuple[Acts, Case]:
        """The same of one event, behind some at which these totals did not grow."""
        match event:
            case Growth(total, addend):
                grows = case.sum(addend)
                if grows.terms:
                    return [(case, Growth(total, grows))], case
                still.add(total)
            case Filing(rows, _, key, members):
                at = case.sum(key)
                low, high = case.range(at)
                asked = self.asked.get(rows, [(-math.inf, math.inf)])
                if any(low <= most and high >= least for least, most in asked):
                    filed = tuple((name, case.sum(total)) for name, total in members)
                    return [(case, replace(event, key=at, members=filed))], case
            case Check():
                left = case.sum(event.total)
                low, high = case.range(left)
                proved = event.low <= low and high <= event.high
                after = case.learned(left, event.low, event.high)
                if not (proved or self.was_checked(event, still)):
                    return [(case, replace(event, total=left))], after
                return [], after
        return [], case

    def was_checked(self, event: Check, still: set[ValueId]) -> bool:
        """Whether it is of totals that did not grow: the token before has checked it, and before
        the first all are zero, which keeps the promise.
        """
        totals = [value for value, _ in event.total.without_constant.terms]
        if not still.issuperset(totals):
            return False
        assert all(isinstance(self.pool.definition(value), Total) for value in totals)
        return event.low <= event.total.added <= event.high


def promised(routine: Routine, facts: Facts) -> Case:
    """What holds under some facts, while promises are kept."""
    case = Case(routine.pool, facts)
    for event in routine.events:
        if isinstance(event, Check):
            case = case.learned(case.sum(event.total), event.low, event.high)
    return case


def filed_keys(case: Case, events: Iterable[Event]) -> dict[int, Bounds]:
    """The interval of the keys under which anything is filed in rows."""
    return {
        event.rows: case.range(case.sum(event.key))
        for event in events
        if isinstance(event, Filing) and event.opens
    }


def asked_keys(case: Case, routine: Routine) -> dict[int, list[Ends]]:
    """What rows are asked for, at any token: all queries if they are constant, else how high they
    go; left out where a query finds what was filed under another key.
    """
    queries: dict[int, list[Sum]] = {}
    open_ended = set()
    for number, look_up in routine.look_ups.items():
        if case.pool.is_plain(number):
            queries.setdefault(look_up.rows, []).append(case.sum(look_up.query))
        else:
            open_ended.add(look_up.rows)
    found = dict[int, list[Ends]]()
    for rows, sums in queries.items():
        if rows not in open_ended:
            found[rows] = [case.range(query) for query in sums]
            if any(query.constant is None for query in sums):
                found[rows] = [(-math.inf, max(high for _, high in found[rows]))]
    return found


def without_repetitions(pool: Pool, classes: list[Acts], used: Collection[int]) -> list[Acts]:
    """Without filing what every token of a stretch files: the token before has filed it. Rows that
    are `used` are filled later.
    """
    filed = {act.rows for acts in classes for _, act in acts if isinstance(act, Filing)}
    for rows in filed.difference(used):
        filings = [
            [a for _, a in acts if isinstance(a, Filing) and a.rows == rows] for acts in classes
        ]
        same = all(acts == filings[0] for acts in filings)
        fixed = all(t.constant is not None for a in filings[0] for t in read_by(a))
        if same and fixed and pool.rows[rows].kind != "nearest":
            classes = [
                [(c, a) for c, a in acts if not (isinstance(a, Filing) and a.rows == rows)]
                for acts in classes
            ]
    return classes


# -- prompts: tokens that no rule says ------------------------------------------------------------

SHORTEST_FAMILY = 8
"""Tokens in a row on which all columns are straight lines, that are a class of their own."""


@dataclass(frozen=True)
class Intake:
    """All cases of a token that is taken in, in a stretch of tokens that are never said."""

    window: int
    """Tokens that there have to be before the stretch."""
    unfiled: tuple[int, ...]
    """Look-ups that are always asked the same, and have found nothing yet."""
    resting: tuple[ValueId, ...]
    """Totals that are zero."""
    classes: list[TokenClass]
    entries: list[Acts]


def intake(follower: Follower, said: set[int]) -> Intake | None:
    """The cases of tokens that no rule says, if there are any."""
    routine = follower.routine
    count = max((len(column.entries) for column in columns(routine)), default=0)
    unfiled, tokens = without_filing(routine, [n for n in range(count) if n not in said])
    if not tokens:
        return None
    window, facts = track_facts(routine, range(count))
    facts = Facts(facts.equal, facts.bounds, facts.hits | dict.fromkeys(unfiled, False))
    classes = list(families(routine, tokens))
    resting = resting_totals(routine, [class_facts(routine, one, facts) for one in classes])
    zeros = dict.fromkeys(resting, ZERO)
    facts = Facts(facts.equal | zeros, facts.bounds, facts.hits)
    known = (follower.with_misses(class_facts(routine, one, facts)) for one in classes)
    # What all of them file is filed by each: before the first there may be no token that did.
    acts = [follower.followed(Case(routine.pool, one), routine.events)[0] for one in known]
    return Intake(window, unfiled, resting, classes, acts)


def columns(routine: Routine) -> list[Column]:
    """The columns that anything is computed from."""
    found = [entry.definition for entry in routine.pool.entries]
    return [definition for definition in found if isinstance(definition, Column)]


def without_filing(routine: Routine, tokens: list[int]) -> tuple[tuple[int, ...], list[int]]:
    """Look-ups that are always asked the same, and tokens that do not file what is asked for.

    Only those of which the token alone says whether it does.
    """
    unfiled = []
    for number in routine.constant_queries:
        keys = numbers_over(routine, routine.pool.rows_behind(number).key, tokens)
        if keys is not None:
            unfiled.append(number)
            query = routine.look_ups[number].query.constant
            tokens = [token for token, key in zip(tokens, keys, strict=True) if key != query]
    return tuple(unfiled), tokens


def resting_totals(routine: Routine, classes: list[Facts]) -> tuple[ValueId, ...]:
    """Totals that grow at no token of the classes: they are what they were in the beginning."""
    cases = [Case(routine.pool, facts) for facts in classes]
    return tuple(
        event.total
        for event in routine.events
        if isinstance(event, Growth) and all(case.sum(event.addend) == ZERO for case in cases)
    )


def families(routine: Routine, tokens: Sequence[int]) -> Iterator[TokenClass]:
    """Tokens in a row on which all columns are straight lines; shorter rows together."""
    rows = list(zip(*(column.entries for column in columns(routine)), strict=True))
    rest: list[int] = []
    start = 0
    for end in range(1, len(tokens) + 1):
        if end < len(tokens) and is_straight(rows, tokens[max(start, end - 2) : end + 1]):
            continue
        family = tuple(tokens[start:end])
        start = end
        if len(family) < SHORTEST_FAMILY:
            rest += family
        else:
            yield family
    if rest:
        yield tuple(rest)


def is_straight(rows: Sequence[tuple[object, ...]], tokens: Sequence[int]) -> bool:
    """Whether up to three tokens are neighbours, and their rows on a line."""
    if not are_in_a_row(tokens):
        return False
    if len(tokens) < 3:
        return True
    a, b, c = (rows[token] for token in tokens)
    return all(x + z == 2 * y for x, y, z in zip(a, b, c, strict=True))  # type: ignore[operator]
