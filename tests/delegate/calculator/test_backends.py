"""All backends say what the exact one says, within what float64 can."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest
import torch

from curta.delegate.calculator import Calculator
from curta.delegate.calculator.operations import TABLE
from curta.errors import CalculatorError

EXACT = Calculator()
OTHERS = ("kernel", "torch")

BY_HAND = (
    "5 % 3", "-5 % 3", "5 % -3", "-7 // 2", "7.5 % 2", "1/0", "5 % 0", "0 ** -1", "0^0", "2^-3",
    "(-8)**(1/3)", "9^9^9", "sqrt(-1)", "sqrt(2)", "cbrt(-27)", "ln(0)", "log(8, 2)", "log(5, 1)",
    "exp(1000)", "asin(2)", "atan(1)*4", "5!", "170!", "171!", "factorial(2.5)", "comb(50, 25)",
    "comb(3, 5)", "perm(10, 3)", "perm(3, 5)", "gcd(12, 18, 27)", "gcd(1.5, 2)", "lcm(4, 6, 10)",
    "min(3, 1, 2)", "max(3, 1, 2)", "sum(1, 2, 3, 4)", "mean(1, 2, 6)", "round(2.5)",
    "round(3.5)", "round(2.675, 2)", "round(1234.5, -2)", "floor(-1.5)", "ceil(-1.5)",
    "trunc(-1.5)", "sign(-3)", "20% of 80", "1 < 2", "2 <= 1", "3 == 3", "3 != 3", "2 >= 2",
    "1 > 2", "degrees(pi)", "radians(180)", "sin(1)", "cos(1)", "tan(1)", "acos(0.5)", "log2(10)",
    "log10(2)", "abs(-2.5)", "5 - 7",
)  # fmt: skip


def agree(other: object, exact: object, tolerance: float = 1e-12) -> bool:
    """Errors of one kind, the same truth, or numbers close to each other."""
    if isinstance(exact, CalculatorError) or isinstance(other, CalculatorError):
        return type(other) is type(exact)
    if isinstance(exact.value, bool):
        return other.value is exact.value
    return math.isclose(other.value, exact.value, rel_tol=tolerance, abs_tol=1e-300)


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("expression", BY_HAND)
def test_operations_mean_the_same(name: str, expression: str) -> None:
    (other,) = Calculator(name).evaluate_all([expression])
    (exact,) = EXACT.evaluate_all([expression])
    if not isinstance(exact, CalculatorError) and abs(exact.value) > 10**308:
        assert isinstance(other, CalculatorError)
    else:
        assert agree(other, exact), (other, exact)


def test_every_operation_is_tried() -> None:
    text = " ".join(BY_HAND)
    written = {"add", "subtract", "multiply", "divide", "floor_divide", "modulo", "power"}
    written |= {"negate", "percent", "less", "at_most", "greater", "at_least", "equal", "unequal"}
    assert not [one.name for one in TABLE if one.name not in written and f"{one.name}(" not in text]


def test_backends_compute_on_the_device_that_they_are_given() -> None:
    """As PyTorch calls it; those that know no devices take any."""
    assert Calculator("torch", device="cpu").evaluate("1+1").value == 2
    with pytest.raises(CalculatorError, match="device nowhere"):
        Calculator("torch", device="nowhere")
    assert Calculator("exact", device="nowhere").evaluate("1+1").value == 2


@pytest.mark.parametrize("name", OTHERS)
def test_a_device_that_there_is_not_is_told_before_the_first_expression(name: str) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(CalculatorError, match="take device cpu"):
        Calculator(name, device="cuda")


def random_expression(drawn: random.Random, depth: int = 0) -> tuple[str, Fraction | None, float]:
    """Text, value, and how far a float may be off: every operation rounds once, and passes on."""
    if depth > 2 or drawn.random() < 0.3:
        value = Fraction(drawn.randint(0, 10 ** drawn.randint(1, 6)), drawn.choice((1, 1, 10, 100)))
        return str(float(value)), value, abs(float(value)) * 2.0**-53
    (a, x, dx), (b, y, dy) = (random_expression(drawn, depth + 1) for _ in range(2))
    sign = drawn.choice("+-*/")
    text = f"({a} {sign} {b})"
    if x is None or y is None or (sign == "/" and y == 0):
        return text, None, 0.0
    value = {"+": x + y, "-": x - y, "*": x * y, "/": x / y if y else x}[sign]
    off = {
        "+": dx + dy,
        "-": dx + dy,
        "*": abs(float(x)) * dy + abs(float(y)) * dx,
        "/": (dx + abs(float(value)) * dy) / abs(float(y)) if y else 0.0,
    }[sign]
    return text, value, 1.01 * off + abs(float(value)) * 2.0**-53


def disagreements(name: str, count: int, seed: int = 0) -> tuple[int, int]:
    """How many of so many random expressions are further off than rounding explains, or refused.

    Only those count that have a value.
    """
    drawn = random.Random(seed)
    wrong = refused = 0
    for _ in range(0, count, 10_000):
        made = [random_expression(drawn) for _ in range(min(10_000, count))]
        found = Calculator(name).evaluate_all([text for text, _, _ in made])
        for (text, value, off), result in zip(made, found, strict=True):
            if value is None:
                continue
            if isinstance(result, CalculatorError):
                refused += 1  # a divisor that is nearly 0 may be 0 as a float
                continue
            wrong += abs(Fraction(result.value) - value) > Fraction(off) * 2
            assert len(text) <= 256
    return wrong, refused


def most_refused(name: str, count: int) -> int:
    """The exact calculator has a value wherever there is one, others nearly everywhere."""
    return 0 if name == "exact" else count // 1_000


@pytest.mark.parametrize("name", ["exact", *OTHERS])
def test_random_expressions_agree(name: str) -> None:
    wrong, refused = disagreements(name, 10_000)
    assert wrong == 0
    assert refused <= most_refused(name, 10_000)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["exact", *OTHERS])
def test_a_million_random_expressions_agree(name: str) -> None:
    wrong, refused = disagreements(name, 1_000_000, seed=1)
    assert wrong == 0
    assert refused <= most_refused(name, 1_000_000)


def test_a_batch_is_its_expressions_one_by_one() -> None:
    for name in OTHERS:
        calculator = Calculator(name)
        together = calculator.evaluate_all([*BY_HAND, "1 +", "x"])
        for expression, result in zip([*BY_HAND, "1 +", "x"], together, strict=True):
            (alone,) = calculator.evaluate_all([expression])
            assert agree(alone, result, 0.0)
