"""What is compared with: a unit whose operands are regressed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

pytest.importorskip("transformers")

import torch

from bench import regressor as regressing
from curta.delegate import models
from curta.delegate.data import data_set
from curta.hybrid.unit.arithmetic import Operation
from curta.hybrid.unit.features import features
from curta.hybrid.unit.numbers import Number
from curta.hybrid.unit.questions import Question, questions
from tests.hybrid.tiny_units import base, unit
from tests.support import tiny_language_models as tiny


@pytest.mark.parametrize("seed", range(50))
def test_what_a_regressor_is_to_say_is_the_number(seed: int) -> None:
    drawn = Random(seed)
    digits = drawn.randint(1, 20)
    number = Number(
        str(drawn.randrange(10**digits)), drawn.randint(0, min(6, digits)), drawn.random() < 0.5
    )
    assert regressing.number(regressing.slots(number)).value == number.value


def test_a_regressor_learns_digits_that_the_stream_says() -> None:
    asked: list[Question] = list(questions("train", "wordings", 60, 0))
    text = torch.zeros(60, 40)
    for row, one in enumerate(asked):
        text[row, int(one.operands[0].number.digits[-1])] = 5
    read = replace(features(base(), tiny.chat_tokenizer(), ["1 2", "3"]), text=text.half())
    regressor = regressing.train(read, asked)
    firsts = [one.operands[0].number for one in asked]
    right = [
        regressor.numbers(row)[0].digits[-7:-6] == first.digits[-1:]
        for row, first in zip(text, firsts, strict=True)
        if not first.places
    ]
    assert sum(right) > 0.8 * len(right)


def test_its_digits_are_those_that_were_regressed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unit(Operation.MULTIPLICATION).save_pretrained(tmp_path)
    loaded = base(), tiny.chat_tokenizer()
    monkeypatch.setattr(models, "load", lambda name, **options: loaded)
    made = regressing.Regressor(base().config.hidden_size)
    monkeypatch.setattr(made, "numbers", lambda text: (Number("3"), Number("25", 1)))
    model = regressing.RegressingUnit.having(made, str(tmp_path))
    outputs = regressing.one_by_one(model, 10)(["12.5 of 4", "8 times 7"])
    assert [output.text.split()[-1] for output in outputs] == ["7.5", "7.5"]


def test_what_an_adapter_learns_from_is_questions_with_answers(tmp_path: Path) -> None:
    asked = list(questions("train", "wordings", 8, 0)) + list(questions("train", "others", 2, 0))
    regressing.write_examples(asked, tmp_path / "examples")
    examples = data_set.read(tmp_path / "examples" / "train.jsonl")
    assert [one.value for one in examples] == [one.value for one in asked[:8]]
    assert all(one.value == one.answer for one in examples)
