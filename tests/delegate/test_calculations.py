"""Which calculations of a text are checked, and what comes of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curta.delegate.calculations import calculations
from curta.delegate.data.templates import example, templates


def wrong(text: str) -> list[str]:
    return [found.expression for found in calculations(text) if not found.right]


@pytest.mark.parametrize(
    "text",
    [
        "12 * 7 = 84",
        "So 12 * 7 = 84.",
        "12 × 7 = 84, and 84 ÷ 2 = 42",
        r"12 \times 7 = 84",
        "12x7=84",
        "12 apples * 7 = 84 apples",
        "$5 * 3 = $15",
        "1,200 + 34 = 1,234",
        "20% of 80 = 16",
        "5 / 20 = 25%",
        "0.25 * 100 = 25%",
        "2 / 3 = 0.67",
        "2/3 = 0.666667",
        "100 / 3 = 33.33",
        "2 + 3 = 5 + 4 = 9",
        "10 - 2 = 4 + 4",
        "(2 + 3) * 4 = 20",
        "He has 3 left (12 * 7 = 84).",
        "- 12 * 7 = 84",
        "1. 12 * 7 = 84",
        "I had 5. 3 + 4 = 7",
        "7 - 12 = -5",
        "2^10 = 1024 and 2**3 = 8",
        "<<calc: 12*7>> = 84 eggs",
        "<<calc: 10^30/7>> = 1.428571e29",
        "<<calc: 1/(3*10^9)>> = 3.333333e-10",
        "<<calc:12*7>> = 84.",
        "He has <<calc: 2+3>> = 5 + 4 = 9",
        "48/2 = <<calc: 48/2>> = 24",
        "20/60 = 1/3 of an hour",
        "So round(35 / 495, 4) = 0.0707",
        "2 * sqrt(16) = 8 and sqrt(16) * 2 = 8",
        "max(2, (3 + 4) * 2) = 14",
    ],
)
def test_right_calculations(text: str) -> None:
    assert list(calculations(text)), "nothing was read"
    assert wrong(text) == []


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("12 * 7 = 83", "12 * 7"),
        ("12 * 7 = 83.", "12 * 7"),
        ("That is 12 apples * 7 = 83 apples", "12 * 7"),
        ("2 / 3 = 0.66", "2 / 3"),
        ("7 / 2 = 3", "7 / 2"),
        ("2 + 3 = 6 + 4 = 10", "2 + 3"),
        ("2 + 3 = 5 + 4 = 10", "5 + 4"),
        ("<<calc: 12*7>> = 83", "12*7"),
        ("He has <<calc: 2+3>> = 5 + 4 = 10", "5 + 4"),
        ("$5 * 3 = $16", "$5 * 3"),
        ("5 / 20 = 26%", "5 / 20"),
        ("(12 * 7 = 83)", "12 * 7"),
        ("comb(7, 4) = 36", "comb(7, 4)"),
        ("2 * sqrt(16) = 9", "2 * sqrt(16)"),
        ("- 12 * 7 = -84", "12 * 7"),
    ],
)
def test_wrong_calculations(text: str, expression: str) -> None:
    assert wrong(text) == [expression]


@pytest.mark.parametrize(
    "text",
    [
        "x = 5",
        "5 = 5",
        "3 x + 2 = 8",
        "3y + 2 = 8",
        "x - 12 * 7 = 3",
        "2 * 3 = 6 * x",
        "12:30 + 1:15 = 13:45",
        "5 hours + 30 minutes = 330 minutes",
        "miles / 2 = 5",
        "f(3 + 4) = 8",
        "<<calc: 1/0>> = error: undefined",
        "<<calc: 3 > 2>> = true",
        "<<calc: 12*7",
        "2 + = 5",
        "x2 + 3 = 7",
        "80 000 * 2 = 160 000",
    ],
)
def test_what_is_not_checked(text: str) -> None:
    assert list(calculations(text)) == []


def test_answers_of_templates_state_nothing_wrong() -> None:
    for template in templates():
        for number in range(3):
            one = example(template, 5, number, (1, 4))
            assert wrong(one.answer) == [], one
            assert wrong(one.inline) == [], one


@given(st.integers(-999, 999), st.integers(1, 999), st.integers(-3, 3))
def test_a_sum_is_right_only_if_it_is(a: int, b: int, off: int) -> None:
    assert (wrong(f"Then {a} + {b} = {a + b + off}!") == []) == (off == 0)


@given(st.text(alphabet="0123456789.+-*/= ()x$%,abof\n<calc:>", max_size=80))
def test_any_text_is_read(text: str) -> None:
    assert all(found.expression for found in calculations(text))


@pytest.mark.parametrize(
    "piece",
    [
        "12 red apples + ",
        "1 apple + ",
        "ab ab ab",
        "3 red apples * 2 green pears - ",
        "(",
        "1+",
        "9 ab cd ef ",
        "max(",
        "1 - ",
        "1 of ",
        "(1+(2*",
        "1)",
        "-(",
    ],
)
def test_a_model_that_repeats_itself_is_read_to_the_end(piece: str) -> None:
    assert list(calculations(piece * 1_000)) == []
