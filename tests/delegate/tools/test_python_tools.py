"""Python functions as tools, each call a process of its own."""

from __future__ import annotations

from contextvars import copy_context
from functools import cache
from pathlib import Path
from threading import Event, Timer
from typing import Any

import pytest

from curta.delegate.given_up import GIVEN_UP
from curta.delegate.tools import Bounds
from curta.delegate.tools.python import FunctionTool, python_tool, schema_of
from curta.delegate.tools.schemas import checked
from curta.errors import ToolError, UserError

FILE = str(Path(__file__).with_name("statistics_tool.py"))


@cache
def tool(name: str, bounds: Bounds | None = None) -> FunctionTool:
    return python_tool(FILE, name, bounds or Bounds())


def test_hints_and_docstring_say_what_a_function_takes() -> None:
    found = tool("describe")
    assert (found.name, found.description) == ("describe", "The middle of some numbers.")
    assert not found.sandboxed
    assert found.parameters == {
        "type": "object",
        "properties": {
            "values": {"type": "array", "items": {"type": "number"}, "description": "the numbers"},
            "how": {"enum": ["mean", "median"], "description": "which middle"},
        },
        "required": ["values"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("name", "arguments", "value"),
    [
        ("describe", {"values": [1, 2, 6]}, {"middle": 3.0, "count": 3}),
        ("describe", {"values": [9, 1, 2], "how": "median"}, {"middle": 2.0, "count": 3}),
        ("third", {"number": None}, "1/3"),
        ("named", {"scores": {"a": 1, "b": 2}}, ["b", "a"]),
    ],
)
def test_a_call_has_a_result(name: str, arguments: Any, value: Any) -> None:
    answer = tool(name).call(arguments)
    assert (answer.value, answer.error) == (value, None)


def test_nothing_stays_from_call_to_call() -> None:
    assert [tool("counted").call({}).value for _ in range(2)] == [1, 1]


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("describe", {"values": []}, "ZeroDivisionError: division by zero"),
        ("describe", {}, "values is missing"),
        ("describe", {"values": ["a"]}, "values[0]: expected a number"),
        ("describe", {"values": [1], "how": "x"}, "how: expected one of mean, median"),
        ("named", {"scores": {"a": "x"}}, "scores.a: expected a whole number"),
        ("slow", {}, "took too long"),
        ("large", {}, "out of memory"),
        ("leaves", {}, "ended without an answer"),
        ("strange", {}, "no result"),
    ],
)
def test_what_goes_wrong_is_short_words(name: str, arguments: Any, words: str) -> None:
    answer = tool(name, Bounds(seconds=2 if name == "slow" else 30)).call(arguments)
    assert (answer.text, answer.value) == (words, None)
    assert answer.error


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("untyped", "x has no type: write x: int"),
        ("unusual", "x is complex: take int, float, str"),
        ("anything", "takes anything: say which arguments there are"),
        ("absent", "has no function absent; there are: describe, third"),
    ],
)
def test_what_cannot_be_a_tool_says_why(name: str, reason: str) -> None:
    with pytest.raises(UserError, match=reason):
        tool(name)


def test_schemas_in_each_other() -> None:
    assert schema_of(list[dict[str, int | None]], "x") == {
        "type": "array",
        "items": {
            "type": "object",
            "additionalProperties": {"anyOf": [{"type": "integer"}, {"enum": [None]}]},
        },
    }


def test_what_may_be_left_out_is_asked_for_as_what_it_is() -> None:
    number_or_nothing = {"anyOf": [{"type": "integer"}, {"enum": [None]}]}
    assert checked(None, number_or_nothing, "x") is None
    with pytest.raises(ToolError, match="expected a whole number"):
        checked("a", number_or_nothing, "x")


def test_a_call_that_nobody_waits_for_ends() -> None:
    given_up, slow = Event(), tool("slow", Bounds(seconds=600))
    Timer(1.5, given_up.set).start()
    context = copy_context()
    context.run(GIVEN_UP.set, given_up)
    answer = context.run(slow.call, {})
    assert (answer.text, answer.error) == ("given up", "nobody waits for the call any more")


def test_one_of_some_values_is_that_value() -> None:
    one_or_two = {"enum": [1, 2]}
    assert repr(checked(1.0, one_or_two, "x")) == "1"  # JSON makes no difference
    for wrong in (True, 3, "1", [1]):
        with pytest.raises(ToolError, match="one of 1, 2"):
            checked(wrong, one_or_two, "x")
