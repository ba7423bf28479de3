"""The product of 64-bit words in the library, from products of words of 32 bits."""

from __future__ import annotations

import pytest

pytest.importorskip("z3")
import z3

from tests.machine.theorems.library import arithmetic, operand_words
from tests.machine.theorems.proving import prove
from tests.machine.theorems.webassembly import Executor
from tests.machine.theorems.words import Exact, low_word


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
