"""Operations built from the five kinds of node. All expect integers unless they say otherwise.

[x >= k]      = relu(x - k + 1) - relu(x - k)
[x == k]      = relu(x - k + 1) - 2 relu(x - k) + relu(x - k - 1)
a * b         = relu(b) a - relu(-b) a
c ? a : b     = relu(c) a + relu(1 - c) b            (c is 0 or 1)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from curta.compiler.graph import Graph, Node
from curta.errors import GraphError


def graph_of(*values: object) -> Graph:
    """The graph of the first node among the values."""
    for value in values:
        if isinstance(value, Node):
            return value.graph
    raise GraphError("expected at least one node; constants alone belong to no graph")


def relu(x: Node) -> Node:
    """The larger of x and 0."""
    return x.graph.gate(x, 1)


def at_least(x: Node, bound: object) -> Node:
    """1 if x >= bound, else 0."""
    above = x - x.graph.node(bound)
    return relu(above + 1) - relu(above)


def at_most(x: Node, bound: object) -> Node:
    """1 if x <= bound, else 0."""
    return at_least(-x, -x.graph.node(bound))


def equals(x: Node, other: object) -> Node:
    """1 if x == other, else 0."""
    away = x - x.graph.node(other)
    return relu(away + 1) - 2 * relu(away) + relu(away - 1)


def product(a: Node, b: Node) -> Node:
    """a * b, for any dyadic values; b decides the gates, so make it the narrower one."""
    return a.graph.gate(b, a) - a.graph.gate(-b, a)


def select(condition: Node, then: object, otherwise: object) -> Node:
    """`then` where the condition is 1, `otherwise` where it is 0."""
    graph = condition.graph
    return graph.gate(condition, then) + graph.gate(1 - condition, otherwise)


def invert(condition: Node) -> Node:
    """1 - condition."""
    return 1 - condition


def both(*conditions: Node) -> Node:
    """1 if all of the conditions are 1."""
    return relu(sum(conditions[1:], conditions[0]) - (len(conditions) - 1))


def either(*conditions: Node) -> Node:
    """1 if any of the conditions is 1."""
    return 1 - both(*(1 - condition for condition in conditions))


def differ(a: Node, b: Node) -> Node:
    """1 if exactly one of two conditions is 1."""
    return a + b - 2 * both(a, b)


def absolute(x: Node) -> Node:
    """The distance of x from 0."""
    return relu(x) + relu(-x)


def maximum(a: Node, b: object) -> Node:
    """The larger of a and b."""
    other = a.graph.node(b)
    return other + relu(a - other)


def minimum(a: Node, b: object) -> Node:
    """The smaller of a and b."""
    other = a.graph.node(b)
    return other - relu(other - a)


def clamp(x: Node, low: int, high: int) -> Node:
    """x, moved into [low, high]."""
    return low + relu(x - low) - relu(x - high)


def function_table(x: Node, values: Sequence[int] | Mapping[int, int]) -> Node:
    """values[x] for the integers that `values` covers: a piecewise linear function of x.

    Between two neighbouring keys the function is a straight line, so its bends, one relu each,
    are all that it costs. Outside of the keys it goes on as a constant.
    """
    table = dict(enumerate(values)) if isinstance(values, Sequence) else dict(values)
    keys = sorted(table)
    if keys != list(range(keys[0], keys[-1] + 1)):
        raise GraphError(f"function_table needs a value for every integer {keys[0]}..{keys[-1]}")
    result = x.graph.constant(table[keys[0]])
    slope = 0
    for key in keys[:-1]:
        new = table[key + 1] - table[key]
        if new != slope:
            result = result + (new - slope) * relu(x - key)
            slope = new
    return result - slope * relu(x - keys[-1]) if slope else result


def count_reached(x: Node, thresholds: Sequence[int]) -> Node:
    """How many of the thresholds x has reached."""
    return sum((at_least(x, threshold) for threshold in thresholds), x.graph.constant(0))


STAGE_BITS = 5
"""A layer splits off this many bits at once: 2**5 - 1 steps, two gates each."""


def split_top(x: Node, bits: int, top: int) -> tuple[Node, Node]:
    """(x // 2**(bits-top), x mod 2**(bits-top)) for x in [0, 2**bits), a few bits a layer."""
    quotient, remainder, left = x.graph.constant(0), x, bits
    while top > 0:
        taken = min(top, STAGE_BITS)
        left, top = left - taken, top - taken
        unit = 1 << left
        digit = count_reached(remainder, [unit * j for j in range(1, 1 << taken)])
        quotient = quotient * (1 << taken) + digit
        remainder = remainder - unit * digit
    return quotient, remainder


def remainder_of(x: Node, modulus: int, largest: int) -> Node:
    """x mod modulus for x in [0, largest]."""
    return x - modulus * count_reached(x, range(modulus, largest + 1, modulus))


def quotient_of(x: Node, divisor: int, largest: int) -> Node:
    """x // divisor for x in [0, largest]."""
    return count_reached(x, range(divisor, largest + 1, divisor))


# -- looking back ---------------------------------------------------------------------------------


def at_position(position: Node, value: object) -> Node:
    """The value that an earlier position (or this one) had."""
    graph = position.graph
    return graph.lookup(query=position, key=graph.position, value=value, missing="stop")


def back(distance: int, value: Node, default: int = 0) -> Node:
    """The value `distance` positions ago; the default before the beginning."""
    graph = value.graph
    return graph.lookup(
        query=graph.position - distance, key=graph.position, value=value, missing=default
    )
