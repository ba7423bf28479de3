"""Products: of floats, with the products of words as unknowns (float_products.py); of 64-bit words.

Zeros, infinities and NaNs among the operands are proved beside z3's theory at once.
"""

from __future__ import annotations

import pytest

pytest.importorskip("z3")
import z3
from float_products import Products, normalized, rounded_product
from library import arithmetic, claim_of, operand_words, prove_function
from proving import prove
from settled import CaseExecutor
from specifications import FORMATS, Format, Meaning, meaning
from webassembly import Executor
from words import Exact, low_word

NAMES = {"f32.mul": "f32"}
"""Of f64.mul and f64.square, z3 finds no answer in minutes where the product is 2 or more."""


def field_of(form: Format, bits: z3.BitVecRef) -> z3.BitVecRef:
    return z3.Extract(form.width - 2, form.fraction, bits)


def fraction_of(form: Format, bits: z3.BitVecRef) -> z3.BitVecRef:
    return z3.Extract(form.fraction - 1, 0, bits)


def kind_of(form: Format, bits: z3.BitVecRef, subnormal: bool) -> z3.BoolRef:
    """Nonzero and finite; subnormal or not."""
    field = field_of(form, bits)
    if subnormal:
        return z3.And(field == 0, fraction_of(form, bits) != 0)
    return z3.And(field != 0, z3.Not(form.has_top_exponent(bits)))


@pytest.mark.slow
@pytest.mark.parametrize("subnormal", [(0, 0), (0, 1), (1, 0), (1, 1)], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_product_of_floats(name: str, subnormal: tuple[int, int]) -> None:
    kind = NAMES[name]
    form = FORMATS[kind]
    arguments, (a, b) = operand_words((kind, kind))
    x, y = (normalized(form, bits, bool(s)) for bits, s in zip((a, b), subnormal, strict=True))
    assumed = [kind_of(form, bits, bool(s)) for bits, s in zip((a, b), subnormal, strict=True)]
    words = Products(form, x, y, *assumed)
    executor = CaseExecutor(arithmetic(), words)
    results = executor.run(name, arguments)
    intended = Meaning(rounded_product(form, x, y, words.exact()))
    prove(claim_of(executor, results, intended), *assumed, *words.facts, seconds=280)


def is_special(form: Format, bits: z3.BitVecRef) -> z3.BoolRef:
    """Zero, infinity or NaN."""
    magnitude = z3.Extract(form.width - 2, 0, bits)
    return z3.Or(form.has_top_exponent(bits), magnitude == 0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", FORMATS)
def test_product_with_zero_infinity_or_nan(kind: str) -> None:
    name = f"{kind}.mul"
    _, operands = operand_words((kind, kind))
    special = z3.Or([is_special(FORMATS[kind], bits) for bits in operands])
    prove_function(name, (kind, kind), special)


@pytest.mark.slow
def test_square_of_zero_infinity_or_nan() -> None:
    arguments, (a,) = operand_words(("f64",))
    executor = Executor(arithmetic())
    results = executor.run("f64.square", arguments)
    special = is_special(FORMATS["f64"], a)
    prove(claim_of(executor, results, meaning("f64.mul", a, a)), special)


def test_product_of_wide_integers() -> None:
    """(p + W q)(r + W s) = p r + W (p s + q r) modulo W^2, and of that only low words count."""
    (al, ah, bl, bh), _ = operand_words(("i64", "i64"))
    words = Exact()
    low, high = Executor(arithmetic()).run("i64.mul", [al, ah, bl, bh])
    prove(low == al * bl)
    prove(high == words.mul_high(al, bl) + al * bh + ah * bl)
    p, q, r, s = z3.BitVecs("p q r s", 64)
    base = 1 << 32
    difference = (p + base * q) * (r + base * s) - (p * r + base * (p * s + q * r))
    assert z3.simplify(difference, som=True).eq(z3.BitVecVal(0, 64))
    u, v = z3.BitVecs("u v", 64)
    prove(low_word(u + v) == low_word(u) + low_word(v))


@pytest.mark.slow
def test_low_word_of_a_product() -> None:
    """The low word of the product of low words, all that the claim above needs besides."""
    u, v = z3.BitVecs("u v", 64)
    prove(low_word(u * v) == low_word(u) * low_word(v))


def test_specification_of_special_products_has_nans() -> None:
    """The NaN of 0 * infinity is the one that x86-64 gives."""
    zero, infinity = z3.BitVecVal(0, 32), z3.BitVecVal(0x7F800000, 32)
    prove(meaning("f32.mul", zero, infinity).result == 0xFFC00000)
