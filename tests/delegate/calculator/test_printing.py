"""A result says whether its text is all of it."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from curta.delegate import Calculator
from curta.delegate.calculator.budget import Budget
from curta.delegate.calculator.printing import approximate, of_float, printed


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


def by_whole_numbers(value: Fraction) -> tuple[str, bool]:
    """What a rounded result says, from so many units of its last place."""
    power = next(n for n in range(-200, 200) if abs(value) < Fraction(10) ** (n + 1))
    is_plain = -6 <= power < 21
    places = 6 - (min(power + 1, 0) if is_plain else power)
    units = round(value * Fraction(10) ** places)
    digits, sign = str(abs(units)), "-" * (units < 0)
    if is_plain:
        digits = digits.zfill(places + 1)
        text = f"{digits[:-places]}.{digits[-places:]}".rstrip("0").rstrip(".")
    else:
        text = f"{digits[0]}.{digits[1:]}".rstrip("0").rstrip(".") + f"e{len(digits) - 1 - places}"
    return sign + text, units == value * Fraction(10) ** places


near_to_powers_of_ten = st.builds(
    lambda power, sign, parts: sign * Fraction(10) ** power * (1 + Fraction(parts, 10**7)),
    st.integers(-9, 23),
    st.sampled_from((1, -1)),
    st.integers(-20, 20),
)


@given(st.fractions().filter(bool) | near_to_powers_of_ten, st.integers(-60, 60))
@example(Fraction(1, 128), 0)
@example(Fraction(3, 128), 0)
@example(Fraction(-3, 128), -6)
def test_what_is_rounded_is_so_as_whole_numbers_are(value: Fraction, power: int) -> None:
    for each in (value, value * Fraction(2) ** power):
        assert approximate(*each.as_integer_ratio()) == by_whole_numbers(each)


@given(st.floats(1e-300, 1e300) | st.integers(1, 10**9).map(lambda number: number / 10**6))
def test_what_a_float_is_rounded_to_is_what_is_near_to_it(number: float) -> None:
    if text := of_float(number):
        for beyond in (Fraction(-4, 9), Fraction(0), Fraction(4, 9)):
            near = Fraction(number) + beyond * Fraction(math.ulp(number))
            assert approximate(*near.as_integer_ratio())[0] == text
            assert approximate(-near.numerator, near.denominator)[0] == of_float(-number)


@given(st.fractions(), st.integers(-200, 200))
def test_exact_is_what_the_text_is_worth(value: Fraction, power: int) -> None:
    scaled = value * Fraction(10) ** power
    text, exact = printed(scaled, Budget())
    assert exact == (Fraction(text) == scaled)
