"""Every wrong answer is of one kind: hand-written ones for each, and for the borders between."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curta.delegate.evaluation.suites import MISTAKES, NEGATIVES, TEMPLATES, Question
from curta.delegate.evaluation.taxonomy import WRONG, verdict
from tests.delegate.evaluation.scripted_answers import LIMIT, answer

EGGS = Question("templates/0", TEMPLATES, "12 boxes of 7 eggs: how many?", "84", "stories")
NOBODY = Question("mistakes/0", MISTAKES, "7 eggs for each of 0?", "undefined", "mistake")
CAPITAL = Question("negatives/0", NEGATIVES, "What is the capital of France?", None, "negative")


@pytest.mark.parametrize(
    ("text", "kind", "why"),
    [
        ("That is <<calc: 12*7>> = 84 eggs.\nThe answer is 84.", "right", ""),
        ("12 * 7 = 83, no, the answer is 84.", "right", ""),
        ("84", "right", ""),
        ("The answer is <<calc: 12*7", "wrong format", "never closed"),
        ("<<calc: 12/0>> = error: undefined\nThe answer is 85.", "wrong format", "no result"),
        ("I do not know.", "wrong format", "no final answer"),
        ("", "wrong format", "no final answer"),
        ("12 * 7 = 83\nThe answer is 83.", "wrong computation", "12 * 7 = 83: it is 84"),
        ("12 * 7 = 84, and 84 + 1 = 86. The answer is 86.", "wrong computation", "84 + 1"),
        ("<<calc: 12*7>> = 83\nThe answer is 83.", "wrong computation", "12*7 = 83"),
        ("<<calc: 12+7>> = 19\nThe answer is 19.", "wrong reasoning", "it says 19, not 84"),
        ("12 + 7 = 19\nThe answer is 19.", "wrong reasoning", "it says 19"),
        ("<<calc: 12*7>> = 84\nThe answer is 85.", "wrong reasoning", "it says 85"),
        ("The answer is 85.", "wrong reasoning", "it says 85"),
        ("The answer is many.", "wrong reasoning", "it says many"),
    ],
)
def test_kinds_of_answers(text: str, kind: str, why: str) -> None:
    found = verdict(EGGS, answer(EGGS, text))
    assert found.kind == kind
    assert why in found.why


@pytest.mark.parametrize(
    ("text", "kind", "why"),
    [
        ("<<calc: 7/0>> = error: undefined\nThe answer is undefined.", "right", ""),
        ("<<calc: 7/0>> = error: undefined\nThe answer is 7.", "wrong reasoning", "it says 7"),
        ("<<calc: 7/>> = error: syntax error\nThe answer is 7.", "wrong format", "no result"),
        ("The answer is <<calc: 7/0", "wrong format", "never closed"),
    ],
)
def test_a_call_may_fail_where_its_error_is_the_right_answer(
    text: str, kind: str, why: str
) -> None:
    found = verdict(NOBODY, answer(NOBODY, text))
    assert found.kind == kind
    assert why in found.why


def test_which_rule_comes_first() -> None:
    """Stopped before format, format before computation, computation before reasoning."""
    wrong_in_all = "12 * 7 = 83, <<calc: 12/0>> = error: undefined, the answer is 83."
    assert verdict(EGGS, answer(EGGS, wrong_in_all, tokens=LIMIT)).kind == "stopped early"
    assert verdict(EGGS, answer(EGGS, wrong_in_all, tokens=LIMIT - 1)).kind == "wrong format"
    without_call = "12 * 7 = 83, the answer is 83."
    assert verdict(EGGS, answer(EGGS, without_call)).kind == "wrong computation"
    assert verdict(EGGS, answer(EGGS, "The answer is 84.", tokens=LIMIT)).kind == "right"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("The capital of France is Paris.", "right"),
        ("In 1789 it was Versailles: 1 + 1 = 3.", "right"),
        ("It is <<calc: 1+1>> = 2.", "unneeded call"),
        ("It is <<calc: Paris", "unneeded call"),
    ],
)
def test_questions_with_nothing_to_compute(text: str, kind: str) -> None:
    assert verdict(CAPITAL, answer(CAPITAL, text)).kind == kind


@given(st.text(alphabet="0123456789+-*/= .abc\n", max_size=60), st.integers(1, LIMIT))
def test_every_answer_is_of_a_kind(text: str, tokens: int) -> None:
    found = verdict(EGGS, answer(EGGS, text, tokens=tokens))
    assert found.kind in ("right", *WRONG)
    assert bool(found.why) == (found.kind != "right")
