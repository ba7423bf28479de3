"""Division of words: long division, a digit in base 16 every two layers.

What the digits leave of the dividend stays below 2**32. So the divisor in the place of a digit,
B * 16**n, is only of interest if it is not more than that: larger ones are replaced by 2**32, and
all numbers stay small. A digit is how many of fifteen multiples are not more than what is left.
"""

from __future__ import annotations

from dataclasses import dataclass

from curta.compiler import Node, at_least, at_most, both, differ, equals, minimum, select
from curta.machine.instructions import DIVISIONS, WORD
from curta.machine.parts.operations import Sources
from curta.machine.parts.program import Fetched
from curta.machine.parts.words import Word, from_digits

BASE, DIGITS = 16, 8


@dataclass(frozen=True)
class Division:
    by_zero: Node
    overflow: Node
    results: dict[str, Node]
    """Of each operation, where it does not trap."""


def division_parts(now: Fetched, sources: Sources) -> Division:
    a, b = sources.a, sources.b
    divides, is_signed = now.is_any(*DIVISIONS), now.is_any("div_s", "rem_s")
    minus_a, minus_b = both(is_signed, a.sign), both(is_signed, b.sign)
    # Of other instructions 0 by 0, so that there is nothing to find out about them.
    quotient, rest = divided(
        magnitude(a, divides - minus_a, minus_a), magnitude(b, divides - minus_b, minus_b)
    )
    quotient = negated(quotient, differ(minus_a, minus_b))
    rest = negated(rest, minus_a)
    return Division(
        by_zero=at_most(b.number, 0),
        overflow=both(is_lowest(a), at_least(b.number, WORD - 1)),
        results={"div_u": quotient, "div_s": quotient, "rem_u": rest, "rem_s": rest},
    )


def divided(dividend: Node, divisor: Node) -> tuple[Node, Node]:
    """Quotient and remainder; by 0 they are any words."""
    left, digits = dividend, []
    for place in reversed(range(DIGITS)):
        digit, left = digit_at(place, left, divisor)
        digits.append(digit)
    return from_digits(digits[::-1], BASE), left


def digit_at(place: int, left: Node, divisor: Node) -> tuple[Node, Node]:
    """A digit of what the ones before it have left, and what it leaves."""
    graph, unit = left.graph, BASE**place
    step = minimum(divisor, WORD // unit) * unit
    digit = sum((at_least(left - n * step, 0) for n in range(1, BASE)), graph.constant(0))
    rest = graph.assume(left - graph.gate(digit, step), 0, WORD - 1)
    return digit, rest.named(f"left by digit {place}")


def magnitude(word: Word, plus: Node, minus: Node) -> Node:
    graph = word.number.graph
    return graph.gate(plus, word.number) + graph.gate(minus, WORD - word.number)


def negated(number: Node, minus: Node) -> Node:
    """The word that stands for the negative number, if it is one."""
    return select(both(minus, at_least(number, 1)), WORD - number, number)


def is_lowest(word: Word) -> Node:
    """1 for the most negative word."""
    return both(equals(word.digits[7], 8), at_most(from_digits(word.digits[:7]), 0))
