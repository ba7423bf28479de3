"""Operations built from the five kinds of node. All expect integers unless they say otherwise.

[x >= k]      = relu(x - k + 1) - relu(x - k)
[x == k]      = relu(x - k + 1) - 2 relu(x - k) + relu(x - k - 1)
a * b         = relu(b) a - relu(-b) a
c ? a : b     = relu(c) a + relu(1 - c) b            (c is 0 or 1)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from curta.compiler.graph import Graph, Node, listed
from curta.dyadic import Number, exact, integer, short
from curta.errors import GraphError

Value = object
"""A node, or a number; at least one operand of every operation is a node."""


def graph_of(*values: object) -> Graph:
    """The graph of the first node among the values."""
    for value in values:
        if isinstance(value, Node):
            return value.graph
    raise GraphError(
        f"expected at least one node, got {', '.join(map(short, values)) or 'nothing'}; "
        "constants alone belong to no graph"
    )


def relu(x: Node) -> Node:
    """The larger of x and 0."""
    return graph_of(x).gate(x, 1)


def at_least(x: Value, bound: Value) -> Node:
    """1 if x >= bound, else 0."""
    above = difference(x, bound)
    return relu(above + 1) - relu(above)


def at_most(x: Value, bound: Value) -> Node:
    """1 if x <= bound, else 0."""
    return at_least(bound, x)


def equals(x: Value, other: Value) -> Node:
    """1 if x == other, else 0."""
    away = difference(x, other)
    return relu(away + 1) - 2 * relu(away) + relu(away - 1)


def difference(a: Value, b: Value) -> Node:
    """a - b, where either may be a number."""
    graph = graph_of(a, b)
    return graph.node(a) - graph.node(b)


def product(a: Value, b: Value) -> Node:
    """a * b, for any dyadic values; b decides the gates, so make it the narrower one."""
    graph = graph_of(a, b)
    return graph.gate(b, a) - graph.gate(-graph.node(b), a)


def select(condition: Value, then: Value, otherwise: Value) -> Node:
    """`then` where the condition is 1, `otherwise` where it is 0."""
    graph = graph_of(condition, then, otherwise)
    return graph.gate(condition, then) + graph.gate(1 - graph.node(condition), otherwise)


def invert(condition: Node) -> Node:
    """1 - condition."""
    return 1 - graph_of(condition).node(condition)


def both(*conditions: Value) -> Node:
    """1 if all of the conditions are 1."""
    graph = graph_of(*conditions)
    return relu(sum(map(graph.node, conditions), graph.constant(1 - len(conditions))))


def either(*conditions: Value) -> Node:
    """1 if any of the conditions is 1."""
    graph = graph_of(*conditions)
    return 1 - both(*(1 - graph.node(condition) for condition in conditions))


def differ(a: Value, b: Value) -> Node:
    """1 if exactly one of two conditions is 1."""
    graph = graph_of(a, b)
    return graph.node(a) + graph.node(b) - 2 * both(a, b)


def absolute(x: Node) -> Node:
    """The distance of x from 0."""
    return relu(x) + relu(-x)


def maximum(a: Value, b: Value) -> Node:
    """The larger of a and b."""
    return relu(difference(a, b)) + b


def minimum(a: Value, b: Value) -> Node:
    """The smaller of a and b."""
    return b - relu(difference(b, a))


def clamp(x: Node, low: object, high: object) -> Node:
    """x, moved into [low, high]."""
    if exact(low) > exact(high):
        raise GraphError(f"clamp to [{low}, {high}]: the interval is empty")
    return relu(difference(x, low)) - relu(difference(x, high)) + low


def copied(x: Node, least: object) -> Node:
    """x, which has to be at least so much, in a slot apart from those that it is the sum of."""
    return x.graph.piecewise(x, [(least, 1)]) + least


def function_table(x: Node, values: Iterable[object] | Mapping[int, object]) -> Node:
    """values[x] for the integers that `values` covers: a piecewise linear function of x.

    Between two neighbouring keys the function is a straight line, so its bends, one relu each,
    are all that it costs. Outside of the keys it goes on as a constant.
    """
    first, bends = bends_of(values)
    return sum((weight * relu(x - place) for place, weight in bends), graph_of(x).constant(first))


def large_table(x: Node, values: Iterable[object] | Mapping[int, object]) -> Node:
    """The same as one node, for thousands of values: nothing is ever known of single bends.

    Tables of the same x that stand in the same layer share its hidden units.
    """
    first, bends = bends_of(values)
    return graph_of(x).piecewise(x, bends) + first


def bends_of(
    values: Iterable[object] | Mapping[int, object],
) -> tuple[Number, list[tuple[int, Number]]]:
    """The first value; where the lines between neighbours meet, and how their slopes differ."""
    given = values.items() if isinstance(values, Mapping) else enumerate(listed(values, "values"))
    table = {integer(key, "key"): exact(value) for key, value in given}
    keys = sorted(table)
    if not keys:
        raise GraphError("function_table needs a value for at least one integer")
    if keys[-1] - keys[0] >= len(keys):
        raise GraphError(f"function_table needs a value for every integer {keys[0]}..{keys[-1]}")
    bends: list[tuple[int, Number]] = []
    slope: Number = 0
    for key in keys:
        following = table[key + 1] - table[key] if key < keys[-1] else 0
        if following != slope:
            bends.append((key, following - slope))
            slope = following
    return table[keys[0]], bends


def count_reached(x: Node, thresholds: Iterable[object]) -> Node:
    """How many of the thresholds x has reached."""
    steps = (at_least(x, threshold) for threshold in listed(thresholds, "thresholds"))
    return sum(steps, graph_of(x).constant(0))


STAGE_BITS = 5
"""A layer splits off this many bits at once: 2**5 - 1 steps, two gates each; fewer of numbers so
large that the gates would not be added up exactly in one slot.
"""


def split_top(x: Node, bits: int, top: int) -> tuple[Node, Node]:
    """(x // 2**(bits-top), x mod 2**(bits-top)) for x in [0, 2**bits), a few bits a layer."""
    quotient, remainder, left = x.graph.constant(0), x, bits
    while top > 0:
        taken = min(top, STAGE_BITS, x.graph.arithmetic.mantissa_bits - left)
        left, top = left - taken, top - taken
        unit = 1 << left
        digit = count_reached(remainder, [unit * j for j in range(1, 1 << taken)])
        quotient = quotient * (1 << taken) + digit
        remainder = remainder - unit * digit
    return quotient, remainder


MOST_STEPS = 2**16
"""More steps than this in one table are a mistake: every step is two gates."""


def remainder_of(x: Node, modulus: int, largest: int) -> Node:
    """x mod modulus for x in [0, largest]."""
    return x - modulus * quotient_of(x, modulus, largest)


def quotient_of(x: Node, divisor: int, largest: int) -> Node:
    """x // divisor for x in [0, largest]."""
    divisor, largest = integer(divisor, "divisor"), integer(largest, "largest")
    if divisor < 1 or largest < 0:
        raise GraphError(
            f"dividing 0..{short(largest)} by {short(divisor)}: the divisor must be at least 1, "
            "the largest number at least 0"
        )
    if largest // divisor > MOST_STEPS:
        raise GraphError(
            f"dividing 0..{short(largest)} by {divisor} takes more than {MOST_STEPS:,} steps, two "
            "gates each; divide by several smaller divisors in a row, or say the digits with "
            "emit_quotient"
        )
    return count_reached(x, range(divisor, largest + 1, divisor))


# -- looking back ---------------------------------------------------------------------------------


def at_position(position: Value, value: Value) -> Node:
    """The value that an earlier position (or this one) had."""
    graph = graph_of(position, value)
    return graph.lookup(query=position, key=graph.position, value=value, missing="stop")


def back(distance: int, value: Node, default: float = 0) -> Node:
    """The value `distance` positions ago; the default before the beginning."""
    if integer(distance, "distance") < 0:
        raise GraphError(f"back({short(distance)}): no position can see what comes after it")
    graph = graph_of(value)
    return graph.lookup(
        query=graph.position - distance, key=graph.position, value=value, missing=default
    )
