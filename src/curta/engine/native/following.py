"""Events followed under the facts of a case: the acts that are left of them."""

from __future__ import annotations

from dataclasses import dataclass

from curta.compiler.numbers import Number
from curta.engine.native.acts import Acts, File, Grow, Test
from curta.engine.native.case import Case, Facts
from curta.engine.native.events import Check, Event, Filing, Growth, Steady
from curta.engine.native.pool import Input, Pool, Range
from curta.engine.native.symbolic import Sum, Total, ValueId
from curta.engine.native.tables import position_shift


@dataclass(frozen=True)
class Asked:
    """What the rows of a table are ever asked for, while promises are kept."""

    highest: Number
    only: frozenset[Number] | None
    """All queries, if they are constant."""

    def never(self, low: Number, high: Number) -> bool:
        """Whether no query is in low..high."""
        return low > self.highest or (
            self.only is not None and not any(low <= query <= high for query in self.only)
        )


class Follower:
    def __init__(self, steady: Steady) -> None:
        self.pool = steady.pool
        self.events = steady.events
        case = promised(steady)
        self.asked = asked_keys(case)
        self.filed = filed_keys(case, steady.events)

    def with_misses(self, facts: Facts) -> Facts:
        """The same, and what tables are asked for in vain because nothing is filed there."""
        case = Case(self.pool, facts)
        for event in self.events:
            if isinstance(event, Check):
                case = case.learned(case.sum(event.total), event.low, event.high)
        for table, query in self.pool.queries.items():
            filed = self.filed.get(self.pool.owners[table])
            if filed is not None and table not in facts.hits and is_plain(self.pool, table):
                low, high = case.range(case.sum(query))
                if high < filed[0] or low > filed[1]:
                    facts = facts.with_hit(table, False)
        return facts

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
                    at = case.sum(key)
                    if owner not in self.asked or not self.asked[owner].never(*case.range(at)):
                        filed = tuple((name, stored, case.sum(t)) for name, stored, t in members)
                        acts.append((case, File(owner, opens, at, filed)))
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


def promised(steady: Steady) -> Case:
    """What holds at any token, while promises are kept."""
    case = Case(steady.pool, Facts())
    for event in steady.events:
        if isinstance(event, Check):
            case = case.learned(case.sum(event.total), event.low, event.high)
    return case


def filed_keys(case: Case, events: list[Event]) -> dict[int, Range]:
    """The interval of the keys that are filed in each table's rows."""
    return {
        event.owner: case.range(case.sum(event.key))
        for event in events
        if isinstance(event, Filing) and event.opens
    }


def asked_keys(case: Case) -> dict[int, Asked]:
    """What the rows of each table are asked for, at any token."""
    pool = case.pool
    queries: dict[int, list[Sum]] = {}
    open_ended = set()
    for table, query in pool.queries.items():
        if is_plain(pool, table):
            queries.setdefault(pool.owners[table], []).append(case.sum(query))
        else:
            open_ended.add(pool.owners[table])
    found = {}
    for owner, sums in queries.items():
        if owner in open_ended:
            continue
        constants = [query.constant for query in sums]
        only = frozenset(c for c in constants if c is not None)
        found[owner] = Asked(
            max(case.range(query)[1] for query in sums), None if None in constants else only
        )
    return found


def is_plain(pool: Pool, table: int) -> bool:
    """Whether a table only answers queries that are equal to a key, and keys are no positions."""
    shift = position_shift(pool.program, pool.program.tables[table].key)
    return table not in pool.nearest and shift is None


def without_repetitions(pool: Pool, classes: list[Acts]) -> list[Acts]:
    """Without filing what every token of a stretch files: the token before has filed it."""
    owners = {act.owner for acts in classes for _, act in acts if isinstance(act, File)}
    for owner in owners:
        filed = [
            [a for _, a in acts if isinstance(a, File) and a.owner == owner] for acts in classes
        ]
        fixed = all(
            a.key.constant is not None and all(t.constant is not None for _, _, t in a.members)
            for acts in filed
            for a in acts
        )
        nearest = pool.program.tables[owner].nearest
        if fixed and not nearest and all(acts == filed[0] for acts in filed):
            classes = [
                [(c, a) for c, a in acts if not (isinstance(a, File) and a.owner == owner)]
                for acts in classes
            ]
    return classes
