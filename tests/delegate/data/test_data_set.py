"""Data sets: the same for the same seed, nothing twice, nothing of the test in training."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from curta.delegate.data.data_set import Mix, build, counts, leaks, read, write
from curta.delegate.data.example import Example
from curta.errors import UserError

SMALL = Mix(train=400, valid=50, test=100)


def test_parts_share_neither_questions_nor_templates() -> None:
    made = build(SMALL)
    assert [len(part) for part in made.parts.values()] == [400, 50, 100]
    assert leaks(made) == []
    made.train.append(made.test[0])
    assert len(leaks(made)) == 2


def test_a_seed_makes_one_set(tmp_path: Path) -> None:
    made = build(SMALL)
    assert made == build(SMALL)
    other = build(dataclasses.replace(SMALL, seed=1))
    assert made.train != other.train
    write(made, tmp_path)
    assert read(tmp_path / "train.jsonl") == made.train
    assert read(tmp_path / "test.jsonl") == made.test


def test_shares_are_those_of_the_mix() -> None:
    kinds = counts(build(dataclasses.replace(SMALL, train=1_000, arithmetic=0.3)).train)
    assert kinds["arithmetic"] / 1_000 > 0.2
    assert 0.2 < kinds["negative"] / 1_000 < 0.3


def test_digits_are_as_long_as_asked() -> None:
    long = build(dataclasses.replace(SMALL, digits=(7, 7), negatives=0.0, arithmetic=1.0))
    sums = [one for one in long.train if one.template == "arithmetic/sum_of_two"]
    assert sums
    assert all(len(one.expressions[0]) == 17 for one in sums)


def test_annotated_examples_are_trained_once(tmp_path: Path) -> None:
    one = Example("How many\u2028?", "<<calc: 1+1>> = 2\nThe answer is 2.", "2", "gsm8k", "gsm8k/1")
    again = dataclasses.replace(one, question="how many")
    made = build(SMALL, [one, again])
    assert len(made.train) == 401
    write(made, tmp_path)
    assert read(tmp_path / "train.jsonl") == made.train  # with a line separator in a question
    assert made.dropped["a question that is there already"] >= 1


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"train": 0}, "train = 0"),
        ({"negatives": 0.9, "arithmetic": 0.2}, "add up to no more than 1"),
        ({"negatives": float("nan")}, "add up to no more than 1"),
        ({"digits": (3, 2)}, r"digits = 3\.\.2: from 1 to 15"),
        ({"composed": 1.5}, "composed = 1.5: from 0 to 1"),
        ({"digits": (1, 1), "train": 10**5, "arithmetic": 1.0, "negatives": 0.0}, "not enough"),
    ],
)
def test_what_cannot_be_made_is_refused(changes: dict, why: str) -> None:
    with pytest.raises(UserError, match=why):
        build(dataclasses.replace(SMALL, **changes))
