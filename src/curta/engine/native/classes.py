"""What the token says before anything is computed: classes of tokens, and quiet stretches.

The tokens of one output rule are a class. On a class, a column is a constant or a multiple of the
token's place in it, and what is left is bounded.

Most looking back is to a fixed distance. Once the run has said more tokens than the longest such
distance, all that is found there was said, not prompted; and what is the same for all tokens that
can be said is known. Such a stretch is called quiet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from curta.compiler.numbers import Number, simplify
from curta.engine.native.case import Facts
from curta.engine.native.events import Filing, Steady
from curta.engine.native.pool import Digit, FetchedValue, Input, Range, constant
from curta.engine.native.symbolic import CONSTANT, Column, PositionValue, Sum
from curta.engine.native.tables import position_shift

MOST_CLASSES = 24


@dataclass(frozen=True, slots=True)
class TokenClass:
    """Tokens that the same code takes in."""

    tokens: tuple[int, ...]

    @property
    def is_run(self) -> bool:
        return all(b == a + 1 for a, b in pairwise(self.tokens))


def token_classes(steady: Steady) -> list[TokenClass]:
    """All tokens that a rule can say: by rule, or together if they are too many rules."""
    rules = [score.tokens for score in steady.scores]
    said = sorted({token for tokens in rules for token in tokens})
    if len(rules) > MOST_CLASSES or sum(map(len, rules)) > len(said):
        return [TokenClass(tuple(said))]
    return [TokenClass(tokens) for tokens in rules]


def class_facts(steady: Steady, tokens: Sequence[int], quiet: Facts) -> Facts:
    """What is known when the token is one of these."""
    pool = steady.pool
    digit = pool.define(Digit(), 0)
    equal = dict(quiet.equal)
    bounds = {**quiet.bounds, Sum(((digit, 1),)): (0, len(tokens) - 1)}
    for number, entry in enumerate(pool.entries):
        if not isinstance(entry.definition, Input):
            continue
        column = pool.program.values[entry.definition.value].definition
        if not isinstance(column, Column):
            continue
        numbers = [column.entries[token] for token in tokens]
        slope = numbers[1] - numbers[0] if len(numbers) > 1 else 0
        if all(b - a == slope for a, b in pairwise(numbers)):
            equal[number] = constant(numbers[0]).plus(Sum(((digit, 1),)), slope)
        else:
            bounds[Sum(((number, 1),))] = min(numbers), max(numbers)
    return Facts(equal, bounds, quiet.hits)


@dataclass(frozen=True)
class Quiet:
    """A stretch in which the last `window` tokens were said."""

    window: int
    facts: Facts
    filed: tuple[int, ...]
    """Tables whose query is constant, and which have found a row."""


def quiet_stretch(steady: Steady, said: Sequence[int]) -> Quiet:
    """What is known at a token that was said, after enough others that were."""
    window, facts = track_facts(steady, said)
    filed = constant_queries(steady)
    facts = Facts(facts.equal, facts.bounds, facts.hits | dict.fromkeys(filed, True))
    return Quiet(window, facts, filed)


def track_facts(steady: Steady, tokens: Sequence[int]) -> tuple[int, Facts]:
    """How far back tables by position look, and what they find if all tokens are these."""
    pool = steady.pool
    position = pool.known.get(Input(position_value(steady)))
    distances = {
        table: -int(query.added)
        for table, query in pool.queries.items()
        if query.without_constant.terms == ((position, 1),)
        and query.added <= 0
        and position_shift(pool.program, pool.program.tables[table].key) is not None
    }
    window = max(distances.values(), default=0)
    equal: dict[int, Sum] = {}
    bounds: dict[Sum, Range] = {}
    if position is not None:
        bounds[Sum(((position, 1),))] = window, pool.max_tokens - 1
    for (table, member), stored in pool.stored.items():
        if table not in distances:
            continue
        fetched = pool.known[FetchedValue(table, member)]
        if distances[table] == 0:
            equal[fetched] = filed_total(steady, member)
        elif (ends := range_over(steady, stored.total, tokens)) is not None:
            bounds[Sum(((fetched, 1),))] = ends
    hits = {table: True for table in distances if table not in pool.nearest}
    return window, Facts(equal, bounds, hits)


def constant_queries(steady: Steady) -> tuple[int, ...]:
    """Tables that are always asked the same, and so are all that share their rows.

    (Of an array that is asked for other things too, one entry may well be missing.)
    """
    pool = steady.pool
    varied = {pool.owners[table] for table, query in pool.queries.items() if query.constant is None}
    return tuple(
        table
        for table in pool.queries
        if pool.owners[table] not in varied
        and table not in pool.nearest
        and position_shift(pool.program, pool.program.tables[table].key) is None
    )


def position_value(steady: Steady) -> int:
    """The number of the value that is the position; -1 if the program has none."""
    wanted = PositionValue(1, 0, 1, 0)
    values = steady.pool.program.values
    return next((n for n, value in enumerate(values) if value.definition == wanted), -1)


def filed_total(steady: Steady, member: str) -> Sum:
    """What is filed in a member of the track."""
    return next(
        total
        for event in steady.events
        if isinstance(event, Filing)
        for name, _, total in event.members
        if name == member
    )


def range_over(steady: Steady, total: Sum, tokens: Sequence[int]) -> Range | None:
    """The interval of a sum of columns over some tokens."""
    numbers = numbers_over(steady, total, tokens)
    if numbers is None:
        return None
    return simplify(min(numbers)), simplify(max(numbers))


def numbers_over(steady: Steady, total: Sum, tokens: Sequence[int]) -> list[Number] | None:
    """What a sum of the program's columns is for each of some tokens."""
    columns: list[tuple[tuple[Number, ...], Number]] = []
    for value, coefficient in total.terms:
        if value == CONSTANT:
            continue
        column = steady.pool.program.values[value].definition
        if not isinstance(column, Column):
            return None
        columns.append((column.entries, coefficient))
    return [total.added + sum(c * entries[token] for entries, c in columns) for token in tokens]
