"""The functions of the float unit (parts/floats.py, quotients.py and what they are made of) run on
terms of bit vectors in place of nodes.

A `Number` is a signed term of 64 bits and the interval it lies in. Sums and gates are those of the
graph; `select`, `split_top` and what else is made of them stand here as what they mean, which
test_derived_meanings proves of their nodes. So the code of the unit itself is run, and what it
comes to in one case (a distance of exponents, a leading place: then powers are numbers, and splits
are extracts) is a term. Where a meaning holds in a range only, that the number lies there is a
debt, to be proved with the claim.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import pytest
import z3

from curta.machine.parts import float_operands, floats, limbs, quotients
from curta.machine.parts.float_operands import Kind, Unpacked
from curta.machine.parts.limbs import LIMB
from curta.machine.parts.operations import Sources
from curta.machine.parts.words import Word
from tests.machine.theorems.proving import prove

WIDTH = 64
LONG = 192
"""Bits that whole magnitudes have room in."""
Bits = z3.BitVecRef


@dataclass
class Terms:
    """What nodes take for their graph."""

    debts: list[z3.BoolRef] = field(default_factory=list)
    products: dict[tuple[str, str], Number] = field(default_factory=dict)
    """Of two unknowns: unknowns themselves, of which bounds are known."""
    facts: list[z3.BoolRef] = field(default_factory=list)

    def constant(self, value: int) -> Number:
        return Number(self, z3.BitVecVal(value, WIDTH), value, value)

    def node(self, value: Number | int) -> Number:
        return value if isinstance(value, Number) else self.constant(value)

    def given(self, bits: Bits, low: int = 0, high: int | None = None) -> Number:
        """A number that is not negative, of so many bits."""
        most = (1 << bits.size()) - 1 if high is None else high
        return Number(self, z3.ZeroExt(WIDTH - bits.size(), bits), low, most)

    def signed(self, name: str, low: int, high: int) -> Number:
        """An unknown within these bounds."""
        term = z3.BitVec(name, WIDTH)
        self.facts += [term >= low, term <= high]
        return Number(self, term, low, high)

    def truth(self, condition: z3.BoolRef) -> Number:
        condition = z3.simplify(condition)
        if z3.is_true(condition) or z3.is_false(condition):
            return self.constant(int(z3.is_true(condition)))
        one, nothing = z3.BitVecVal(1, WIDTH), z3.BitVecVal(0, WIDTH)
        return Number(self, z3.If(condition, one, nothing), 0, 1)

    def gate(self, condition: Number | int, value: Number | int) -> Number:
        """relu(condition) * value; of a condition that is 0 or 1, and of a number, no product."""
        condition, value = relu(self.node(condition)), self.node(value)
        if condition.is_known:
            return value * condition.low
        if value.is_known:
            return condition * value.low
        if condition.high <= 1:
            zero = z3.BitVecVal(0, WIDTH)
            term = z3.If(condition.bits == 1, value.bits, zero)
            return Number(self, term, min(value.low, 0), max(value.high, 0))
        return self.product(condition, value)

    def product(self, a: Number, b: Number) -> Number:
        assert min(a.low, b.low) >= 0
        first, second = sorted(z3.simplify(factor.bits).sexpr() for factor in (a, b))
        key = first, second
        if key not in self.products:
            found = self.signed(f"product {len(self.products)}", 0, a.high * b.high)
            self.products[key] = found
        return self.products[key]


@dataclass(frozen=True, eq=False)
class Number:
    graph: Terms
    bits: Bits
    low: int
    high: int

    def __post_init__(self) -> None:
        assert -(1 << WIDTH - 2) < self.low <= self.high < 1 << WIDTH - 2

    @property
    def is_known(self) -> bool:
        return self.low == self.high

    def __add__(self, other: Number | int) -> Number:
        other = self.graph.node(other)
        low, high = self.low + other.low, self.high + other.high
        return made(self.graph, self.bits + other.bits, low, high)

    __radd__ = __add__

    def __neg__(self) -> Number:
        return self * -1

    def __sub__(self, other: Number | int) -> Number:
        return self + self.graph.node(other) * -1

    def __rsub__(self, other: int) -> Number:
        return self * -1 + other

    def __mul__(self, by: int | Fraction) -> Number:
        if isinstance(by, Fraction):
            shift = by.denominator.bit_length() - 1
            assert by.numerator == 1
            self.graph.debts.append(self.bits & by.denominator - 1 == 0)
            return Number(self.graph, self.bits >> shift, self.low >> shift, self.high >> shift)
        low, high = sorted((self.low * by, self.high * by))
        return made(self.graph, self.bits * by, low, high)

    __rmul__ = __mul__


def made(graph: Terms, bits: Bits, low: int, high: int) -> Number:
    """A number, if it is one."""
    known = low == high
    return Number(graph, z3.BitVecVal(low, WIDTH) if known else z3.simplify(bits), low, high)


# -- what the functions of derived.py mean --------------------------------------------------------


def relu(x: Number) -> Number:
    if x.low >= 0:
        return x
    if x.high <= 0:
        return x.graph.constant(0)
    return Number(x.graph, z3.If(x.bits > 0, x.bits, z3.BitVecVal(0, WIDTH)), 0, x.high)


def at_least(x: Number, place: int) -> Number:
    if x.low >= place or x.high < place:
        return x.graph.constant(int(x.low >= place))
    return x.graph.truth(x.bits >= place)


def at_most(x: Number, place: int) -> Number:
    return 1 - at_least(x, place + 1)


def equals(x: Number, place: int) -> Number:
    return at_least(x, place) - at_least(x, place + 1)


def both(*conditions: Number) -> Number:
    graph = conditions[0].graph
    if any(one.is_known and one.low == 0 for one in conditions):
        return graph.constant(0)
    return graph.truth(z3.And([one.bits == 1 for one in conditions]))


def either(*conditions: Number) -> Number:
    return 1 - both(*(1 - one for one in conditions))


def differ(a: Number, b: Number) -> Number:
    return a.graph.truth(a.bits != b.bits)


def clamp(x: Number, low: int, high: int) -> Number:
    return minimum(maximum(x, low), high)


def maximum(a: Number | int, b: Number | int) -> Number:
    a, b = both_numbers(a, b)
    if a.low >= b.high or b.low >= a.high:
        return a if a.low >= b.high else b
    term = z3.If(a.bits >= b.bits, a.bits, b.bits)
    return Number(a.graph, term, max(a.low, b.low), max(a.high, b.high))


def minimum(a: Number | int, b: Number | int) -> Number:
    a, b = both_numbers(a, b)
    if a.high <= b.low or b.high <= a.low:
        return a if a.high <= b.low else b
    term = z3.If(a.bits <= b.bits, a.bits, b.bits)
    return Number(a.graph, term, min(a.low, b.low), min(a.high, b.high))


def both_numbers(a: Number | int, b: Number | int) -> tuple[Number, Number]:
    graph = next(one.graph for one in (a, b) if isinstance(one, Number))
    return graph.node(a), graph.node(b)


def select(condition: Number, then: Number | int, otherwise: Number | int) -> Number:
    then, otherwise = condition.graph.node(then), condition.graph.node(otherwise)
    if condition.is_known:
        return then if condition.low == 1 else otherwise
    low, high = min(then.low, otherwise.low), max(then.high, otherwise.high)
    return made(then.graph, z3.If(condition.bits == 1, then.bits, otherwise.bits), low, high)


def count_reached(x: Number, thresholds: Iterable[int]) -> Number:
    """Of thresholds that stand in order."""
    found = x.graph.constant(0)
    for count, threshold in enumerate(thresholds, 1):
        found = select(at_least(x, threshold), x.graph.constant(count), found)
    return found


def function_table(x: Number, values: Sequence[int]) -> Number:
    """The value at a place, or at the nearest one that there is."""
    first, last = (min(max(place, 0), len(values) - 1) for place in (x.low, x.high))
    found = x.graph.constant(values[first])
    for place in range(first + 1, last + 1):
        found = select(at_least(x, place), values[place], found)
    return found


def split_top(x: Number, bits: int, top: int) -> tuple[Number, Number]:
    """Both parts, of a number that has to be in range."""
    shift = bits - top
    if not (x.low >= 0 and x.high < 1 << bits):
        x.graph.debts.append(z3.And(x.bits >= 0, x.bits < 1 << bits))
    mask = (1 << shift) - 1
    above = made(x.graph, z3.LShR(x.bits, shift), 0, min((1 << top) - 1, max(x.high, 0) >> shift))
    return above, made(x.graph, x.bits & mask, 0, min(mask, max(x.high, 0)))


MEANINGS = {
    one.__name__: one
    for one in (
        *(at_least, at_most, equals, both, either, differ, clamp, maximum, minimum, select),
        *(count_reached, function_table, split_top),
    )
}
UNIT_MODULES = (floats, float_operands, limbs, quotients)
assert set(MEANINGS) == set(MEANINGS) & {name for one in UNIT_MODULES for name in vars(one)}


def replace_everywhere(monkeypatch: pytest.MonkeyPatch, name: str, by: object) -> None:
    """In all parts of the unit that use it."""
    for module in UNIT_MODULES:
        if hasattr(module, name):
            monkeypatch.setattr(module, name, by)


def use_meanings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, intended in MEANINGS.items():
        replace_everywhere(monkeypatch, name, intended)


# -- words ----------------------------------------------------------------------------------------


def word_of(graph: Terms, bits: Bits) -> Word:
    digits = tuple(graph.given(z3.Extract(4 * n + 3, 4 * n, bits)) for n in range(8))
    sign = graph.given(z3.Extract(31, 31, bits))
    return Word(graph.given(bits), digits, sign)  # type: ignore[arg-type]


def sources_of(graph: Terms, a: Bits, b: Bits, c: Bits, e: Bits) -> Sources:
    return Sources(*(word_of(graph, word) for word in (a, b, c, e)))


def joined(high: Number, low: Number) -> Bits:
    """The pattern that two words are."""
    return z3.Concat(word(high), word(low))


def word(number: Number) -> Bits:
    number.graph.debts.append(z3.LShR(number.bits, 32) == 0)
    return z3.Extract(31, 0, number.bits)


# -- claims ---------------------------------------------------------------------------------------


def kind(graph: Terms, *names: str) -> Kind:
    return Kind(**{name: graph.constant(int(name in names)) for name in Kind.__dataclass_fields__})  # type: ignore[arg-type]


def prove_with_debts(graph: Terms, claim: z3.BoolRef, *assumed: z3.BoolRef) -> None:
    """One after the other: each is small."""
    claims = claim.children() if z3.is_and(claim) else [claim]
    for one in [*claims, *graph.debts]:
        prove(one, *assumed, *graph.facts)


def long(bits: Bits) -> Bits:
    return z3.ZeroExt(LONG - bits.size(), bits)


def value(limbs: Sequence[Number]) -> Bits:
    """Of numbers that are shown to be limbs (`are_limbs`)."""
    return long(z3.Concat(*[z3.Extract(LIMB - 1, 0, limb.bits) for limb in reversed(limbs)]))


def are_limbs(limbs: tuple[Number, ...]) -> z3.BoolRef:
    return z3.And([z3.ULT(limb.bits, 1 << LIMB) for limb in limbs])


def of_bits(graph: Terms, name: str, *sizes: int) -> tuple[Number, ...]:
    """Unknown limbs of so many bits."""
    return tuple(graph.given(z3.BitVec(f"{name}{n}", size)) for n, size in enumerate(sizes))


def as_bits(truth: z3.BoolRef, width: int = LONG) -> Bits:
    """1 or 0."""
    return z3.If(truth, z3.BitVecVal(1, width), z3.BitVecVal(0, width))


def operand(limbs: tuple[Number, ...], exponent: Number, sign: Number) -> Unpacked:
    nothing = sign.graph.constant(0)
    return Unpacked(sign, exponent, nothing, limbs, *[nothing] * 4, (nothing, nothing))  # type: ignore[arg-type]


def operands(of: str) -> tuple[Terms, list[Bits], tuple[Bits, Bits]]:
    """Words a, b, c, e; and the two floats that they are."""
    graph, words = Terms(), [z3.BitVec(name, 32) for name in "abce"]
    a, b, c, e = words
    return graph, words, (a, b) if of == "f32" else (z3.Concat(a, c), z3.Concat(b, e))
