"""Whole numbers in limbs of 24 bits, the lowest first.

A product of two limbs, and a limb shifted by less than a limb, are below 2**48 and exact. A shift
by d = 24 q + r is one product with a power of two for each limb, which is split at 24 bits, and a
choice of limbs by q.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from curta.compiler import Node, at_most, clamp, count_reached, function_table
from curta.compiler.derived import split_top

LIMB = 24
UNIT = 1 << LIMB
Limbs = tuple[Node, ...]


def limb_of(parts: Iterable[Node]) -> Node:
    """A sum of which at most one part is not 0: a limb, and the clamp lets the compiler know."""
    first, *others = parts
    return clamp(sum(others, first), 0, UNIT - 1)


def carried(limbs: Sequence[Node], least: int = 0, most: int = 2) -> Limbs:
    """The same number, each limb but the highest in [0, 2**24), if carries are in these bounds."""
    found, carry = [], limbs[0].graph.constant(0)
    for limb in limbs[:-1]:
        here = limb + carry
        carry = least + count_reached(here, [UNIT * n for n in range(least + 1, most + 1)])
        found.append(here - UNIT * carry)
    return (*found, limbs[-1] + carry)


def multiplied(a: Sequence[Node], b: Sequence[Node]) -> list[Node]:
    """The product of two significands, in five limbs that are to be carried."""
    graph = a[0].graph
    columns = [
        sum(
            (graph.gate(b[place - n], a[n]) for n in range(3) if 0 <= place - n < 3),
            graph.constant(0),
        )
        for place in range(5)
    ]
    bits = (2 * LIMB, 2 * LIMB + 1, 2 * LIMB + 1, LIMB + 6)
    parts = [
        split_top(column, width, width - LIMB) for column, width in zip(columns, bits, strict=False)
    ]
    above, below = [part[0] for part in parts], [part[1] for part in parts]
    return [below[0], *(below[n] + above[n - 1] for n in (1, 2, 3)), columns[4] + above[3]]


def highest_bit(limbs: Sequence[Node]) -> tuple[Node, Node]:
    """The place of the highest bit, counted from 0; and whether there is one."""
    graph = limbs[0].graph
    reached = [1 - at_most(sum(limbs[n + 1 :], limbs[n]), 0) for n in range(len(limbs))]
    first = [here - there for here, there in zip(reached, [*reached[1:], 0], strict=True)]
    leading = limb_of(graph.gate(here, limb) for here, limb in zip(first, limbs, strict=True))
    length = count_reached(leading, [2**n for n in range(LIMB)])
    below = sum((LIMB * n * here for n, here in enumerate(first)), graph.constant(0))
    return below + length - 1, reached[0]


def window(
    limbs: Sequence[Node], steps: Sequence[Node], bits: Node
) -> tuple[Limbs, tuple[Node, Node]]:
    """Three limbs of a number, the highest first: the first of them is that limb whose number is
    how many of `steps`, of which each implies the one before, are 1; and shifted by 0 to 24 bits to
    the left. And two numbers that are 0 if there is nothing more below.
    """
    graph = bits.graph
    zero = graph.constant(0)
    limb = [a - b for a, b in zip([graph.constant(1), *steps], [*steps, 0], strict=True)]
    power = function_table(bits, [2**n for n in range(LIMB + 1)])

    def from_top(distance: int) -> Node:
        pairs = list(zip(limb[distance:], limbs, strict=False))
        return limb_of(graph.gate(here, part) for here, part in pairs) if pairs else zero

    chosen = [graph.gate(power, from_top(distance)) for distance in range(4)]
    parts = [split_top(one, 2 * LIMB, LIMB) for one in chosen[1:]]
    above, below = [part[0] for part in parts], [part[1] for part in parts]
    # What lies at least four limbs lower.
    deeper = (graph.gate(step, part) for step, part in zip(steps[3:], limbs, strict=False))
    shown = (chosen[0] + above[0], below[0] + above[1], below[1] + above[2])
    return shown, (below[2], sum(deeper, zero))
