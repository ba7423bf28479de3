"""A result says whether its text is all of it."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curta.delegate import Calculator
from curta.delegate.calculator.budget import Budget
from curta.delegate.calculator.printing import printed


@pytest.mark.parametrize(
    ("expression", "text", "exact"),
    [
        ("1e-300", "1e-300", True),
        ("1/10^120", "1e-120", True),
        ("1e-41", "1e-41", True),
        ("1e40", "1e40", True),
        ("1/3", "0.333333", False),
        ("1/3^100", "1.940325e-48", False),
    ],
)
def test_an_exponent_may_be_exact(expression: str, text: str, exact: bool) -> None:
    result = Calculator().evaluate(expression)
    assert (result.text, result.exact) == (text, exact)


@given(st.fractions(), st.integers(-200, 200))
def test_exact_is_what_the_text_is_worth(value: Fraction, power: int) -> None:
    scaled = value * Fraction(10) ** power
    text, exact = printed(scaled, Budget())
    assert exact == (Fraction(text) == scaled)
