"""The engine of templates, on a file of a few lines."""

from __future__ import annotations

import pytest

from curta.delegate.data.templates import example
from curta.delegate.data.templates.engine import templates_of

TEXT = """
CATEGORY = "small"
FRUITS = "apples", "pears"

[train] shared
count, of = 7, choose(*FRUITS)
each := {count} / 2
near := {each} * 1.234 | 1
? {count} {of} for 2?
? Halve {count} {of}.
! That is {each}, or about {near}.
! Half of {count}: {each}.
= each

[train] nothing
? Who?
! Me.

[test] refused
n = 3
? {n} less {n}, as a divisor?
x {n}/({n} - {n})
~ Nothing is divided by 0.

[test] mended
? 2 and 3?
x 2 + 3)
~ One too many.
sum := 2 + 3
"""
SHARED, NOTHING, REFUSED, MENDED = templates_of(TEXT, "small")


def made(template: object) -> list[object]:
    return [example(template, "seed", number, (1, 2)) for number in range(40)]  # type: ignore[arg-type]


def test_every_wording_occurs_with_calculations_shown_in_answers_alone() -> None:
    assert {one.question for one in made(SHARED)} == {
        *(f"7 {fruit} for 2?" for fruit in ("apples", "pears")),
        *(f"Halve 7 {fruit}." for fruit in ("apples", "pears")),
    }
    each, near = "<<calc: 7 / 2>> = 3.5", "<<calc: round(3.5 * 1.234, 1)>> = 4.3"
    assert {one.answer for one in made(SHARED)} == {
        f"That is {each}, or about {near}.\nThe answer is 3.5.",
        f"Half of 7: {each}.\nThe answer is 3.5.",
    }


def test_a_template_without_a_calculation_has_no_value() -> None:
    assert {(one.answer, one.value) for one in made(NOTHING)} == {("Me.", None)}


def test_calls_that_fail_say_so_and_are_mended_or_not() -> None:
    failed = "<<calc: 3/(3 - 3)>> = error: undefined"
    reason = "Nothing is divided by 0."
    end = "\nThe answer is undefined."
    assert {one.answer for one in made(REFUSED)} == {
        f"{failed}\n{reason}{end}",
        f"{reason}{end}",
    }
    for one in made(MENDED):
        assert "<<calc: 2 + 3)>> = error: syntax error. One too many.\n" in one.answer
        assert one.answer.endswith("<<calc: 2 + 3>> = 5\nThe answer is 5.")


def test_parts_and_names() -> None:
    assert [one.name for one in (SHARED, NOTHING, REFUSED, MENDED)] == [
        "small/shared", "small/nothing", "small/refused", "small/mended",
    ]  # fmt: skip
    assert [one.test for one in (SHARED, NOTHING, REFUSED, MENDED)] == [False, False, True, True]


def test_a_name_that_there_is_not_is_an_error() -> None:
    (template,) = templates_of(f"{TEXT.partition('[')[0]}[test] wrong\n? {{x}}?\n", "wrong")
    with pytest.raises(NameError, match="'x'"):
        example(template, 0, 0, (1, 1))
