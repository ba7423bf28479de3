"""What the compiled programs say, beside Python's integers and fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from random import Random

import pytest

pytest.importorskip("transformers")

from curta.delegate.data.draw import Draw
from curta.errors import UndefinedError
from curta.hybrid.unit.arithmetic import Arithmetic, Operation, expected
from curta.hybrid.unit.numbers import Number, numbers_in
from curta.hybrid.unit.questions import number_text

ARITHMETIC = Arithmetic()
LENGTHS = range(1, 21)


def number(text: str) -> Number:
    (span,) = numbers_in(text)
    return span.number


@pytest.mark.parametrize("operation", Operation)
def test_integers_of_all_lengths(operation: Operation) -> None:
    drawn = Random(operation.name)
    for digits, others in zip(LENGTHS, drawn.sample(LENGTHS, len(LENGTHS)), strict=True):
        a, b = (drawn.choice([-1, 1]) * Draw(drawn).number(length) for length in (digits, others))
        said = ARITHMETIC.compute(operation, number(str(a)), number(str(b)))
        if operation is Operation.DIVISION:
            assert abs(Fraction(said) - Fraction(a, b)) <= Fraction(1, 2 * 10**6)
        else:
            exact = {"+": a + b, "-": a - b, "*": a * b}[operation.value]
            assert int(said) == exact


@pytest.mark.parametrize("seed", range(60))
def test_decimals_signs_and_rounding(seed: int) -> None:
    draw = Draw(Random(seed))
    a, b = number(number_text(draw)), number(number_text(draw, zero=False))
    for operation, places in product(Operation, (None, draw.between(0, 9))):
        said = ARITHMETIC.compute(operation, a, b, places)
        assert said == expected(operation, a, b, places), f"{a} {operation.value} {b}, {places}"


DIVISIONS = {
    ("1", "4", None): "0.25",
    ("1", "3", None): "0.333333",
    ("-2", "3", None): "-0.666667",
    ("1", "128", None): "0.0078125",
    ("2", "30000", None): "0.0000666667",
    ("10", "4", 0): "3",
    ("-10", "4", 0): "-3",
    ("1", "8", 2): "0.13",
    ("1", "3", 10): "0.3333333333",
    ("0", "-7", None): "0",
    ("0.5", "0.25", None): "2",
    ("1", "1000", 2): "0",
}


@pytest.mark.parametrize(("a", "b", "places"), DIVISIONS)
def test_how_quotients_are_said(a: str, b: str, places: int | None) -> None:
    said = ARITHMETIC.compute(Operation.DIVISION, number(a), number(b), places)
    assert said == expected(Operation.DIVISION, number(a), number(b), places)
    assert said == DIVISIONS[a, b, places]


def test_nothing_is_divided_by_zero() -> None:
    with pytest.raises(UndefinedError, match="1 / 0"):
        ARITHMETIC.compute(Operation.DIVISION, number("1"), number("0.00"))


@pytest.mark.slow
@pytest.mark.parametrize("level", ["plain", "hull", "evaluate"])
def test_all_levels_say_the_same(level: str) -> None:
    other = Arithmetic(level)  # type: ignore[arg-type]
    for operation in Operation:
        a, b = number("12.5"), number("-7")
        assert other.compute(operation, a, b) == ARITHMETIC.compute(operation, a, b)
