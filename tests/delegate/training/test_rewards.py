"""What answers are worth."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("torch")

from curta.delegate.data.example import PROTOCOL
from curta.delegate.interception.events import (
    CallRejected,
    CallResult,
    CallStarted,
    CallWritten,
    TextDelta,
    calculation,
)
from curta.delegate.interception.generator import Output
from curta.delegate.training.rewards import JUDGES, rejected, right, unneeded, valid
from curta.errors import ExpressionSyntaxError, ToolError, UndefinedError

PROBLEM = "42", "arithmetic"
TALK = None, "negative"
NOTHING = "undefined", "mistake"


def answered(expression: str, answer: str = "42") -> CallResult:
    return CallResult(f" {expression}>> = {answer}", expression, 42, answer, True, 1.0)


def refused(expression: str, error: Exception | None) -> CallRejected:
    return CallRejected(f" {expression}>>", expression, error, 1.0)


def wrote(*parts: str | CallResult | CallRejected) -> Output:
    events: list = []
    for part in parts:
        events += [TextDelta(part)] if isinstance(part, str) else [CallStarted("<<calc:"), part]
    return Output(tuple(events), 1)


def test_an_answer_is_right_by_what_it_comes_to() -> None:
    assert right(wrote(answered("6*7"), "\nThe answer is 42."), *PROBLEM) == 1
    assert right(wrote("The answer is 41."), *PROBLEM) == 0
    assert right(wrote("Nothing can be divided by 0.\nThe answer is undefined."), *NOTHING) == 1
    assert right(wrote("Paris."), *TALK) == 0
    assert right(wrote(""), *PROBLEM) == 0


def test_an_answer_is_right_whatever_markers_the_model_has() -> None:
    call = CallResult(" 6*7]] = 42", "6*7", 42, "42", True, 1.0)
    output = Output((TextDelta("So "), CallStarted("[[calc:"), call, TextDelta(".")), 1)
    assert output.text == "So [[calc: 6*7]] = 42."
    assert output.written(PROTOCOL) == "So <<calc: 6*7>> = 42."
    assert right(output, *PROBLEM) == 1
    wrong = CallRejected(" 6/0]] = error: undefined", "6/0", UndefinedError(), 1.0)
    output = Output((CallStarted("[[calc:"), wrong, CallStarted("[[calc:")), 1)
    assert output.written(PROTOCOL) == "<<calc: 6/0>> = error: undefined<<calc:"


def test_calls_of_a_models_own_format_are_written_as_others_are() -> None:
    product, quotient = (json.dumps({"expression": each}) for each in ("6*7", " 6/0"))
    result = CallResult("<end>tool: ", product, 42, "42", True, 1.0)
    failed = CallRejected("", quotient, UndefinedError(), 1.0)
    unread = CallRejected("", "6", ToolError("no object", "wrong arguments"), 1.0)
    open_, cut = CallStarted("<call>"), CallRejected("6", "6")
    texts = (
        *(TextDelta("So"), open_, CallWritten("a</call>", "calculate", product)),
        *(TextDelta("\n"), open_, CallWritten("b</call>", "calculate", quotient)),
        *(open_, CallWritten("c</call>", "calculate", "6"), open_, cut),
    )
    output = Output((*texts, result, failed, unread, TextDelta("42.")), 1)
    assert output.written(PROTOCOL) == (
        "So\n<<calc:6\n<<calc: 6*7>> = 42\n\n<<calc: 6/0>> = error: undefined\n"
        "\n<<calc: 6>> = error: wrong arguments\n42."
    )
    assert [calculation(each) for each in output.calls] == ["6", "6*7", "6/0", "6"]
    assert right(output, *PROBLEM) == 1


def test_calls_are_valid_where_they_are_answered() -> None:
    assert valid(wrote(answered("6*7")), *PROBLEM) == 1
    assert valid(wrote(answered("6*7"), refused("6*", ExpressionSyntaxError())), *PROBLEM) == 0.5
    assert valid(wrote("42"), *PROBLEM) == 0
    assert valid(wrote(answered("6*7")), *TALK) == 0


def test_calls_that_fail_cost_something_but_for_the_wanted_error() -> None:
    assert rejected(wrote(refused("6*", ExpressionSyntaxError())), *PROBLEM) == 1
    assert rejected(wrote(answered("6*7"), refused("6 never closed", None)), *PROBLEM) == 0.5
    assert rejected(wrote(refused("1/0", UndefinedError())), *NOTHING) == 0
    assert rejected(wrote(refused("1/", ExpressionSyntaxError())), *NOTHING) == 1
    assert rejected(wrote("none"), *PROBLEM) == 0


def test_calls_in_vain_cost_something() -> None:
    assert unneeded(wrote(answered("6*7")), *PROBLEM) == 0
    assert unneeded(wrote(answered("6*7"), answered("6*7")), *PROBLEM) == 0.5
    assert unneeded(wrote(answered("42")), *PROBLEM) == 1
    assert unneeded(wrote(answered("42"), answered("42")), *PROBLEM) == 1
    assert unneeded(wrote(answered("6*7")), *TALK) == 1
    assert unneeded(wrote("Paris."), *TALK) == 0


def test_every_judge_stays_between_0_and_1() -> None:
    outputs = [
        wrote(),
        wrote("a"),
        wrote(answered("1"), answered("1"), refused("1", None), answered("2-1")),
    ]
    for judge in JUDGES.values():
        for output in outputs:
            for asked in (PROBLEM, TALK, NOTHING):
                assert 0 <= judge(output, *asked) <= 1
