"""The value that says what a step does: such as the operation of an instruction.

It is fetched, or comes out of a table of the weights, and most gates and steps ask about it: under
any of its values most of the general code is idle.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING

from curta.dyadic import power_of_two
from curta.engine.native.case import Case, Facts
from curta.engine.native.values import FetchedValue, Parameter, Pool, Product, Steps, ValueId

if TYPE_CHECKING:
    from curta.engine.native.routine import Routine

MOST_CHOICES = 256
"""Values of a selector."""
FEWEST_QUESTIONS = 12
"""Gates and steps that have to ask about a value before it is made the selector."""
FEWEST_FOR_SELECTOR = 8
"""Steps of a value that is computed, to be a selector."""


class NotWorthItError(Exception):
    """A model executes no program, or what it does is not worth being told apart, or what a case
    computes is no number of steps in 64 bits: the general code is left to do it.
    """


def selector_of(routine: Routine) -> ValueId:
    """The value out of a table, of few possible ones, that most gates and steps ask about."""
    pool = routine.pool
    questions: Counter[ValueId] = Counter()
    for value in pool.reachable(routine.sums()):
        match pool.entries[value].definition:
            case Product(asked) | Steps(asked):
                terms = asked.without_constant.terms
                if len(terms) == 1 and is_found(pool, terms[0][0]):
                    questions[terms[0][0]] += 1
    case = Case(pool, Facts())
    few = [value for value in questions if is_choice(case, value)]
    best = max(few, key=lambda value: (questions[value], -value), default=None)
    if best is None or questions[best] < FEWEST_QUESTIONS:
        raise NotWorthItError
    return best


def is_found(pool: Pool, value: ValueId) -> bool:
    """Whether a value comes out of a table, be it one that was filed or one of the weights."""
    definition = pool.entries[value].definition
    if isinstance(definition, FetchedValue | Parameter):
        return True
    return isinstance(definition, Steps) and len(definition.jumps) >= FEWEST_FOR_SELECTOR


def is_choice(case: Case, value: ValueId) -> bool:
    """Whether a value is one of a few."""
    low, high = case.intervals.of_value(value)
    return (high - low) / Fraction(power_of_two(case.pool.entries[value].step)) < MOST_CHOICES
