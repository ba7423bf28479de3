"""What is not what it was, behind a token or an event, and what is still known there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from curta.dyadic import Number
from curta.engine.native.bits import Cut
from curta.engine.native.case import Facts
from curta.engine.native.routine import Act, Filing, Growth
from curta.engine.native.values import (
    CONSTANT,
    Column,
    Digit,
    FetchedKey,
    FetchedValue,
    Parameter,
    Pool,
    PositionValue,
    Sum,
    Total,
    ValueId,
)


@dataclass(frozen=True)
class Change:
    """What is not what it was: values at every token, totals that grew, rows that were filed, rows
    of which one was begun, whose values come later. Look-ups that are spared find what they found.
    """

    totals: frozenset[ValueId] = frozenset()
    rows: frozenset[int] = frozenset()
    begun: frozenset[int] = frozenset()
    token: bool = False
    spared: frozenset[int] = frozenset()


class Changes:
    """What stays as it was, of a pool's values."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.stays = dict[tuple[Change, ValueId], bool]()

    def of(self, act: Act) -> Change:
        """By an act. A row of an array that is only begun has its values still; rows by position
        change with every token.
        """
        match act:
            case Growth(total):
                return Change(totals=frozenset({total}))
            case Filing(number, _, _, members) if not self.pool.rows[number].by_position:
                begun = not members and self.pool.rows[number].kind == "direct"
                rows = frozenset({number})
                return Change(begun=rows) if begun else Change(rows=rows)
            case _:
                return Change()

    def kept(self, facts: Facts, change: Change) -> Facts:
        """What is still known behind a change."""
        cuts = {
            v: shape.bits.number
            for total in facts.equal.values()
            for v, _ in total.terms
            if isinstance(shape := self.pool.definition(v), Cut)
        }
        whole = {v for v, number in cuts.items() if self.stay(number.terms, change)}
        equal = {v: self.without_cuts(total, whole) for v, total in facts.equal.items()}
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

    def finds_the_same(self, number: int, change: Change, *, key: bool = False) -> bool:
        """Whether a look-up finds the same values, or the same key as well."""
        asked = self.pool.look_ups[number]
        filed = change.rows | change.begun if key else change.rows
        by_position = self.pool.rows[asked.rows].by_position
        touched = change.token if by_position else asked.rows in filed
        touched = touched and number not in change.spared
        return not touched and self.stay(asked.query.terms, change)

    def is_untouched(self, value: ValueId, change: Change) -> bool:
        match self.pool.entries[value].definition:
            case Digit() | Column() | PositionValue():
                return not change.token
            case FetchedValue(number):
                return self.finds_the_same(number, change)
            case FetchedKey(number):
                return self.finds_the_same(number, change, key=True)
            case Total():
                return value not in change.totals
            case _:
                return True
