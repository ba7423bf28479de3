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
from curta.hybrid.unit.model import listening, window_of
from curta.hybrid.unit.numbers import Number, Span, numbers_in
from curta.hybrid.unit.questions import KINDS, Question, question, questions, wordings
from curta.hybrid.unit.router import (
    MOST_NUMBERS,
    MOST_POSITIONS,
    OPERATIONS,
    Decision,
    Role,
    window,
)
from curta.hybrid.unit.training import agrees, threshold, train, trained
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
    read = features(base(), tokens, texts, 1, batch=3).readings()
    assert [len(each.numbers) for each in read] == [2, 1, 0, 3]
    asking = generator(base(), tokens, None)
    for text, reading in zip(texts, read, strict=True):
        ids = asking.encoded(asking.asked(text))
        with torch.no_grad(), listening(base(), [1]) as streams:
            base()(input_ids=torch.tensor([ids]))
        own = window_of(tokens, ids).reading(streams[1][0])
        assert reading.numbers == own.numbers
        assert close(reading.stream, own.stream)


def test_all_blocks_are_there_again_when_features_were_read() -> None:
    features(base(), tiny.chat_tokenizer(), ["1 2"], 1)
    assert len(base().get_decoder().layers) == 2


def test_a_number_is_one_position_however_long_it_is() -> None:
    spans = [Span(Number("7"), 2, 3), Span(Number("12"), 5, 9)]
    seen = window(11, spans, breaks=[0])
    assert seen.positions == (1, 2, 3, 4, 8, 9, 10)
    assert seen.reading(torch.arange(11)[:, None]).numbers == (1, 4)


def test_the_message_with_the_last_number_is_read() -> None:
    spans = [Span(Number(str(at)), at, at + 1) for at in (1, 5, 7)]
    seen = window(10, spans, breaks=[0, 3, 9])
    assert seen.positions == (4, 5, 6, 7, 8, 9)
    assert seen.spans == tuple(spans[1:])


def test_the_end_of_what_is_too_long_is_read() -> None:
    spans = [Span(Number("1"), at, at + 1) for at in range(0, 600, 20)]
    seen = window(600, spans, breaks=[])
    assert len(seen.positions) == MOST_POSITIONS
    assert seen.spans == tuple(spans[-MOST_NUMBERS:])


def close(kept: torch.Tensor, stream: torch.Tensor) -> bool:
    """Equal but for the number type in which it is kept."""
    return torch.allclose(kept.double(), stream, atol=0.05, rtol=0.01)


def test_features_are_kept(tmp_path: Any) -> None:
    read = features(base(), tiny.chat_tokenizer(), ["1 2", "3"], 1)
    read.save(tmp_path / "kept" / "some.safetensors")
    again = Features.load(tmp_path / "kept" / "some.safetensors")
    for kept, first in zip(again.readings(), read.readings(), strict=True):
        assert kept.numbers == first.numbers
        assert torch.equal(kept.stream, first.stream)


def separable(count: int, seed: int) -> tuple[Features, list[Any]]:
    """Streams whose last position says the operation, and whose numbers say their parts."""
    drawn = [
        one
        for kind in ("wordings", "others")
        for one in questions("train", kind, count, seed)
        if len(label(one).parts) >= 2
    ]
    torch.manual_seed(seed)
    labels = [label(one) for one in drawn]
    streams, numbers = [], []
    for each in labels:
        own = torch.randn(2 * len(each.parts) + 1, 16)
        own[-1, each.operation] += 8
        at = tuple(range(0, len(own) - 1, 2))
        own[at, [5 + part for part in each.parts]] += 8
        streams.append(own)
        numbers.append(at)
    lengths = tuple(map(len, streams))
    return Features(torch.cat(streams).half(), lengths, tuple(numbers)), labels


def test_routers_learn() -> None:
    config = RouterTraining(inner=16, epochs=30, rate=1e-2)
    _, _, right, false = train(separable(120, 0), separable(60, 1), config)
    assert right > 0.9
    assert false == 0


def test_the_same_seed_trains_the_same() -> None:
    read, labels = separable(40, 0)
    first, second = (
        trained(read.readings(), labels, RouterTraining(inner=8, epochs=2)) for _ in range(2)
    )
    assert torch.equal(first.narrow.weight, second.narrow.weight)


def test_texts_of_a_batch_do_not_see_each_other() -> None:
    read, labels = separable(20, 0)
    readings = read.readings()
    router = trained(readings, labels, RouterTraining(inner=8, epochs=1))
    together = router.decide(readings, 0.0)
    alone = [router.decide([each], 0.0)[0] for each in readings]
    assert [each.operands for each in together] == [each.operands for each in alone]


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
    stream = torch.zeros(60, 40)
    for row, one in enumerate(asked):
        stream[row, int(one.operands[0].number.digits[-1])] = 5
    read = Features(stream.half(), (1,) * 60, ((),) * 60)
    regressor = regressing.train((read, asked), epochs=40)
    wanted = torch.tensor(
        [[regressing.slots(span.number) for span in one.operands] for one in asked]
    )
    right = (regressor(stream).argmax(-1) == wanted).float().mean()
    assert right > 0.5
