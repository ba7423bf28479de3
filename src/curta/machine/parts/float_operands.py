"""Operands of operations on floats, and what an operation comes to before it is rounded."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from curta.compiler import (
    Node,
    at_least,
    both,
    clamp,
    count_reached,
    differ,
    function_table,
    minimum,
    select,
)
from curta.machine.float_words import FLOATS
from curta.machine.parts.limbs import LIMB, Limbs
from curta.machine.parts.program import Fetched
from curta.machine.parts.words import SIGN, Word, from_digits

BIAS = 1075
"""An exponent field of this says that the last place of a double is 1."""
MOVED = 1023 - 127 + 29 - LIMB
"""What makes the exponent field of a float of 32 bits an exponent of ours."""
INFINITY64, INFINITY32 = 0x7FF0_0000, 0x7F80_0000


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
    divides: Node
    takes_root: Node
    packs: Node
    converts: Node
    """The result is the operand, rounded."""


@dataclass(frozen=True)
class Unpacked:
    """An operand."""

    sign: Node
    exponent: Node
    odd_exponent: Node
    limbs: Limbs
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

    limbs: Limbs
    exponent: Node
    rest: Node
    """1 if bits were left out that are lower than all limbs."""


def kind_of_float(now: Fetched) -> Kind:
    names = set(FLOATS)
    singles = [f"f32_{name}" for name in ("add", "sub", "mul", "div", "sqrt")]

    def any_of(*parts: str) -> Node:
        found = sorted(name for name in names if any(part in name for part in parts))
        return now.is_any(*found)

    return Kind(
        of_singles=any_of(*singles, "f32_lt", "f32_le", "f32_eq", "promote"),
        gives_single=any_of(*singles, "f32_pack", "demote"),
        adds=any_of("_add"),
        subtracts=any_of("_sub"),
        multiplies=any_of("_mul"),
        divides=any_of("_div"),
        takes_root=any_of("_sqrt"),
        packs=any_of("_pack"),
        converts=any_of("promote", "demote"),
    )


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
    odd = select(single, eighth, function_table(d[5], [n % 2 for n in range(16)]))
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
        odd_exponent=differ(odd + 1 - normal, single),
        limbs=limbs,
        high=magnitude,
        low=bottom,
        infinite=at_least(away, 0),
        is_nan=at_least(beyond, 1),
        payload=payload,
    )
