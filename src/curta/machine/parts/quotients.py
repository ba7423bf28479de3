"""Quotients and roots of floats: long division, a digit in base 16 every two layers.

The significands are moved so that the divisor has its highest bit at 56 and the dividend at 55; or,
for a root, at 55 or 54, whichever makes the exponent even. What is wanted is then

    q = floor(dividend * 16**14 / divisor)      or      q = floor(sqrt(dividend * 16**14)),

14 digits that stand for `unit` = 16**13, ..., 16, 1. What the digits leave is kept in units that
shrink with them, so it stays as long as the divisor. Behind a digit d it is

    left * 16 - d * step                        or      left * 16 - d * step - d * d * unit

where the step is the divisor; or for a root, twice what its digits say so far.

Numbers have a high half and one of 24 bits. A digit is the largest that fits as far as the high
halves tell, so it is never too large, and hardly ever too small, by one. What it lacks is made up
for by the next one, which may be 16; behind the last, q or q + 1 is the number, and what is left
tells which. While a digit is chosen, what is carried from the low half is still being found.
"""

from __future__ import annotations

from collections.abc import Iterable
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
from curta.compiler.derived import copied, split_top
from curta.machine.parts.float_operands import BIAS, Kind, Magnitude, Unpacked
from curta.machine.parts.limbs import LIMB, UNIT, Limbs, carried, highest_bit, window

BASE, DIGITS = 16, 14
TOP = 56
"""Where the divisor has its highest bit, and as many bits as the digits are."""
A_TOP = 2 * TOP - 1
"""Of the dividend behind which all digits stand."""
CARRIED = -35, BASE
"""Between these, in units of the high half, is a low half that is not carried yet: 16 times less
than one of them was left, and 16 times the low half of a step was taken away at most, which for a
root is below 2.2 of them."""
LOW_OF_STEP = 3
"""It is below as many."""
SLACK = BASE * (1 - CARRIED[0])
"""More than what 16 times a low half can take from 16 times the high one."""
HIGHEST = 2 ** (TOP + 3 - LIMB)
"""No high half of what is left is above this. If an operand is 0 or not finite, anything may be
left, and whatever comes of it is not the result; but it stays in these bounds."""
NEVER = 2 * BASE * HIGHEST
"""More than what says whether a step fits, of operands that have a quotient."""


@dataclass(frozen=True)
class Halves:
    high: Node
    low: Node

    @classmethod
    def of(cls, limbs: Limbs) -> Halves:
        low, middle, high = limbs
        return cls(UNIT * high + middle, low)

    def gated(self, condition: Node) -> Halves:
        graph = condition.graph
        return Halves(graph.gate(condition, self.high), graph.gate(condition, self.low))

    def plus(self, unit: int, number: Node) -> Halves:
        """The sum with as many units, which lie in one of the halves."""
        if unit >= UNIT:
            return Halves(self.high + unit // UNIT * number, self.low)
        return Halves(self.high, self.low + unit * number)


def quotient_or_root(kind: Kind, x: Unpacked, y: Unpacked) -> Magnitude:
    root = kind.takes_root
    x_highest, _ = highest_bit(x.limbs)
    y_highest, _ = highest_bit(y.limbs)
    # The exponent that x has with its highest bit as the unit; for a root it is halved, upwards.
    moved_x = x.exponent + x_highest
    half, _ = split_top(clamp(moved_x + 1, 0, 4095), 12, 11)
    is_odd = function_table(x_highest + 1, [(n + 1) % 2 for n in range(3 * LIMB + 1)])
    lower = both(root, differ(x.odd_exponent, is_odd))
    limbs, rest = divided(
        root,
        Halves.of(aligned(x.limbs, x_highest, TOP - 1, lower)),
        Halves.of(aligned(y.limbs, y_highest, TOP, 0)).gated(1 - root),
    )
    zero = root.graph.constant(0)
    exponent = select(
        root,
        half - (BIAS + A_TOP) // 2 + BIAS,
        moved_x - y.exponent - y_highest + BIAS - A_TOP + TOP,
    )
    return Magnitude((*limbs, zero, zero), exponent, rest)


def divided(root: Node, left: Halves, step: Halves) -> tuple[Limbs, Node]:
    """All digits, as limbs, and 1 if there is a rest."""
    limbs = [root.graph.constant(0)] * 3
    for place in reversed(range(DIGITS)):
        unit = BASE**place
        reached = chances(root, left, step, unit)
        digit = sum_of_steps(reached)
        # Not gated by the root: that would be a layer more.
        of_root = sum_of_steps(one - NEVER * (1 - root) for one in reached)
        left = behind(carry(left), step.plus(unit, of_root), digit)
        step = step.plus(2 * unit, of_root)
        limb, above = divmod(4 * place, LIMB)
        limbs[limb] = limbs[limb] + 2**above * digit
    one_more, rest = told(carry(left), step.plus(1, root))
    low, *higher = limbs
    return carried([low + one_more, *higher], 0, 1), rest


def chances(root: Node, left: Halves, step: Halves, unit: int) -> list[Node]:
    """As many of these numbers are not negative as steps certainly fit into what is left."""
    return [
        BASE * left.high - n * step.high - -(-n * n * unit // UNIT) * root - LOW_OF_STEP * n - SLACK
        for n in range(1, BASE + 1)
    ]


def sum_of_steps(numbers: Iterable[Node]) -> Node:
    first, *others = (at_least(number, 0) for number in numbers)
    return sum(others, first)


def carry(left: Halves) -> Halves:
    """The same number with the low half in [0, 2**24)."""
    least, most = CARRIED
    units = least + count_reached(left.low, [UNIT * n for n in range(least + 1, most)])
    return Halves(clamp(left.high, 0, HIGHEST) + units, left.low - UNIT * units)


def behind(left: Halves, step: Halves, digit: Node) -> Halves:
    graph = digit.graph
    return Halves(
        BASE * left.high - graph.gate(digit, step.high),
        BASE * copied(left.low, 0) - graph.gate(digit, step.low),
    )


def told(left: Halves, step: Halves) -> tuple[Node, Node]:
    """1 if the number is one more than the digits say; and 1 if it is still more than that."""
    # Behind the clamp the low halves cannot change the sign: the step's is below 3 units.
    past = UNIT * clamp(left.high - step.high, -5, 5) + left.low - step.low
    return at_least(past, 0), 1 - either(equals(past, 0), at_most(left.high + left.low, 0))


def aligned(limbs: Limbs, highest: Node, top: int, lower: Node | int) -> Limbs:
    """The limbs of a number whose highest bit is moved to bit `top`, or one bit lower.

    Limb n becomes the highest of them if it is 2**at or more, or one above it is not 0.
    """
    at, zero = top % LIMB, highest.graph.constant(0)
    steps = [
        at_least(limb + 2**at * sum(limbs[n + 1 :], zero), 2**at)
        for n, limb in enumerate(limbs[:-1])
    ]
    shown, _ = window(limbs, steps, LIMB * sum(steps[1:], steps[0]) + at - highest - lower)
    *others, highest_limb = shown[::-1]
    # In slots of their own, apart from what they are left of.
    return (*(minimum(limb, UNIT - 1) for limb in others), minimum(highest_limb, 2 ** (at + 1) - 1))
