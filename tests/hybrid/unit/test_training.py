"""Questions split by wording, features that are those of the pass, and routers that learn."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from random import Random
from typing import Any

import pytest

pytest.importorskip("transformers")

import torch

from curta.delegate.evaluation.systems import generator
from curta.hybrid.unit import regressing
from curta.hybrid.unit.arithmetic import Operation, expected
from curta.hybrid.unit.config import RouterTraining
from curta.hybrid.unit.features import Features, features, label
from curta.hybrid.unit.model import listening
from curta.hybrid.unit.numbers import Number, numbers_in, numbers_of_tokens, pieces_of
from curta.hybrid.unit.questions import KINDS, Question, question, questions, wordings
from curta.hybrid.unit.router import OPERATIONS, Decision, Layers, Role
from curta.hybrid.unit.training import agrees, pairs, threshold, train
from tests.hybrid.tiny_units import base
from tests.support import tiny_language_models as tiny


def test_a_third_of_the_wordings_is_held_out() -> None:
    own = [one for one in wordings() if one.text]
    assert len({one.name for one in wordings()}) == len(wordings())
    for kind in ("wordings", "problems", "others"):
        splits = Counter(one.split for one in own if one.kind == kind)
        assert abs(splits["test"] / splits.total() - 1 / 3) < 0.05
        assert splits["valid"] >= 10
    computing = [one for one in own if one.operation]
    assert len(computing) >= 60
    assert {one.operation for one in computing} == set(Operation)


def test_no_wording_is_there_twice() -> None:
    texts = Counter(one.text.lower() for one in wordings() if one.text)
    assert [text for text, count in texts.items() if count > 1] == []


@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_questions_say_which_numbers_are_the_operands(split: Any) -> None:
    kinds = (questions(split, kind, 150, 3) for kind in ("wordings", "problems"))
    for one in chain(*kinds):
        first, second = (span.number for span in one.operands)
        places = int(one.places.number.digits) if one.places else None
        assert one.wording.split == split
        assert one.wording.operation is not None
        assert one.value == expected(one.wording.operation, first, second, places)
        assert all(span in numbers_in(one.text) for span in one.operands)
        assert max(len(first.digits), len(second.digits)) <= 20


def test_every_wording_can_be_asked_of_negative_numbers(monkeypatch: Any) -> None:
    monkeypatch.setattr("curta.hybrid.unit.questions.number_text", lambda drawn, zero=True: "-7")
    for wording in wordings():
        if wording.operation and wording.kind == "wordings":
            assert question(wording, Random(0)).operands


def test_texts_without_an_operation_have_numbers() -> None:
    drawn = list(questions("test", "others", 1000, 0))
    assert len(drawn) == 1000
    assert all(any(map(str.isdigit, one.text)) for one in drawn)
    assert {one.value for one in drawn} == {None}


def test_the_same_seed_draws_the_same() -> None:
    for kind in KINDS:
        first = list(questions("train", kind, 20, 1))
        assert first == list(questions("train", kind, 20, 1))
        assert first != list(questions("train", kind, 20, 2))


def test_labels_say_where_the_operands_stand() -> None:
    (asked,) = [
        one
        for one in questions("train", "wordings", 300, 0)
        if one.wording.text.startswith("Subtract {b} from")
    ][:1] or [None]
    if asked is None:
        pytest.skip("this wording is not for training")
    assert label(asked).parts == (Role.SECOND, Role.FIRST)
    assert OPERATIONS[label(asked).operation] is Operation.SUBTRACTION


def test_features_are_the_stream_of_a_pass_of_its_own() -> None:
    texts = ["What is 12 plus -7?", "9", "no number", "Take 1 from 2 and 3."]
    tokens = tiny.chat_tokenizer()
    read = features(base(), tokens, texts, batch=3)
    assert read.counts == (2, 1, 0, 3)
    numbers = read.numbers.split(list(read.counts))
    asking = generator(base(), tokens, None)
    for at, text in enumerate(texts):
        ids = asking.encoded(asking.asked(text))
        with torch.no_grad(), listening(base(), (1, 2)) as streams:
            base()(input_ids=torch.tensor([ids]))
        spans = numbers_of_tokens(pieces_of(tokens, ids))
        for place, layer in enumerate((1, 2)):
            stream = streams[layer][0]
            assert close(read.text[at, place], stream[-1])
            for number, span in zip(numbers[at], spans, strict=True):
                assert close(number[0, place], stream[span.end - 1])
                assert close(number[1, place], stream[span.end])


def close(kept: torch.Tensor, stream: torch.Tensor) -> bool:
    """Equal but for the number type in which it is kept."""
    return torch.allclose(kept.double(), stream, atol=0.05, rtol=0.01)


def test_features_are_kept(tmp_path: Any) -> None:
    read = features(base(), tiny.chat_tokenizer(), ["1 2", "3"])
    read.save(tmp_path / "kept" / "some.safetensors")
    again = Features.load(tmp_path / "kept" / "some.safetensors")
    assert again.layers == (1, 2)
    assert again.counts == read.counts
    assert torch.equal(again.text, read.text)


def separable(count: int, seed: int) -> tuple[Features, list[Any]]:
    """Streams that say what is asked, behind block 2 only; behind block 1 there is noise."""
    drawn = [
        one
        for kind in ("wordings", "others")
        for one in questions("train", kind, count, seed)
        if len(label(one).parts) >= 2
    ]
    torch.manual_seed(seed)
    labels = [label(one) for one in drawn]
    text, numbers = torch.randn(len(labels), 2, 16), []
    for row, each in enumerate(labels):
        text[row, 1, each.operation] += 8
        own = torch.randn(len(each.parts), 2, 2, 16)
        own[range(len(own)), :, 1, list(each.parts)] += 8
        numbers.append(own)
    counts = tuple(len(each.parts) for each in labels)
    return Features((1, 2), text.half(), torch.cat(numbers).half(), counts), labels


def test_routers_learn_and_choose_the_layers_that_say_it() -> None:
    trained = train(separable(120, 0), separable(60, 1), RouterTraining(penalties=(10,)))
    assert trained.layers == Layers(2, 2)
    assert trained.right > 0.9
    assert trained.false == 0
    assert pairs((1, 2)) == [Layers(2, 1), Layers(2, 2)]


def test_thresholds_let_few_texts_through() -> None:
    labels = [label(one) for one in questions("train", "others", 100, 0)]
    decisions = [Decision(Operation.ADDITION, (0, 1), None, at / 100) for at in range(100)]
    limit = threshold(decisions, labels, 0.02)
    assert sum(each.certainty >= limit for each in decisions) == 2


def test_agreement_counts_the_order_where_it_matters() -> None:
    class Wanted:
        operation = OPERATIONS.index(Operation.SUBTRACTION)
        parts = (Role.NONE, Role.SECOND, Role.FIRST)

    assert agrees(Decision(Operation.SUBTRACTION, (2, 1)), Wanted)  # type: ignore[arg-type]
    assert not agrees(Decision(Operation.SUBTRACTION, (1, 2)), Wanted)  # type: ignore[arg-type]
    Wanted.operation = OPERATIONS.index(Operation.ADDITION)
    assert agrees(Decision(Operation.ADDITION, (1, 2)), Wanted)  # type: ignore[arg-type]
    assert not agrees(Decision(Operation.ADDITION, (1, 2), places=0), Wanted)  # type: ignore[arg-type]


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
    text = torch.zeros(60, 2, 40)
    for row, one in enumerate(asked):
        text[row, 1, int(one.operands[0].number.digits[-1])] = 5
    read = Features((1, 2), text.half(), torch.zeros(0, 2, 2, 40).half(), (0,) * 60)
    assert regressing.train((read, asked), (read, asked), epochs=10).layer == 2
