"""Division: the arg-max over q of q * (2A - B + 1) - q * q * B is floor(A / B).

Quotients are said in base 256, the highest digit first. B * 256**n is only of interest if it is not
more than A, which is below 2**32: larger ones are replaced by 2**32, so all numbers stay small.
"""

from __future__ import annotations

from dataclasses import dataclass

from curta.compiler import (
    Graph,
    Node,
    at_least,
    at_most,
    both,
    differ,
    equals,
    invert,
    minimum,
    select,
)
from curta.machine.instructions import WORD
from curta.machine.parts.operations import Sources
from curta.machine.parts.program import Fetched
from curta.machine.parts.token import QUOTIENT_DIGITS, Token
from curta.machine.parts.words import Word, from_digits
from curta.machine.vocabulary import (
    QUOTIENT_DIGIT,
    QUOTIENT_LAST,
    QUOTIENT_MORE,
    QUOTIENT_NEGATIVE,
    QUOTIENT_SCRATCH,
)


@dataclass(frozen=True)
class Division:
    """The division that goes on, if the instruction is one."""

    by_zero: Node
    overflow: Node
    remainder: Node
    """The remainder as a word, once the quotient is complete."""
    says_remainder: Node
    left: Node
    """What the quotient digits said so far have left of the dividend."""
    divisor: Node
    """The divisor, in the place of the next digit."""
    place: Node
    negative: Node


def division_parts(graph: Graph, token: Token, now: Fetched, sources: Sources) -> Division:
    a, b = sources.a, sources.b
    is_signed = now.is_any("div_s", "rem_s")
    minus_a, minus_b = both(is_signed, a.sign), both(is_signed, b.sign)
    dividend = select(minus_a, WORD - a.number, a.number)
    divisor = select(minus_b, WORD - b.number, b.number)
    scaled = [
        minimum(divisor, WORD // QUOTIENT_DIGIT**n) * QUOTIENT_DIGIT**n
        for n in range(QUOTIENT_DIGITS)
    ]
    top = sum((at_least(dividend, unit) for unit in scaled[1:]), graph.constant(0))
    divides = now.is_any(*now.operations.of_kind("divide"))
    marks = [graph.gate(divides, mark) for mark in token.quotient[: QUOTIENT_DIGITS - 1]]
    said = [at_least(mark, 1) for mark in marks]
    place = top - sum(said, graph.constant(0))
    left = dividend
    for distance, mark in enumerate(marks, start=1):
        at = [
            graph.gate(equals(place, n - distance), scaled[n])
            for n in range(distance, QUOTIENT_DIGITS)
        ]
        left = left - graph.gate(mark - said[distance - 1], sum(at, graph.constant(0)))
    is_remainder = now.is_any("rem_u", "rem_s")
    says_remainder = both(is_remainder, token.is_remainder)
    remainder = dividend
    for digit, unit in zip(token.scratch, scaled, strict=True):
        remainder = remainder - graph.gate(graph.gate(says_remainder, digit), unit)
    remainder = graph.assume(remainder, 0, WORD - 1).named("remainder")
    below = both(minus_a, 1 - at_most(remainder, 0))
    return Division(
        by_zero=at_most(b.number, 0),
        overflow=both(is_lowest(a), at_least(b.number, WORD - 1)),
        remainder=select(below, WORD - remainder, remainder),
        says_remainder=says_remainder,
        left=graph.assume(left, 0, WORD - 1).named("left to divide"),
        divisor=minimum(
            sum(
                (graph.gate(equals(place, n), unit) for n, unit in enumerate(scaled)),
                graph.constant(0),
            ),
            WORD,
        ),
        place=place,
        negative=both(is_signed, differ(a.sign, b.sign)),
    )


def is_lowest(word: Word) -> Node:
    """1 for the most negative word."""
    return both(equals(word.digits[7], 8), at_most(from_digits(word.digits[:7]), 0))


def say_quotient(graph: Graph, now: Fetched, division: Division, when: Node) -> None:
    """The next digit; which family it is of says what comes after it."""
    more = at_least(division.place, 1)
    last = both(when, invert(more))
    gives_quotient = now.is_any("div_u", "div_s")
    scratch = both(last, invert(gives_quotient))
    families = (
        (QUOTIENT_MORE, both(when, more)),
        (QUOTIENT_LAST, both(last, gives_quotient, invert(division.negative))),
        (QUOTIENT_NEGATIVE, both(last, gives_quotient, division.negative)),
        (QUOTIENT_SCRATCH, scratch),
    )
    for tokens, condition in families:
        graph.emit_quotient(tokens, division.left, division.divisor, when=condition)
