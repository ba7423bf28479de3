"""Prompts: what is left of a step that only takes a token in.

Most of a prompt are tokens that no rule ever says. What would be said after them is not asked for;
and tables that none of them files under the key that is asked for have found nothing yet. A stretch
of such tokens is taken in by code of its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from curta.engine.native.acts import Block, Next
from curta.engine.native.case import Case, Facts
from curta.engine.native.classes import (
    TokenClass,
    class_facts,
    constant_queries,
    numbers_over,
    track_facts,
)
from curta.engine.native.following import Follower, without_repetitions
from curta.engine.native.routine import Growth, Routine
from curta.engine.native.values import ZERO, Column, ValueId

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
    entries: list[Block]


def intake(follower: Follower, said: set[int]) -> Intake | None:
    """The cases of tokens that no rule says, if there are any."""
    routine = follower.routine
    count = max((len(column.entries) for column in columns(routine)), default=0)
    unfiled, tokens = without_filing(routine, [n for n in range(count) if n not in said])
    if not tokens:
        return None
    window, facts = track_facts(routine, range(count))
    facts = Facts(facts.equal, facts.bounds, facts.hits | dict.fromkeys(unfiled, False))
    classes = [TokenClass(one) for one in families(routine, tokens)]
    resting = resting_totals(routine, [class_facts(routine, one.tokens, facts) for one in classes])
    zeros = dict.fromkeys(resting, ZERO)
    facts = Facts(facts.equal | zeros, facts.bounds, facts.hits)
    acts = []
    for one in classes:
        case = Case(routine.pool, follower.with_misses(class_facts(routine, one.tokens, facts)))
        found, case = follower.followed(case, routine.events)
        acts.append([*found, (case, Next())])
    entries = [Block(tuple(one)) for one in without_repetitions(routine.pool, acts)]
    return Intake(window, unfiled, resting, classes, entries)


def columns(routine: Routine) -> list[Column]:
    """The columns that anything is computed from."""
    found = [entry.definition for entry in routine.pool.entries]
    return [definition for definition in found if isinstance(definition, Column)]


def without_filing(routine: Routine, tokens: list[int]) -> tuple[tuple[int, ...], list[int]]:
    """Look-ups that are always asked the same, and tokens that do not file what is asked for.

    Only those of which the token alone says whether it does.
    """
    unfiled = []
    for number in constant_queries(routine):
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


def families(routine: Routine, tokens: Sequence[int]) -> Iterator[tuple[int, ...]]:
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
    if any(b != a + 1 for a, b in itertools.pairwise(tokens)):
        return False
    if len(tokens) < 3:
        return True
    a, b, c = (rows[token] for token in tokens)
    return all(x + z == 2 * y for x, y, z in zip(a, b, c, strict=True))  # type: ignore[operator]
