"""Quotients and roots of floats: digits that the machine says, and the proof that they are right.

The significands are moved so that b has its highest bit at 57 and a at 113; or, for a root, at 113
or 112, whichever makes the exponent even. What is wanted is then a whole number q below 2**58,

    a = q * b + rest      or      a = q * q + rest,

and its eight digits in base 128 are said as those of a quotient of words are, seven and then the
last as a scratch quotient. While n digits are said, q is what they are so far, with zeros below.
The next digit is the leading part of `rest` divided by that of the *step* d: d = b, or for a root
2 * q and, as the digit itself counts too, two more in the last place that was said: a digit is less
than that. It comes out right or one too small, never too large; what it lacks is made up for by the
next. So the first one of a root may be up to 255, and any other one is below 200.

Digits are not trusted. The latest scratch quotient, whoever said it and why, is right if

    0 <= rest < 2 * d,

for then the wanted number is q or q + 1. So the second word of a result needs no digits, and no
digits that were said can lead to a wrong one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from curta.compiler import (
    Node,
    at_least,
    at_most,
    both,
    clamp,
    count_reached,
    differ,
    either,
    equals,
    function_table,
    minimum,
    select,
)
from curta.compiler.derived import split_top
from curta.machine.float_words import FLOAT_DIGITS
from curta.machine.parts.float_operands import BIAS, Kind, Unpacked
from curta.machine.parts.limbs import LIMB, UNIT, Limbs, carried, highest_bit, window
from curta.machine.parts.token import Token

BASE = 128
DIGIT_BITS = 7
A_TOP, B_TOP = 113, 57
CUT = 28
"""Bits of the step that no digit looks at: those of its last four digits."""
ALL_DIGITS = DIGIT_BITS * (FLOAT_DIGITS - 1) + CUT
STEP_BITS, LEFT_BITS = 31, 39
"""Of the leading parts of the step and of the rest."""


@dataclass(frozen=True)
class Attempt:
    """The digits that there are, and what they are tried with."""

    counts: tuple[Node, ...]
    """1 for the number of digits said; 0 stands for the latest scratch quotient."""
    digits: Limbs
    divisor: Limbs
    """b"""
    dividend: Limbs
    """The limbs 2, 3 and 4 of a; those below are 0."""
    step: Node
    """The leading part of the step, or a little more."""
    exponent: Node


@dataclass(frozen=True)
class Quotient:
    """What the result is once all is said, and what there is to say."""

    digits: Limbs
    one_more: Node
    """1 if the number is one more than the digits say."""
    rest: Node
    """1 if it is more than that."""
    exponent: Node
    wanted: Node
    """1 if a digit has to be said first."""
    left: Node
    divisor: Node
    """That digit is `left` divided by this."""
    is_last: Node
    """1 if it is the last."""


def attempt(kind: Kind, x: Unpacked, y: Unpacked, token: Token) -> Attempt:
    counts = counted(token)
    digits, leading_digits = digits_of(counts, token)
    x_highest, _ = highest_bit(x.limbs)
    y_highest, _ = highest_bit(y.limbs)
    # The exponent that x has with its highest bit as the unit; for a root it is halved, upwards.
    moved_x = x.exponent + x_highest
    half, _ = split_top(clamp(moved_x + 1, 0, 4095), 12, 11)
    is_odd = function_table(x_highest + 1, [(n + 1) % 2 for n in range(3 * LIMB + 1)])
    lower = both(kind.takes_root, differ(x.odd_exponent, is_odd))
    divisor = aligned(y.limbs, y_highest, B_TOP, 0)
    middle, _ = split_top(divisor[1], LIMB, 2 * LIMB - CUT)
    return Attempt(
        counts,
        digits,
        divisor,
        aligned(x.limbs, x_highest, A_TOP, lower),
        select(
            kind.takes_root,
            2 * leading_digits + last_place(counts),
            2 ** (2 * LIMB - CUT) * divisor[2] + middle + 1,
        ),
        select(
            kind.takes_root,
            half - (BIAS + A_TOP) // 2 + BIAS,
            moved_x - y.exponent - y_highest + BIAS - A_TOP + B_TOP,
        ),
    )


def judged(kind: Kind, tried: Attempt, product: Sequence[Node], needed: Node) -> Quotient:
    """What the digits leave of the dividend says whether they are right, or what comes next."""
    graph = product[0].graph
    root, counts = kind.takes_root, tried.counts
    zero = graph.constant(0)
    *lower, third, fourth = [
        a - p for a, p in zip([zero, zero, *tried.dividend], product, strict=True)
    ]
    rest = carried([*lower, UNIT * fourth + third], -4, 0)
    # Gated, limbs lie in slots of their own, apart from the products that they are left of.
    low, middle, above = (graph.gate(needed, limb) for limb in rest[:3])
    beyond, high = rest[3], UNIT * above + middle
    step_low, step_middle, step_above = (
        select(root, 2 * digit, limb)
        for digit, limb in zip(tried.digits, tried.divisor, strict=True)
    )
    step_low, step_high = step_low + root, UNIT * step_above + step_middle
    # Behind the clamp the low limbs, both steps of a root's, cannot change the sign.
    past = UNIT * clamp(high - step_high, -4, 4) + low - step_low
    small = both(equals(beyond, 0), at_most(8 * high - 9 * step_high, 0))
    first_root = count_reached(tried.dividend[2], [4 * k * k for k in range(1, 256)])
    is_first_root = both(root, counts[0])
    return Quotient(
        tried.digits,
        one_more=at_least(past, 0),
        rest=1 - either(equals(past, 0), at_most(high + low, 0)),
        exponent=tried.exponent,
        wanted=both(needed, 1 - both(counts[0], small)),
        left=select(is_first_root, first_root, leading(tried, above, beyond)),
        divisor=select(is_first_root, 1, minimum(tried.step, 2**STEP_BITS - 1)),
        is_last=counts[-1],
    )


# -- digits ---------------------------------------------------------------------------------------


def counted(token: Token) -> tuple[Node, ...]:
    count = sum((at_least(mark, 1) for mark in token.quotient), token.ends_word.graph.constant(0))
    return tuple(equals(count, n) for n in range(FLOAT_DIGITS))


def digits_of(counts: Sequence[Node], token: Token) -> tuple[Limbs, Node]:
    """The digits that are said, or else those of the latest scratch quotient, in limbs; and the
    first four of them.
    """
    graph = token.ends_word.graph
    said = [mark - at_least(mark, 1) for mark in token.quotient]
    half = FLOAT_DIGITS // 2
    # By places, the lowest first.
    choices: list[list[Node | int]] = [
        list(token.scratch),
        *([0] * (FLOAT_DIGITS - count) + said[:count] for count in range(1, FLOAT_DIGITS)),
    ]

    def number(first: int) -> Node:
        return sum(
            (
                graph.gate(
                    here,
                    sum(
                        (BASE**n * one for n, one in enumerate(places[first : first + half])),
                        graph.constant(0),
                    ),
                )
                for here, places in zip(counts, choices, strict=True)
            ),
            graph.constant(0),
        )

    above, lowest = split_top(number(0), CUT + 2, CUT + 2 - LIMB)
    higher = number(half) * 2 ** (CUT - LIMB) + above
    highest, middle = split_top(higher, LIMB + 10, 10)
    return in_limbs((lowest, middle, highest), B_TOP), number(half)


def aligned(limbs: Limbs, highest: Node, top: int, lower: Node | int) -> Limbs:
    """The highest limbs of a number whose highest bit is moved to bit `top`, or one bit lower.

    Limb n becomes the highest of them if it is 2**at or more, or one above it is not 0.
    """
    at, zero = top % LIMB, highest.graph.constant(0)
    steps = [
        at_least(limb + 2**at * sum(limbs[n + 1 :], zero), 2**at)
        for n, limb in enumerate(limbs[:-1])
    ]
    shown, _ = window(limbs, steps, LIMB * sum(steps[1:], steps[0]) + at - highest - lower)
    return in_limbs(shown[::-1], top)


def in_limbs(limbs: Limbs, top: int) -> Limbs:
    """The same in slots of their own, apart from what they are left of, up to bit `top`."""
    *others, highest = limbs
    most = 2 ** (top % LIMB + 1) - 1
    return (*(minimum(limb, UNIT - 1) for limb in others), minimum(highest, most))


def leading(tried: Attempt, above: Node, beyond: Node) -> Node:
    """The rest from limb 2 on, in the units in which `step` is of the next digit.

    What is left out is less than a 64th of the step.
    """
    graph = above.graph
    shown = [graph.gate(tried.counts[0], 2 ** (4 * LIMB - ALL_DIGITS) * tried.dividend[2])]
    for count, here in enumerate(tried.counts[1:], start=1):
        lost = ALL_DIGITS - DIGIT_BITS * count
        parts = [
            2**up * clamp(limb, 0, 2 ** min(LEFT_BITS - up, most) - 1)
            for limb, up, most in (
                (above, 2 * LIMB - lost, LIMB),
                (beyond, 3 * LIMB - lost, LEFT_BITS),
            )
            if 0 <= up < LEFT_BITS
        ]
        shown.append(graph.gate(here, sum(parts, graph.constant(0))))
    return clamp(sum(shown, graph.constant(0)), 0, 2**LEFT_BITS - 1)


def last_place(counts: Sequence[Node]) -> Node:
    """Twice that of a root's digits that are said, in units of 2**CUT; or more than all below."""
    graph = counts[0].graph
    sizes = [2 * 2 ** (DIGIT_BITS * (FLOAT_DIGITS - count) - CUT) for count in (1, 2, 3, 4)]
    pairs = zip([*sizes, 9, 9, 9], counts[1:], strict=True)
    return sum((size * here for size, here in pairs), graph.constant(0))
