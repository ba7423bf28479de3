"""Products of floats from products of words that stand for themselves.

A circuit for 53 by 53 bits is out of reach, and not needed: the library multiplies words and adds
what comes out. With x and y the significands, their leading bits at the top of 32 or 64 bits, cut
into words, the four (of f32 one) products of words are unknown; all that is said of them are
their bounds and which of their lowest bits are 0. Their sum, each in its place, is x times y by
the distributive law. IEEE's product is that number, rounded: a float of a format that has room for
all its bits, which z3's theory converts. So what is proved holds for whatever the products of words
are, and `mul` and `mul_high` of words have their own proofs.
"""

from __future__ import annotations

from dataclasses import dataclass

import z3
from settled import Settled
from specifications import NEAREST, Format
from words import Word, high_word, leading_zeros, low_word


@dataclass(frozen=True)
class Normalized:
    """A nonzero finite float: its significand, leading bit at the top; a signed exponent."""

    sign: z3.BitVecRef
    exponent: z3.BitVecRef
    significand: z3.BitVecRef


EXPONENT_BITS = 16


def normalized(form: Format, bits: z3.BitVecRef, subnormal: bool) -> Normalized:
    """In 32 bits (f32) or 64 (f64); the case says whether it is subnormal."""
    width, up = form.width, form.exponent
    field = z3.Extract(form.width - 2, form.fraction, bits)
    fraction = z3.Extract(form.fraction - 1, 0, bits)
    sign = z3.Extract(width - 1, width - 1, bits)
    if not subnormal:
        leading = z3.Concat(z3.BitVecVal(1, 1), fraction, z3.BitVecVal(0, up))
        return Normalized(sign, z3.ZeroExt(EXPONENT_BITS - form.exponent, field), leading)
    wide = z3.ZeroExt(width - form.fraction, fraction)
    zeros = leading_zeros(wide)
    exponent = word_of(form.exponent + 1, EXPONENT_BITS) - resized(zeros, EXPONENT_BITS)
    return Normalized(sign, exponent, wide << zeros)


def word_of(value: int, width: int) -> z3.BitVecRef:
    return z3.BitVecVal(value, width)


def resized(bits: z3.BitVecRef, width: int) -> z3.BitVecRef:
    if bits.size() >= width:
        return z3.Extract(width - 1, 0, bits)
    return z3.ZeroExt(width - bits.size(), bits)


def halves(significand: z3.BitVecRef) -> list[Word]:
    """Words, the low one first."""
    size = significand.size()
    return [z3.Extract(at + 31, at, significand) for at in range(0, size, 32)]


class Products(Settled):
    """Words whose products are unknown where they are those of significands."""

    def __init__(
        self, form: Format, x: Normalized, y: Normalized, *assumptions: z3.BoolRef
    ) -> None:
        super().__init__(*assumptions)
        self.form = form
        self.facts: list[z3.BoolRef] = []
        self.parts: dict[tuple[int, int], z3.BitVecRef] = {}
        self.factors = halves(x.significand), halves(y.significand)
        same = x.significand.eq(y.significand)
        for i in range(len(self.factors[0])):
            for j in range(len(self.factors[1])):
                mirrored = same and (j, i) in self.parts
                self.parts[i, j] = self.parts[j, i] if mirrored else self.unknown(i, j)
        self.asked: dict[tuple[int, int], z3.BitVecRef] = {}

    def unknown(self, i: int, j: int) -> z3.BitVecRef:
        """Of words i and j: what is known of that product."""
        product = z3.BitVec(f"product {i} {j}", 64)
        last = len(self.factors[0]) - 1
        zeros = self.form.exponent if 0 in (i, j) else 0
        zeros += self.form.exponent if i == j == 0 else 0
        most = [(1 << 32) - (1 << self.form.exponent if place == 0 else 1) for place in (i, j)]
        self.facts.append(z3.ULE(product, most[0] * most[1]))
        if i == j == last:
            self.facts.append(z3.UGE(product, 1 << 62))
        if zeros:
            self.facts.append(z3.Extract(zeros - 1, 0, product) == 0)
        return product

    def exact(self) -> z3.BitVecRef:
        """The product of the significands."""
        width = 64 * len(self.factors[0])
        total = z3.BitVecVal(0, width)
        for (i, j), part in self.parts.items():
            total += resized(part, width) << 32 * (i + j)
        return total

    def product(self, a: Word, b: Word) -> z3.BitVecRef:
        key = (a.get_id(), b.get_id())
        if key not in self.asked:
            self.asked[key] = self.found(a, b)
        return self.asked[key]

    def found(self, a: Word, b: Word) -> z3.BitVecRef:
        """The unknown product of words of the significands, or one of nothing that is known."""
        for (i, j), part in self.parts.items():
            x, y = self.factors[0][i], self.factors[1][j]
            if self.always(z3.And(a == x, b == y)) or self.always(z3.And(a == y, b == x)):
                return part
            for one, other in ((a, b), (b, a)):  # f32.mul's second factor is not shifted up
                if self.always(z3.And(one == x, other == z3.LShR(y, 8))):
                    return z3.LShR(part, 8)
        return z3.FreshConst(z3.BitVecSort(64), "any")

    def always(self, claim: z3.BoolRef) -> bool:
        return bool(self.solver.check(z3.Not(claim)) == z3.unsat)

    def mul(self, a: Word, b: Word) -> Word:
        return low_word(self.product(a, b))

    def mul_high(self, a: Word, b: Word) -> Word:
        return high_word(self.product(a, b))


def rounded_product(
    form: Format, x: Normalized, y: Normalized, exact: z3.BitVecRef
) -> z3.BitVecRef:
    """The float nearest to the product, by way of a format that has room for all of it."""
    size = exact.size()
    bias = (1 << form.exponent - 1) - 1
    roomy = z3.FPSort(EXPONENT_BITS, size)
    leads = z3.Extract(size - 1, size - 1, exact) == 1
    fraction = z3.If(
        leads,
        z3.Extract(size - 2, 0, exact),
        z3.Concat(z3.Extract(size - 3, 0, exact), z3.BitVecVal(0, 1)),
    )
    roomy_bias = (1 << EXPONENT_BITS - 1) - 1
    exponent = x.exponent + y.exponent + (roomy_bias - 2 * bias)
    exponent = exponent + z3.If(leads, word_of(1, EXPONENT_BITS), word_of(0, EXPONENT_BITS))
    number = z3.fpFP(x.sign ^ y.sign, exponent, fraction)
    assert number.sort() == roomy
    return form.bits(z3.fpFPToFP(NEAREST, number, form.sort))
