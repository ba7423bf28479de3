"""Which answers count as right."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curta.delegate.data.answers import final_answer, is_right, same
from curta.delegate.data.templates import example, templates


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("It is <<calc: 2+3>> = 5.\nThe answer is 5.", "5"),
        ("First 7, then 12 apples", "12"),
        ("So that is <<calc: 10/4>> = 2.5 kg", "2.5"),
        ("The answer is $1,250.50.", "$1,250.50"),
        ("The answer is 14:35.", "14:35"),
        ("The answer is 3.\nNo: the answer is -4.", "-4"),
        ("#### 1,000", "1,000"),
        ("I do not know.", None),
        ("The answer is blue", "blue"),
        ("The answer is 12 apples.", "12"),
        ("The answer is <<calc: 3*4>> = 12.", "12"),
        ("The answer is 12 * 7 = 84.", "84"),
        ("The answer is −5.", "-5"),
        ("#### Step 2: add\nThat makes 12.", "12"),
        ("So the answer is:\n\\[\n\\boxed{0.8}\n\\]", "0.8"),
        ("There are \\(\\boxed{10}\\) more than the 5 before.", "10"),
        ("The answer is \\(\\boxed{\\text{7 cups}}\\), not 8.", "7"),
    ],
)
def test_what_an_answer_says_at_last(text: str, answer: str | None) -> None:
    assert final_answer(text) == answer


@pytest.mark.parametrize(
    ("said", "wanted", "right"),
    [
        ("5", "5", True),
        ("5.0", "5", True),
        ("$1,250", "1250", True),
        ("0.333333", "0.333333", True),
        ("0.3333", "0.333333", True),
        ("0.33", "0.333333", True),
        ("0.3", "0.333333", False),
        ("0.34", "0.333333", False),
        ("45,235.60", "45231.17", False),
        ("45,231.2", "45231.17", False),
        ("1461.61", "1461.607143", True),
        ("0", "0.000000005", False),
        ("35.44", "35.4", False),
        ("35.40", "35.4", True),
        ("20.625", "20.62", False),
        ("20.63", "20.625", True),
        ("0.01", "0.006", False),
        ("0.18", "0.176471", True),
        ("0.3333333", "0.333333", True),
        ("0.3333343", "0.333333", False),
        ("a Sunday", "Sunday", True),
        ("09:05", "9:05", True),
        ("8:47 AM", "8:47", True),
        ("8:47 PM", "8:47", False),
        ("8:47", "8:47 PM", False),
        ("0.00", "0.000000005", False),
        ("6", "5", False),
        ("1000001", "1000000", False),
        ("14:35", "14:35", True),
        ("14:36", "14:35", False),
        ("Blue.", "blue", True),
        ("50%", "50", True),
        ("1e50", "1e50", True),
        ("-3", "3", False),
    ],
)
def test_which_results_are_the_same(said: str, wanted: str, right: bool) -> None:
    assert same(said, wanted) == right


@pytest.mark.parametrize(
    ("text", "wanted", "right"),
    [
        ("The answer is 5 apples for each of the 3 children.", "5", True),
        ("The answer is 5 apples for each of the 3 children.", "3", False),
        ("The answer is 14:35.", "14", False),
        ("The answer is 3/4.", "3", False),
        ("The answer is 2 hours and 10 minutes.", "2", False),
        ("The answer is 2 hours 10 minutes.", "2 hours 10 minutes", True),
    ],
)
def test_sentences_with_several_numbers(text: str, wanted: str, right: bool) -> None:
    assert is_right(text, wanted) == right


def test_answers_of_templates_are_right_and_others_are_not() -> None:
    for template in templates():
        one = example(template, 3, 1, (1, 4))
        if one.value is None:
            continue
        assert is_right(one.answer, one.value), one
        assert not is_right(one.answer.replace(f"is {one.value}.", "is -77.5."), one.value)


@given(st.text(max_size=60))
def test_any_text_has_an_answer_or_none(text: str) -> None:
    said = final_answer(text)
    assert said is None or said
    is_right(text, "5")
