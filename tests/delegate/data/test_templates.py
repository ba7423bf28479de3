"""Every template: its answers are right, its wordings differ, its test half is its own."""

from __future__ import annotations

import pytest

from curta.delegate.calculator import Calculator
from curta.delegate.data.example import CALL
from curta.delegate.data.templates import Template, composed, example, templates

CALCULATOR = Calculator()
ALL = list(templates())
COUNT = 60
TRAINED_ALONE = {"everyday", "technical"}
"""Categories with many kinds for training; the tests of the others ask what these teach."""


def examples(template: Template, digits: tuple[int, int] = (1, 4)) -> list:
    return [example(template, 0, number, digits) for number in range(COUNT)]


def test_names_are_different_and_most_categories_have_both_halves() -> None:
    assert len({each.name for each in ALL}) == len(ALL)
    for category in {each.category for each in ALL} - TRAINED_ALONE:
        halves = {each.test for each in ALL if each.category == category}
        assert halves == ({False} if category == composed.CATEGORY else {True, False}), category


@pytest.mark.parametrize("template", ALL, ids=lambda each: each.name)
def test_answers_are_right_by_construction(template: Template) -> None:
    for each in examples(template):
        calls = list(CALL.finditer(each.answer))
        for call in calls:
            assert CALCULATOR.evaluate(call["expression"]).text == call["result"]
        if each.value is None:
            assert not calls
        else:
            assert calls, each
            assert each.answer.endswith(f"The answer is {each.value}.")
            assert any(call["result"].startswith(each.value) for call in calls) or (
                not each.value.replace(".", "").isdigit()
            )


@pytest.mark.parametrize("template", ALL, ids=lambda each: each.name)
def test_questions_are_worded_in_several_ways(template: Template) -> None:
    made = examples(template)
    assert made == examples(template)
    assert len({each.question for each in made}) > COUNT / 3
    beginnings = {" ".join(each.question.split()[:2]) for each in made}
    assert len(beginnings) >= 2
    for each in made:
        assert each.question == each.question.strip()
        assert "  " not in each.question
        assert "{" not in each.question + each.answer
