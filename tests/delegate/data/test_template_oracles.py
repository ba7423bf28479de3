"""What a question asks, worked out from its words by other means than the template's."""

from __future__ import annotations

import calendar
import math
import re
import statistics
from collections.abc import Callable
from datetime import date, timedelta
from fractions import Fraction

import pytest

from curta.delegate.data.templates import example, templates

BY_NAME = {template.name: template for template in templates()}
DRAWS = 300
DAYS = list(calendar.day_name)
MONTHS = list(calendar.month_name)


def letters(text: str) -> int:
    return sum(map(str.isalpha, text))


def cents(amount: Fraction) -> Fraction:
    return Fraction(round(amount * 100), 100)


def money(text: str) -> Fraction:
    return Fraction(text.replace(",", ""))


def days_between(month: str, day: str, other_month: str, other_day: str) -> int:
    begin = date(2023, MONTHS.index(month), int(day))
    return (date(2023, MONTHS.index(other_month), int(other_day)) - begin).days


def weekday_after(days: str, name: str) -> str:
    monday = date(2024, 1, 1)
    return DAYS[(monday + timedelta(DAYS.index(name) + int(days))).weekday()]


def clock(minutes: int) -> str:
    hours, rest = divmod(minutes % 1440, 60)
    return f"{hours}:{rest:02d}"


def digits_of_pages(last: str) -> int:
    return len("".join(map(str, range(1, int(last) + 1))))


def score(word: str, vowel: str, other: str) -> int:
    return sum(int(vowel if letter in "aeiou" else other) for letter in word)


def mean_length(text: str) -> Fraction:
    return cents(Fraction(letters(text), len(text.split())))


ORACLES: tuple[tuple[str, str, Callable[..., object]], ...] = (
    ("arithmetic/sum_of_three", r"Total of (\d+), (\d+) and (\d+)\?", lambda *n: sum(map(int, n))),
    ("arithmetic/remainder", r"(\d+) mod (\d+)", lambda a, b: int(a) - int(b) * (int(a) // int(b))),
    (
        "arithmetic/difference_of_products",
        r"Take the product of (\d+) and (\d+) from the product of (\d+) and (\d+)\.",
        lambda a, b, c, d: int(c) * int(d) - int(a) * int(b),
    ),
    ("time/days_between_dates", r"Days from (\w+) (\d+) to (\w+) (\d+) \(not", days_between),
    ("time/days_within_a_month", r"are there from \w+ (\d+) through \w+ (\d+)\?",
     lambda a, b: int(b) - int(a) + 1),
    ("time/weekday_later", r"Which weekday comes ([\d,]+) days after a (\w+)\?", weekday_after),
    ("time/night_hours", r"From (\d+):(\d+) to (\d+):(\d+), past midnight",
     lambda h, m, k, n: (int(k) - int(h)) * 60 + int(n) - int(m) + 1440),
    ("time/next_time_together",
     r"leave together at (\d+):(\d+)\. One goes every (\d+) minutes, the other every (\d+)\.",
     lambda h, m, a, b: clock(int(h) * 60 + int(m) + math.lcm(int(a), int(b)))),
    ("finance/discount", r"What is .([\d.]+) after an? (\d+)% discount",
     lambda cost, off: cents(money(cost) * (100 - int(off)) / 100)),
    ("finance/tip", r"The bill is .([\d.]+) and \w+ wants to leave an? (\d+)% tip",
     lambda bill, tip: cents(money(bill) * (100 + int(tip)) / 100)),
    ("finance/compound_interest", r"only: .(\d+) at (\d+)% for (\d+) years",
     lambda m, r, y: cents(money(m) * (1 + Fraction(int(r), 100)) ** int(y)) - money(m)),
    ("finance/depreciation",
     r"from (\d+) to (\d+) \w+ in (\d+) years: what is the value after (\d+) years",
     lambda a, b, life, t: int(a) - Fraction(int(a) - int(b), int(life)) * int(t)),
    ("science/median_of_even", r"Median of ([\d, ]+)\?",
     lambda values: Fraction(statistics.median(map(Fraction, values.split(", "))))),
    ("strings/two_lengths", r'Difference in letters: "([a-z ]+)" against "([a-z ]+)"\?',
     lambda a, b: abs(letters(a) - letters(b))),
    ("strings/page_digits", r"to number pages 1 to (\d+)\?", digits_of_pages),
    ("strings/letter_scores", r'"(\w+)" at (\d+) points per vowel and (\d+) per consonant', score),
    ("strings/mean_word_length", r'average word length in "([a-z ]+)", to two', mean_length),
    ("units/feet_and_inches", r"(\d+) ft (\d+) in to cm",
     lambda feet, inches: (12 * int(feet) + int(inches)) * Fraction("2.54")),
    ("units/celsius_to_fahrenheit", r"Convert (-?\d+) degrees Celsius",
     lambda c: 32 + Fraction(9, 5) * int(c)),
    ("word_problems/boxes_needed", r"(\d+) [\w ]+ have to be packed, at most (\d+) to a box",
     lambda count, room: -(-int(count) // int(room))),
    ("word_problems/two_machines",
     r"fine after (\d+) hours if two machines make (\d+) and (\d+) an hour and (\d+) are rejected",
     lambda hours, a, b, bad: int(hours) * (int(a) + int(b)) - int(bad)),
)  # fmt: skip


@pytest.mark.parametrize(("name", "asked", "answer"), ORACLES, ids=[name for name, _, _ in ORACLES])
def test_the_answer_is_what_the_question_asks(
    name: str, asked: str, answer: Callable[..., object]
) -> None:
    found = 0
    for number in range(DRAWS):
        one = example(BY_NAME[name], 7, number, (1, 4))
        question = re.sub(r"(?<=\d),(?=\d{3})", "", one.question)
        if (match := re.search(asked, question)) is None:
            continue
        wanted = answer(*match.groups())
        assert one.value is not None
        if isinstance(wanted, str):
            assert one.value == wanted, one.question
        else:
            assert Fraction(one.value) == wanted, one.question
        found += 1
    assert found >= 20
