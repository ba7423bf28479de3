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

from curta.dyadic import Number, simplify
from curta.engine.native.case import Facts
from curta.engine.native.routine import Routine
from curta.engine.native.values import (
    POSITION,
    Bounds,
    Column,
    Digit,
    FetchedValue,
    Sum,
    constant,
)

MOST_CLASSES = 24


TokenClass = tuple[int, ...]
"""Tokens that the same code takes in."""


def are_in_a_row(tokens: Sequence[int]) -> bool:
    return all(b == a + 1 for a, b in pairwise(tokens))


def token_classes(routine: Routine) -> list[TokenClass]:
    """All tokens that a rule can say: by rule, or together if they are too many rules."""
    rules = [rule.tokens for rule in routine.rules]
    said = sorted({token for tokens in rules for token in tokens})
    if len(rules) > MOST_CLASSES or sum(map(len, rules)) > len(said):
        return [tuple(said)]
    return rules


def class_facts(routine: Routine, tokens: Sequence[int], quiet: Facts) -> Facts:
    """What is known when the token is one of these."""
    pool = routine.pool
    digit = pool.define(Digit(), 0)
    equal = dict(quiet.equal)
    bounds = {**quiet.bounds, Sum(((digit, 1),)): (0, len(tokens) - 1)}
    for number, entry in enumerate(pool.entries):
        if not isinstance(entry.definition, Column):
            continue
        numbers = [entry.definition.entries[token] for token in tokens]
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
    """Look-ups whose query is constant, and which have found a row."""


def quiet_stretch(routine: Routine, said: Sequence[int]) -> Quiet:
    """What is known at a token that was said, after enough others that were."""
    window, facts = track_facts(routine, said)
    filed = routine.constant_queries
    facts = Facts(facts.equal, facts.bounds, facts.hits | dict.fromkeys(filed, True))
    return Quiet(window, facts, filed)


def track_facts(routine: Routine, tokens: Sequence[int]) -> tuple[int, Facts]:
    """How far back look-ups by position go, and what they find if all tokens are these."""
    pool = routine.pool
    position = pool.known.get(POSITION)
    distances = {n: far for n, far in routine.distances.items() if far is not None and far >= 0}
    window = max(distances.values(), default=0)
    equal: dict[int, Sum] = {}
    bounds: dict[Sum, Bounds] = {}
    if position is not None:
        bounds[Sum(((position, 1),))] = window, pool.max_tokens - 1
    for value, entry in enumerate(pool.entries):
        match entry.definition:
            case FetchedValue(number, name) if number in distances:
                filed = pool.rows_behind(number).members[name].total
                if distances[number] == 0:
                    equal[value] = filed
                elif (numbers := numbers_over(routine, filed, tokens)) is not None:
                    bounds[Sum(((value, 1),))] = simplify(min(numbers)), simplify(max(numbers))
    hits = {number: True for number in distances if not pool.look_ups[number].nearest}
    return window, Facts(equal, bounds, hits)


def numbers_over(routine: Routine, total: Sum, tokens: Sequence[int]) -> list[Number] | None:
    """What a sum of columns is for each of some tokens."""
    columns: list[tuple[tuple[Number, ...], Number]] = []
    for value, coefficient in total.without_constant.terms:
        column = routine.pool.definition(value)
        if not isinstance(column, Column):
            return None
        columns.append((column.entries, coefficient))
    return [total.added + sum(c * entries[token] for entries, c in columns) for token in tokens]
