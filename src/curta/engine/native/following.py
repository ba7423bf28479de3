"""Events followed under the facts of a case: the acts that are left of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from curta.compiler.numbers import Number
from curta.engine.native.acts import Acts
from curta.engine.native.case import Case, Facts
from curta.engine.native.routine import Check, Event, Filing, Growth, Routine
from curta.engine.native.values import Bounds, Pool, Sum, Total, ValueId


@dataclass(frozen=True)
class Asked:
    """What rows are ever asked for, while promises are kept."""

    highest: Number
    only: frozenset[Number] | None
    """All queries, if they are constant."""

    def never(self, low: Number, high: Number) -> bool:
        """Whether no query is in low..high."""
        return low > self.highest or (
            self.only is not None and not any(low <= query <= high for query in self.only)
        )


class Follower:
    def __init__(self, routine: Routine) -> None:
        self.routine = routine
        self.pool = routine.pool
        self.promised = promised(routine)
        self.asked = asked_keys(self.promised, routine)
        self.filed = filed_keys(self.promised, routine.events)

    def with_misses(self, facts: Facts) -> Facts:
        """The same, and what is looked up in vain because nothing is filed there."""
        case = Case(self.pool, facts)
        for event in self.routine.events:
            if isinstance(event, Check):
                case = case.learned(case.sum(event.total), event.low, event.high)
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
                if rows not in self.asked or not self.asked[rows].never(*case.range(at)):
                    filed = tuple((name, case.sum(total)) for name, total in members)
                    return [(case, replace(event, key=at, members=filed))], case
            case Check():
                left = case.sum(event.total)
                low, high = case.range(left)
                proved = event.low <= low and high <= event.high
                after = case.learned(left, event.low, event.high)
                if not (proved or self.is_still(event.total, still)):
                    return [(case, replace(event, total=left))], after
                return [], after
        return [], case

    def is_still(self, promised: Sum, still: set[ValueId]) -> bool:
        """Whether a sum is of totals that did not grow: it was checked at the token before."""
        for value, _ in promised.without_constant.terms:
            if value not in still:
                return False
            assert isinstance(self.pool.definition(value), Total)
        return True


def promised(routine: Routine) -> Case:
    """What holds at any token, while promises are kept."""
    case = Case(routine.pool, Facts())
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


def asked_keys(case: Case, routine: Routine) -> dict[int, Asked]:
    """What rows are asked for, at any token."""
    queries: dict[int, list[Sum]] = {}
    open_ended = set()
    for number, look_up in routine.look_ups.items():
        if case.pool.is_plain(number):
            queries.setdefault(look_up.rows, []).append(case.sum(look_up.query))
        else:
            open_ended.add(look_up.rows)
    found = {}
    for rows, sums in queries.items():
        if rows in open_ended:
            continue
        constants = [query.constant for query in sums]
        only = frozenset(c for c in constants if c is not None)
        found[rows] = Asked(
            max(case.range(query)[1] for query in sums), None if None in constants else only
        )
    return found


def without_repetitions(pool: Pool, classes: list[Acts]) -> list[Acts]:
    """Without filing what every token of a stretch files: the token before has filed it."""
    for rows in {act.rows for acts in classes for _, act in acts if isinstance(act, Filing)}:
        filed = [
            [a for _, a in acts if isinstance(a, Filing) and a.rows == rows] for acts in classes
        ]
        fixed = all(
            a.key.constant is not None and all(t.constant is not None for _, t in a.members)
            for acts in filed
            for a in acts
        )
        if fixed and pool.rows[rows].kind != "nearest" and all(acts == filed[0] for acts in filed):
            classes = [
                [(c, a) for c, a in acts if not (isinstance(a, Filing) and a.rows == rows)]
                for acts in classes
            ]
    return classes
