"""Floats: sums, products and comparisons of numbers of 64 and 32 bits, rounded to nearest even.

A significand is a whole number in *limbs* of 24 bits, so that a product of two limbs, and a limb
shifted by less than a limb, are below 2**48 and exact. A double has three (5, 24 and 24 bits, the
hidden one among them); a float of 32 bits has its 24 in the one in the middle. Either way

    number = (limb2 * 2**48 + limb1 * 2**24 + limb0) * 2**(exponent - 1075)

and subnormal numbers are no special case: their hidden bit is 0. What an operation comes to before
it is rounded is a `Magnitude` of five limbs. `rounded` looks for its highest bit, moves that to
where it belongs in a double (or as far as the smallest exponent allows), and rounds once.

Quotients and roots are found digit by digit before they are rounded (quotients.py).
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
    function_table,
    maximum,
    minimum,
    select,
)
from curta.compiler.derived import split_top
from curta.machine.float_words import FLOATS
from curta.machine.instructions import WORD
from curta.machine.parts.float_operands import (
    BIAS,
    INFINITY32,
    INFINITY64,
    Kind,
    Magnitude,
    Unpacked,
    kind_of_float,
    unpacked,
)
from curta.machine.parts.limbs import (
    LIMB,
    UNIT,
    carried,
    highest_bit,
    limb_of,
    multiplied,
    window,
)
from curta.machine.parts.operations import Sources
from curta.machine.parts.program import Fetched
from curta.machine.parts.quotients import quotient_or_root
from curta.machine.parts.words import SIGN, from_digits

LIMBS = 5
"""Of a magnitude."""
LOWER = 1023 - 127
"""So much higher is the smallest exponent of floats of 32 bits."""
QUIET64, QUIET32 = 0x0008_0000, 0x0040_0000
FARTHEST = 8 * LIMB
"""Bits moved so far are all below the last place."""


@dataclass(frozen=True)
class Floats:
    """Results, as far as they are asked for."""

    high: Node
    low: Node
    single: Node
    less: Node
    equal: Node


def float_results(found: Floats) -> dict[str, Node]:
    """What each operation on floats gives."""
    comparisons = {"lt": found.less, "le": found.less + found.equal, "eq": found.equal}

    def result(name: str) -> Node:
        operation = name.split("_")[1]
        if operation in comparisons:
            return comparisons[operation]
        if name.endswith(("_high", "_low")):
            return found.high if name.endswith("_high") else found.low
        return found.single

    return {name: result(name) for name in FLOATS}


def float_parts(now: Fetched, sources: Sources) -> Floats:
    return floats(kind_of_float(now), sources)


def floats(kind: Kind, sources: Sources) -> Floats:
    """x is a (high word) and c (low word), y is b and e; what is converted, or has a root, is x."""
    x = unpacked(kind.of_singles, sources.a, sources.c)
    y = unpacked(kind.of_singles, sources.b, sources.e)
    order = ordered(x, y)
    minus = differ(y.sign, kind.subtracts)
    strange = strange_words(kind, x, y, minus)
    added, added_sign = total(x, y, at_most(order, -1), differ(x.sign, minus), minus)
    by_digits = either(kind.divides, kind.takes_root)
    result, result_sign = merged(
        (
            (either(kind.adds, kind.subtracts), added, added_sign),
            (kind.multiplies, times(x, y), differ(x.sign, y.sign)),
            (by_digits, quotient_or_root(kind, x, y), both(kind.divides, differ(x.sign, y.sign))),
            (kind.packs, given(sources), sources.e.sign),
            (kind.converts, itself(x), x.sign),
        )
    )
    high, low, single = rounded(result, result_sign, kind.gives_single)
    return Floats(
        high=select(strange.any, strange.high, high),
        low=select(strange.any, strange.low, low),
        single=select(strange.any, strange.single, single),
        **compared(x, y, order),
    )


# -- operands -------------------------------------------------------------------------------------


def itself(x: Unpacked) -> Magnitude:
    zero = x.sign.graph.constant(0)
    return Magnitude((*x.limbs, zero, zero), x.exponent, zero)


def given(sources: Sources) -> Magnitude:
    """The number in two words that `pack` is given, and its exponent."""
    high, low = sources.a, sources.c
    zero = high.number.graph.constant(0)
    limbs = (
        from_digits(low.digits[:6]),
        from_digits(low.digits[6:]) + 256 * from_digits(high.digits[:4]),
        from_digits(high.digits[4:]),
        zero,
        zero,
    )
    return Magnitude(limbs, clamp(sources.b.signed, -4096, 4096), zero)


def merged(choices: Sequence[tuple[Node, Magnitude, Node]]) -> tuple[Magnitude, Node]:
    """That whose condition is 1, and its sign."""
    graph = choices[0][0].graph

    def chosen(*nodes: Node) -> Node:
        gates = (graph.gate(when, node) for (when, _, _), node in zip(choices, nodes, strict=True))
        return sum(gates, graph.constant(0))

    limbs = zip(*(one.limbs for _, one, _ in choices), strict=True)
    return Magnitude(
        tuple(chosen(*limb) for limb in limbs),
        chosen(*(one.exponent for _, one, _ in choices)),
        chosen(*(one.rest for _, one, _ in choices)),
    ), chosen(*(sign for _, _, sign in choices))


# -- comparison -----------------------------------------------------------------------------------


def ordered(x: Unpacked, y: Unpacked) -> Node:
    """Without the signs: above 0 if x is larger, below 0 if y is."""
    return 2 * clamp(x.high - y.high, -1, 1) + clamp(x.low - y.low, -1, 1)


def compared(x: Unpacked, y: Unpacked, order: Node) -> dict[str, Node]:
    below, above = at_most(order, -1), at_least(order, 1)
    zeros = at_most(x.high + x.low + y.high + y.low, 0)
    differs = differ(x.sign, y.sign)
    numbers = 1 - either(x.is_nan, y.is_nan)
    less = (
        both(numbers, 1 - x.sign, 1 - y.sign, below)
        + both(numbers, x.sign, y.sign, above)
        + both(numbers, x.sign, 1 - y.sign, 1 - zeros)
    )
    equal = both(numbers, 1 - below, 1 - above, 1 - differs) + both(numbers, zeros, differs)
    return {"less": less, "equal": equal}


# -- sum ------------------------------------------------------------------------------------------


def total(
    x: Unpacked, y: Unpacked, swapped: Node, opposite: Node, minus: Node
) -> tuple[Magnitude, Node]:
    """The larger one and the smaller one, which is moved to the right and added or taken away.

    `minus` is y's sign, or the other one if y is to be subtracted.
    """
    graph = swapped.graph

    def exchanged(a: Node, b: Node) -> tuple[Node, Node]:
        return select(swapped, b, a), select(swapped, a, b)

    pairs = [exchanged(*pair) for pair in zip(x.limbs, y.limbs, strict=True)]
    large, small = ([pair[n] for pair in pairs] for n in (0, 1))
    exponent, other = exchanged(x.exponent, y.exponent)
    sign, _ = exchanged(x.sign, minus)
    moved, lost = moved_right(small, exponent - other)
    sums = [
        a + b - 2 * graph.gate(opposite, b)
        for a, b in zip([graph.constant(0), *large], moved, strict=True)
    ]
    sums[0] = sums[0] - both(opposite, lost)
    limbs = carried([*sums, graph.constant(0)], -1, 1)
    # x - x is +0, -0 - 0 is -0: the sign of zero is that which both have.
    nothing = at_most(sum(limbs, lost), 0)
    return Magnitude(limbs, exponent - LIMB, lost), sign - both(nothing, opposite, sign)


def moved_right(limbs: Sequence[Node], distance: Node) -> tuple[list[Node], Node]:
    """The limbs, and one more below them; and 1 if anything is lost."""
    graph = distance.graph
    reached = [at_least(distance, LIMB * n) for n in (1, 2, 3)]
    bits = distance - LIMB * sum(reached[1:], reached[0])
    power = function_table(bits, [2 ** (LIMB - 1 - n) for n in range(LIMB)])
    widths = (2 * LIMB - 1, 2 * LIMB - 1, LIMB + 4)
    parts = [
        split_top(graph.gate(power, limb), width, width - (LIMB - 1))
        for limb, width in zip(limbs, widths, strict=True)
    ]
    above, below = [part[0] for part in parts], [2 * part[1] for part in parts]
    fine = [below[0], above[0] + below[1], above[1] + below[2], above[2]]
    places = [1 - reached[0], reached[0] - reached[1], reached[1] - reached[2]]
    moved = [
        limb_of(graph.gate(place, limb) for place, limb in zip(places, fine[n:], strict=False))
        for n in range(4)
    ]
    lost = (
        graph.gate(reached[0], fine[0])
        + graph.gate(reached[1], fine[1])
        + graph.gate(reached[2], fine[2] + fine[3])
    )
    return moved, at_least(lost, 1)


def times(x: Unpacked, y: Unpacked) -> Magnitude:
    product = carried(multiplied(x.limbs, y.limbs))
    return Magnitude(product, x.exponent + y.exponent - BIAS, x.sign.graph.constant(0))


# -- rounding -------------------------------------------------------------------------------------


def rounded(number: Magnitude, sign: Node, single: Node) -> tuple[Node, Node, Node]:
    """The double as two words, and the float of 32 bits."""
    graph = sign.graph
    highest, some = highest_bit(number.limbs)
    # The smallest exponent says how low the place of the hidden bit can be.
    least = 53 + LOWER * single
    hidden = maximum(highest, least - number.exponent)
    above_least = graph.gate(some, maximum(number.exponent + highest - least, 0))
    # A float of 32 bits ends where a double does, so its hidden bit is 29 places lower.
    place = clamp(hidden, 0, FARTHEST) + 29 * single
    steps = [at_least(place, 21 + LIMB * n) for n in range(-(-(FARTHEST + 9) // LIMB))]
    bits = LIMB * sum(steps[1:], steps[0]) + 20 - place
    (top, middle, bottom), lower = window(number.limbs, steps, bits)
    rest = at_least(sum(lower, number.rest), 1)
    high_bits, low_bits = split_top(bottom, LIMB, 7)
    odd, below = split_top(low_bits, 17, 1)
    up = at_least(2 * below + either(rest, odd), 2**16 + 1)
    # A limb in a slot of its own, apart from the products that it is what is left of.
    low = 256 * minimum(middle, UNIT - 1) + 2 * high_bits + odd + up
    carry = at_least(low, WORD)
    size64 = 2**20 * above_least + top + carry
    size32 = 2**23 * above_least + low
    finite = at_most(size64, INFINITY64 - 1)
    return (
        SIGN * sign + minimum(size64, INFINITY64),
        graph.gate(finite, low - WORD * carry),
        SIGN * sign + minimum(size32, INFINITY32),
    )


# -- infinities and NaNs --------------------------------------------------------------------------


@dataclass(frozen=True)
class Strange:
    any: Node
    high: Node
    low: Node
    single: Node


def strange_words(kind: Kind, x: Unpacked, y: Unpacked, minus: Node) -> Strange:
    """The result if an operand is infinite or no number: that NaN, or a new one, or infinity. And
    what quotients and roots are of zero, by zero, and of what is negative.
    """
    graph = minus.graph
    alone, root = either(kind.converts, kind.takes_root), kind.takes_root
    y_infinite, y_is_nan = both(1 - alone, y.infinite), both(1 - alone, y.is_nan)
    x_zero, y_zero = (at_most(one.high + one.low, 0) for one in (x, y))
    first, second = x.is_nan, both(1 - x.is_nan, y_is_nan)
    invalid = both(
        1 - first - second,
        both(either(kind.adds, kind.subtracts), x.infinite, y_infinite, differ(x.sign, minus))
        + both(kind.multiplies, either(both(x.infinite, y_zero), both(y_infinite, x_zero)))
        + both(kind.divides, either(both(x.infinite, y_infinite), both(x_zero, y_zero)))
        + both(root, x.sign, 1 - x_zero),
    )
    quiet = first + second + invalid
    is_zero = both(1 - quiet, both(kind.divides, either(x_zero, y_infinite)) + both(root, x_zero))
    finite_sign = select(
        either(kind.multiplies, kind.divides),
        differ(x.sign, y.sign),
        select(either(x.infinite, root), x.sign, minus),
    )
    sign = graph.gate(first, x.sign) + graph.gate(second, y.sign) + invalid
    sign = sign + both(1 - quiet, finite_sign)
    high, low = (
        graph.gate(first, mine) + graph.gate(second, other)
        for mine, other in zip(x.payload, y.payload, strict=True)
    )
    # Of a double's payload a float of 32 bits has what lies above the lowest 29 bits.
    eighth = count_reached(low, [2**29 * n for n in range(1, 8)])
    not_finite = both(1 - kind.packs, either(x.infinite, y_infinite))
    by_zero = both(kind.divides, either(x_zero, y_zero)) + both(root, either(x_zero, x.sign))
    return Strange(
        either(not_finite, by_zero),
        SIGN * sign + INFINITY64 * (1 - is_zero) + QUIET64 * quiet + high,
        low,
        SIGN * sign + INFINITY32 * (1 - is_zero) + QUIET32 * quiet + 8 * high + eighth,
    )
