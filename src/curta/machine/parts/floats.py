"""Floats: sums, products and comparisons of numbers of 64 and 32 bits, rounded to nearest even.

A significand is a whole number in *limbs* of 24 bits, so that a product of two limbs, and a limb
shifted by less than a limb, are below 2**48 and exact. A double has three (5, 24 and 24 bits, the
hidden one among them); a float of 32 bits has its 24 in the one in the middle. Either way

    number = (limb2 * 2**48 + limb1 * 2**24 + limb0) * 2**(exponent - 1075)

and subnormal numbers are no special case: their hidden bit is 0. What an operation comes to before
it is rounded is a `Magnitude` of five limbs. `rounded` looks for its highest bit, moves that to
where it belongs in a double (or as far as the smallest exponent allows), and rounds once.

A shift by d = 24 q + r is one product with a power of two for each limb, which is split at 24 bits,
and a choice of limbs by q.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

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
from curta.machine.parts.operations import Sources
from curta.machine.parts.program import Fetched
from curta.machine.parts.words import SIGN, Word, from_digits

LIMB = 24
LIMBS = 5
"""Of a magnitude."""
UNIT = 1 << LIMB
BIAS = 1075
"""An exponent field of this says that the last place of a double is 1."""
MOVED = 1023 - 127 + 29 - LIMB
"""What makes the exponent field of a float of 32 bits an exponent of ours."""
LOWER = 1023 - 127
"""So much higher is the smallest exponent of floats of 32 bits."""
INFINITY64, INFINITY32 = 0x7FF0_0000, 0x7F80_0000
QUIET64, QUIET32 = 0x0008_0000, 0x0040_0000
FARTHEST = 8 * LIMB
"""Bits moved so far are all below the last place."""


@dataclass(frozen=True)
class Kind:
    """What the instruction is about: each 1 or 0."""

    of_singles: Node
    """Its operands are floats of 32 bits."""
    gives_single: Node
    """Its result is one."""
    adds: Node
    subtracts: Node
    multiplies: Node
    packs: Node
    converts: Node
    """The result is the operand, rounded."""


@dataclass(frozen=True)
class Unpacked:
    """An operand."""

    sign: Node
    exponent: Node
    limbs: tuple[Node, ...]
    """The lowest first."""
    high: Node
    """The high word without its sign."""
    low: Node
    infinite: Node
    """1 if it is infinite or no number."""
    is_nan: Node
    payload: tuple[Node, Node]
    """What a quiet NaN says beside being one, as the words of a double."""


@dataclass(frozen=True)
class Magnitude:
    """limbs * 2**(exponent - 1075), and a little more if there is a rest."""

    limbs: tuple[Node, ...]
    exponent: Node
    rest: Node
    """1 if bits were left out that are lower than all limbs."""


@dataclass(frozen=True)
class Floats:
    """Results, as far as they are asked for."""

    high: Node
    low: Node
    single: Node
    less: Node
    equal: Node


def kind_of_float(now: Fetched) -> Kind:
    names = set(FLOATS)

    def any_of(*parts: str) -> Node:
        found = sorted(name for name in names if any(part in name for part in parts))
        return now.is_any(*found)

    return Kind(
        of_singles=any_of("f32_add", "f32_sub", "f32_mul", "f32_lt", "f32_le", "f32_eq", "promote"),
        gives_single=any_of("f32_add", "f32_sub", "f32_mul", "f32_pack", "demote"),
        adds=any_of("_add"),
        subtracts=any_of("_sub"),
        multiplies=any_of("_mul"),
        packs=any_of("_pack"),
        converts=any_of("promote", "demote"),
    )


def float_results(now: Fetched, sources: Sources) -> dict[str, Node]:
    """What each operation on floats gives."""
    found = floats(kind_of_float(now), sources)
    comparisons = {"lt": found.less, "le": found.less + found.equal, "eq": found.equal}

    def result(name: str) -> Node:
        operation = name.split("_")[1]
        if operation in comparisons:
            return comparisons[operation]
        if name.endswith(("_high", "_low")):
            return found.high if name.endswith("_high") else found.low
        return found.single

    return {name: result(name) for name in FLOATS}


def floats(kind: Kind, sources: Sources) -> Floats:
    """x is a (high word) and c (low word), y is b and e; what is converted is x."""
    x = unpacked(kind.of_singles, sources.a, sources.c)
    y = unpacked(kind.of_singles, sources.b, sources.e)
    order = ordered(x, y)
    minus = differ(y.sign, kind.subtracts)
    added, added_sign = total(x, y, at_most(order, -1), differ(x.sign, minus), minus)
    result, result_sign = merged(
        (
            (either(kind.adds, kind.subtracts), added, added_sign),
            (kind.multiplies, times(x, y), differ(x.sign, y.sign)),
            (kind.packs, given(sources), sources.e.sign),
            (kind.converts, itself(x), x.sign),
        )
    )
    high, low, single = rounded(result, result_sign, kind.gives_single)
    strange = strange_words(kind, x, y, minus)
    return Floats(
        high=select(strange.any, strange.high, high),
        low=select(strange.any, strange.low, low),
        single=select(strange.any, strange.single, single),
        **compared(x, y, order),
    )


# -- operands -------------------------------------------------------------------------------------


def unpacked(single: Node, high: Word, low: Word) -> Unpacked:
    graph = high.number.graph
    double = 1 - single
    d = high.digits
    bottom = graph.gate(double, low.number)
    top7 = d[7] - 8 * high.sign
    field64 = d[5] + 16 * d[6] + 256 * top7
    eighth = at_least(d[5], 8)
    field32 = eighth + 2 * d[6] + 32 * top7
    field = select(single, field32, field64)
    normal = at_least(field, 1)
    tail = from_digits(d[:4])
    middle = select(
        single,
        from_digits(d[:5]) + 16**5 * (d[5] - 8 * eighth) + 2**23 * normal,
        from_digits(low.digits[6:]) + 256 * tail,
    )
    limbs = (
        graph.gate(double, from_digits(low.digits[:6])),
        middle,
        graph.gate(double, d[4]) + 16 * both(double, normal),
    )
    magnitude = high.number - SIGN * high.sign
    away = magnitude - INFINITY64 - (INFINITY32 - INFINITY64) * single
    beyond = 2 * clamp(away, -1, 1) + minimum(bottom, 1)
    quarter = count_reached(d[5], (4, 8, 12))
    first3 = d[0] - 8 * at_least(d[0], 8)
    tail32 = from_digits(d[:5]) + 16**5 * (d[5] - 4 * quarter)
    payload = (
        select(
            single,
            (tail32 - first3) * Fraction(1, 8),
            tail + 16**4 * (d[4] - 8 * at_least(d[4], 8)),
        ),
        select(single, 2**29 * first3, low.number),
    )
    return Unpacked(
        sign=high.sign,
        exponent=field + 1 - normal + MOVED * single,
        limbs=limbs,
        high=magnitude,
        low=bottom,
        infinite=at_least(away, 0),
        is_nan=at_least(beyond, 1),
        payload=payload,
    )


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
    limbs = carried([*sums, graph.constant(0)], borrows=True)
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


def limb_of(parts: Iterable[Node]) -> Node:
    """A sum of which at most one part is not 0: a limb, and the clamp lets the compiler know."""
    first, *others = parts
    return clamp(sum(others, first), 0, UNIT - 1)


def carried(limbs: Sequence[Node], borrows: bool = False) -> tuple[Node, ...]:
    """The same number, each limb but the highest in [0, 2**24)."""
    found, carry = [], limbs[0].graph.constant(0)
    for limb in limbs[:-1]:
        here = limb + carry
        carry = count_reached(here, [UNIT, 2 * UNIT])
        if borrows:
            carry = at_least(here, UNIT) - at_most(here, -1)
        found.append(here - UNIT * carry)
    return (*found, limbs[-1] + carry)


# -- product --------------------------------------------------------------------------------------


def times(x: Unpacked, y: Unpacked) -> Magnitude:
    graph = x.sign.graph
    columns = [
        sum(
            (graph.gate(y.limbs[place - n], x.limbs[n]) for n in range(3) if 0 <= place - n < 3),
            graph.constant(0),
        )
        for place in range(LIMBS)
    ]
    bits = (2 * LIMB, 2 * LIMB + 1, 2 * LIMB + 1, LIMB + 6)
    parts = [
        split_top(column, width, width - LIMB) for column, width in zip(columns, bits, strict=False)
    ]
    above, below = [part[0] for part in parts], [part[1] for part in parts]
    sums = [below[0], *(below[n] + above[n - 1] for n in (1, 2, 3)), columns[4] + above[3]]
    return Magnitude(carried(sums), x.exponent + y.exponent - BIAS, graph.constant(0))


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
    (top, middle, bottom), rest = window(number, place)
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


def highest_bit(limbs: Sequence[Node]) -> tuple[Node, Node]:
    """The place of the highest bit, counted from 0; and whether there is one."""
    graph = limbs[0].graph
    reached = [at_least(sum(limbs[n + 1 :], limbs[n]), 1) for n in range(LIMBS)]
    first = [here - there for here, there in zip(reached, [*reached[1:], 0], strict=True)]
    leading = sum(
        (graph.gate(here, limb) for here, limb in zip(first, limbs, strict=True)),
        graph.constant(0),
    )
    length = count_reached(leading, [2**n for n in range(LIMB)])
    return LIMB * sum(reached[2:], reached[1]) + length - 1, reached[0]


def window(number: Magnitude, place: Node) -> tuple[tuple[Node, ...], Node]:
    """Three limbs, the highest first: bit `place` of the number is bit 20 of the first of them.
    And whether there is more below.
    """
    graph = place.graph
    farthest = FARTHEST + 29
    steps = [at_least(place, 21 + LIMB * n) for n in range(-(-(farthest - 20) // LIMB))]
    # That limb of the number is the highest whose bits go there.
    limb = [a - b for a, b in zip([graph.constant(1), *steps], [*steps, 0], strict=True)]
    bits = LIMB * sum(steps[1:], steps[0]) + 20 - place
    power = function_table(bits, [2**n for n in range(LIMB)])

    def from_top(distance: int) -> Node:
        pairs = zip(limb[distance:], number.limbs, strict=False)
        return limb_of(graph.gate(here, part) for here, part in pairs)

    chosen = [graph.gate(power, from_top(distance)) for distance in range(4)]
    parts = [split_top(one, 2 * LIMB - 1, LIMB - 1) for one in chosen[1:]]
    above, below = [part[0] for part in parts], [part[1] for part in parts]
    # What lies at least four limbs lower.
    lower = sum(
        (graph.gate(step, part) for step, part in zip(steps[3:], number.limbs, strict=False)),
        number.rest,
    )
    shown = (chosen[0] + above[0], below[0] + above[1], below[1] + above[2])
    return shown, at_least(below[2] + lower, 1)


# -- infinities and NaNs --------------------------------------------------------------------------


@dataclass(frozen=True)
class Strange:
    any: Node
    high: Node
    low: Node
    single: Node


def strange_words(kind: Kind, x: Unpacked, y: Unpacked, minus: Node) -> Strange:
    """The result if an operand is infinite or no number: that NaN, or a new one, or infinity."""
    graph = minus.graph
    pairs = 1 - kind.converts
    y_infinite, y_is_nan = both(pairs, y.infinite), both(pairs, y.is_nan)
    any_strange = both(1 - kind.packs, either(x.infinite, y_infinite))
    nothing = [at_most(one.high + one.low, 0) for one in (x, y)]
    no_sum = both(1 - kind.multiplies, x.infinite, y_infinite, differ(x.sign, minus))
    no_product = both(
        kind.multiplies, either(both(x.infinite, nothing[1]), both(y_infinite, nothing[0]))
    )
    first, second = x.is_nan, both(1 - x.is_nan, y_is_nan)
    invalid = both(1 - first - second, no_sum + no_product)
    infinite_sign = select(
        kind.multiplies, differ(x.sign, y.sign), select(x.infinite, x.sign, minus)
    )
    sign = graph.gate(first, x.sign) + graph.gate(second, y.sign) + invalid
    sign = sign + both(1 - first - second - invalid, infinite_sign)
    quiet = first + second + invalid
    high, low = (
        graph.gate(first, mine) + graph.gate(second, other)
        for mine, other in zip(x.payload, y.payload, strict=True)
    )
    # Of a double's payload a float of 32 bits has what lies above the lowest 29 bits.
    eighth = count_reached(low, [2**29 * n for n in range(1, 8)])
    return Strange(
        any_strange,
        SIGN * sign + INFINITY64 + QUIET64 * quiet + high,
        low,
        SIGN * sign + INFINITY32 + QUIET32 * quiet + 8 * high + eighth,
    )
