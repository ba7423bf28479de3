"""The same attacks on every backend: the same errors, and neighbours in a batch are unharmed."""

from __future__ import annotations

import math
from functools import cache

import pytest

from curta.delegate.calculator import Calculator
from curta.delegate.calculator.backends import NAMES
from curta.delegate.calculator.calculator import Result
from curta.errors import CalculatorError, TooLargeError, UndecidedError, UndefinedError
from tests.delegate.calculator.test_attacks import ATTACKS, CASES

MULTIPLES = (
    "lcm(10**200+1, 7**236, 3**420, 5**287, 7**237, 11**193, 13**180, 17**163, 19**157, 23**147, 7)"
)
"""Far too long before the last one."""

FURTHER: dict[str, int | type[CalculatorError]] = {
    "1e308*10*10": 10**310,
    MULTIPLES: TooLargeError,
    "gcd(10**400, 6)": 2,
    "9" * 200 + "e300": (10**200 - 1) * 10**300,
    "-" + "9" * 200 + "e300": (1 - 10**200) * 10**300,
    "comb(10**15, 5*10**14)": TooLargeError,
    "perm(10**15, 10**14)": TooLargeError,
    "asin(10**400)": UndefinedError,
    "cosh(1)": CalculatorError,
    "log(0, 0)": UndefinedError,
    "0^(-1/2)": UndefinedError,
    "(0/1)//(0/5)": UndefinedError,
}
"""Beyond float64, or near it."""

INEXACT = {
    "exp(1000)", "sqrt(2)**9999", "exp(-1000)", "sqrt(2)**-9999", "pi/10**308/10**308",
    "radians(exp(-745))", "exp(10**300)", "exp(-10**300)", "2**(pi*10**300)", "tan(pi/2)",
    "5 // exp(-10^9)", "5 % exp(-10^11)",
    *ATTACKS[UndecidedError],
}  # fmt: skip
"""What the machine leaves, as it is no rational."""

SHOWN = {
    "0.1+0.2": 0.3, "2.50": 2.5, "-0": 0, "1,234+5": 1239, "2^10": 1024, "50%": 0.5,
    "20% of 80": 16, "0777": 777, "$5*2": 10, "3x4": 12, "1e308*10/100": 1e307,
}  # fmt: skip


@cache
def answered(name: str) -> dict[str, Result | CalculatorError]:
    """What a backend says of all attacks in one batch, with something harmless between them."""
    attacks = [text for text, _ in CASES] + list(FURTHER)
    texts = [text for attack in attacks for text in (attack, "1+1")]
    return dict(zip(texts, Calculator(name).evaluate_all(texts), strict=True))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("text", "kind"), CASES, ids=lambda case: repr(case)[:40])
def test_an_attack_ends_in_the_same_error(
    name: str, text: str, kind: type[CalculatorError]
) -> None:
    found = answered(name)[text]
    if name == "machine" and text in INEXACT:
        assert type(found) is CalculatorError
    else:
        assert type(found) is kind


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", FURTHER)
def test_further_attacks_end_too(name: str, text: str) -> None:
    found = answered(name)[text]
    expected = FURTHER[text]
    if name == "machine" and text in INEXACT:
        assert type(found) is CalculatorError
    elif isinstance(expected, int):
        assert found.value == expected
    else:
        assert isinstance(found, expected)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_beside_an_attack_is_unharmed(name: str) -> None:
    assert answered(name)["1+1"].value == 2
    texts = ["1+1", "9**9**9", "1/0", MULTIPLES, "2+2"]
    first, *_, last = Calculator(name).evaluate_all(texts)
    assert (first.value, last.value) == (2, 4)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_ever_infinite(name: str) -> None:
    for found in answered(name).values():
        if isinstance(found, Result):
            assert abs(found.value) < math.inf


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", SHOWN)
def test_sugar_means_the_same(name: str, text: str) -> None:
    (found,) = Calculator(name).evaluate_all([text])
    assert found.value == pytest.approx(SHOWN[text], rel=1e-15)
    assert found.text == f"{SHOWN[text]:.6g}" or abs(found.value) > 1e6
