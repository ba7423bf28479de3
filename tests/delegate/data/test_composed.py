"""Problems whose structure is drawn: right, whole, of many structures, as often as asked for."""

from __future__ import annotations

import random
import re
from collections import Counter
from contextlib import suppress
from fractions import Fraction

import pytest

from curta.delegate.calculator import Calculator
from curta.delegate.data.data_set import Mix, build
from curta.delegate.data.draw import Draw, OtherwiseError
from curta.delegate.data.example import CALL, Example
from curta.delegate.data.templates import Template, composed, example
from curta.errors import UserError

ALL = list(composed.templates())
EVERY = pytest.mark.parametrize("template", ALL, ids=lambda each: each.name)
COUNT = 400


def made(template: Template, digits: tuple[int, int] = (1, 8)) -> list[Example]:
    return [example(template, 5, number, digits) for number in range(COUNT)]


@EVERY
def test_they_are_the_same_each_time_and_seldom_twice(template: Template) -> None:
    drawn = made(template)
    assert drawn == made(template)
    assert len({one.question for one in drawn}) > COUNT * 0.98


@EVERY
def test_every_step_is_right_whole_and_above_one(template: Template) -> None:
    for one in made(template):
        calls = list(CALL.finditer(one.answer))
        assert len(calls) == ALL.index(template) + 1
        for call in calls:
            assert Calculator().evaluate(call["expression"]).text == call["result"]
            assert Fraction(call["result"]) >= 2
            assert call["result"].isdigit()
        assert one.value == calls[-1]["result"]
        assert one.answer.endswith(f"\nThe answer is {one.value}.")


@EVERY
def test_numbers_come_from_the_question_or_from_steps_before(template: Template) -> None:
    words = {"half": 2, "third": 3, "quarter": 4, "fifth": 5, "tenth": 10}
    words |= {"twice": 2, "three": 3, "four": 4}
    for one in made(template):
        known = set(re.findall("[0-9]+", one.question)) | {"100"}
        known |= {str(number) for word, number in words.items() if word in one.question}
        for call in CALL.finditer(one.answer):
            assert set(re.findall("[0-9]+", call["expression"])) <= known, one
            known.add(call["result"])


@EVERY
def test_texts_are_sentences(template: Template) -> None:
    for one in made(template):
        text = f"{one.question} {one.answer}"
        assert one.question.count("?") == 1
        assert not re.search(r"[{}#\[\]]|  |\. [a-z]|\.\.|(?<!\w)1 [a-z]+s\b", text), text
        assert len(one.question) < 450


def shape(calls: int, number: int) -> tuple[str, ...]:
    """The relations of a story."""
    draw = Draw(random.Random(number), (1, 4))
    while True:
        with suppress(OtherwiseError):
            story = composed.told(draw, calls)
            if len(story.steps) == calls:
                return tuple(story.shape)


def test_structures_are_many() -> None:
    for template, least in zip(ALL, (25, 60, 150, 250), strict=True):
        assert isinstance(template, composed.Composed)
        shapes = Counter(shape(template.calls, number) for number in range(500))
        assert len(shapes) >= least, (template.name, len(shapes))


def test_a_relation_has_all_its_sentences() -> None:
    for title, texts in composed.RELATIONS.items():
        assert texts["!"] or title == "plain"
        assert all("#" in step for step in texts["!"]), title
        assert all(asked.endswith("?") for asked in texts["?"]), title


def test_their_share_is_kept() -> None:
    found = Counter(one.category for one in build(Mix(train=1_000, valid=20, test=20)).train)
    assert 0.18 < found[composed.CATEGORY] / 1_000 < 0.27
    without = build(Mix(train=200, valid=20, test=20, composed=0.0))
    assert not any(one.category == composed.CATEGORY for one in without.train)
    with pytest.raises(UserError, match=r"composed = 1\.5"):
        Mix(composed=1.5)
