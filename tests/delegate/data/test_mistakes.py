"""Calls that fail: what stands behind them is what the calculator says, and answers go on."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curta.delegate.calculator import Calculator
from curta.delegate.data.answers import is_right
from curta.delegate.data.data_set import MISTAKE, Mix, build, counts, leaks
from curta.delegate.data.example import CALL, ERRORS, Example, has_failure
from curta.delegate.data.templates import Template, example, mistakes
from curta.delegate.data.templates.engine import fails
from curta.delegate.interception.protocol import Protocol
from curta.errors import CalculatorError, DataError

ALL = list(mistakes())
COUNT = 40


def examples(template: Template) -> list[Example]:
    return [example(template, 0, number, (1, 4)) for number in range(COUNT)]


def said(expression: str) -> str:
    """What is put behind a call, by the calculator and the protocol themselves."""
    try:
        return Protocol().answered(Calculator().evaluate(expression).text)
    except CalculatorError as error:
        return Protocol().failed(error)


@pytest.mark.parametrize("template", ALL, ids=lambda each: each.name)
def test_results_and_errors_are_what_the_calculator_says(template: Template) -> None:
    for each in examples(template):
        for call in CALL.finditer(each.answer):
            assert call["behind"] == said(call["expression"])
        assert each.value is not None
        assert each.answer.endswith(f"\nThe answer is {each.value}.")
        assert is_right(each.answer, each.value)


@pytest.mark.parametrize("template", ALL, ids=lambda each: each.name)
def test_a_failing_call_is_followed_by_a_right_one_or_by_none(template: Template) -> None:
    for each in examples(template):
        failed = [bool(call["failure"]) for call in CALL.finditer(each.answer)]
        if each.value in ERRORS:
            assert failed in ([], [True])
        else:
            assert failed == [True, False]
        assert not has_failure(each.inline)
        assert "error" not in each.inline
        assert each.inline.endswith(f"The answer is {each.value}.")


@pytest.mark.parametrize("template", ALL, ids=lambda each: each.name)
def test_they_are_worded_in_several_ways_and_the_same_for_a_seed(template: Template) -> None:
    made = examples(template)
    assert made == examples(template)
    assert len({each.question for each in made}) > COUNT / 3
    assert len({" ".join(each.question.split()[:2]) for each in made}) >= 2
    assert len({each.answer.split("\n")[-2].split("<<")[0] for each in made}) >= 2


def test_there_are_several_kinds_and_errors() -> None:
    assert sum(not template.test for template in ALL) >= 8
    found = {c["failure"] for t in ALL for e in examples(t) for c in CALL.finditer(e.answer)}
    assert found >= {
        f"error: {brief}"
        for brief in ("undefined", "too large", "too long", "syntax error", "unknown name")
    }


def test_what_has_a_value_does_not_fail() -> None:
    with pytest.raises(DataError, match="has the value 3"):
        fails("1+2")


@given(st.sampled_from(sorted(ERRORS)), st.sampled_from(("", ".", ", so", "\nno")))
def test_every_error_is_found_behind_its_call(brief: str, rest: str) -> None:
    text = f"a <<calc: 1+>>{Protocol().failed(ERRORS[brief]())}{rest}"
    (call,) = CALL.finditer(text)
    assert call["failure"] == f"error: {brief}"
    assert text[call.end() :] == rest


def test_a_mix_has_the_share_that_was_asked_for() -> None:
    mix = Mix(train=1_000, valid=20, test=300, mistakes=0.1)
    made = build(mix)
    assert 0.06 < counts(made.train)[MISTAKE] / 1_000 < 0.14
    assert counts(made.test)[MISTAKE] > 0
    assert leaks(made) == []
    assert made == build(mix)
    without = build(dataclasses.replace(mix, mistakes=0.0))
    assert counts(without.train)[MISTAKE] == 0
    with pytest.raises(DataError, match=r"mistakes = 0\.7"):
        dataclasses.replace(mix, mistakes=0.7)


def test_a_mix_without_mistakes_has_none() -> None:
    made = build(Mix(train=50, valid=5, test=5))
    assert not any(has_failure(one.answer) for part in made.parts.values() for one in part)
