"""Questions split by wording, what is read of them, and routers that learn."""

from __future__ import annotations

from collections import Counter
from copy import deepcopy
from dataclasses import replace
from itertools import chain
from random import Random
from typing import Any

import pytest

pytest.importorskip("transformers")

import torch

from curta.delegate import models
from curta.delegate.evaluation.systems import generator
from curta.hybrid.unit.arithmetic import Operation, expected
from curta.hybrid.unit.config import RouterTraining
from curta.hybrid.unit.features import features, label
from curta.hybrid.unit.model import listening
from curta.hybrid.unit.numbers import numbers_in, numbers_of_tokens
from curta.hybrid.unit.questions import KINDS, question, questions, wordings
from curta.hybrid.unit.router import (
    FAR,
    Decision,
    Router,
    Scores,
    Shape,
)
from curta.hybrid.unit.training import agrees, loss, threshold, train
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
    wording = next(one for one in wordings() if one.text.startswith("Subtract {b} from"))
    asked = question(wording, Random(0))
    assert label(asked, 2) == Decision(Operation.SUBTRACTION, (1, 0))
    assert label(asked, 4) == Decision(Operation.SUBTRACTION, (3, 2))  # two in a system text


TEXTS = ["What is 12 plus -7?", "9", "no number", "Take 1 from 2 and 3."]


@pytest.mark.parametrize("system", ["", "7 and 12: "])
def test_what_is_read_is_what_a_pass_of_its_own_has(system: str) -> None:
    tokens = deepcopy(tiny.chat_tokenizer())
    tokens.chat_template = system + tokens.chat_template
    read = features(base(), tokens, TEXTS, batch=3)
    shape = Shape.of(base().config)
    readings = read.readings(range(4), base())
    more = len(numbers_in(system))
    assert [len(each) - more for each in readings.numbers] == [2, 1, 0, 3]
    asking = generator(base(), tokens, None)
    for at, text in enumerate(TEXTS):
        ids = asking.encoded(asking.asked(text))
        with torch.no_grad(), listening(base(), (1, 2)) as streams:
            cache = base()(input_ids=torch.tensor([ids]), use_cache=True).cache
        assert close(read.begin[at], streams[shape.enter][0, -1])
        assert close(read.text[at], streams[shape.leave][0, -1])
        for number, span in zip(read.numbers[at], numbers_of_tokens(tokens, ids), strict=True):
            both = streams[shape.numbers][0, span.end - 1 : span.end + 1]
            assert close(number, both.flatten())
        assert readings.there[at].sum() == readings.position[at] == len(ids)
        for (keys, values), block in zip(
            readings.memory, cache.layers[shape.enter : shape.leave], strict=True
        ):
            assert close(keys[at, :, readings.there[at]], block.keys[0])
            assert close(values[at, :, readings.there[at]], block.values[0])


def test_rows_say_the_same_in_a_batch_and_alone() -> None:
    torch.manual_seed(0)
    router = Router(Shape.of(base().config)).eval()
    read = features(base(), tiny.chat_tokenizer(), TEXTS)
    decoder = base().get_decoder()
    together = router(decoder, read.readings([0, 3], base()))
    for row, at in enumerate((0, 3)):
        alone = router(decoder, read.readings([at], base()))
        assert torch.allclose(together.operations[row], alone.operations[0], atol=1e-4)


def test_a_batch_may_be_of_texts_without_numbers() -> None:
    router = Router(Shape.of(base().config)).eval()
    read = features(base(), tiny.chat_tokenizer(), TEXTS)
    readings = read.readings([2], base())
    assert router.decide(base().get_decoder(), readings, 0.0)[0].operation is None


def close(kept: torch.Tensor, stream: torch.Tensor) -> bool:
    """Equal but for the number type in which it is kept."""
    return torch.allclose(kept.double(), stream, atol=0.05, rtol=0.01)


def test_routers_learn_what_they_were_told(tmp_path: Any) -> None:
    """A tiny random model has no idea of sums; its rows can still learn a few texts by heart."""
    asked = [
        one for kind in ("wordings", "others") for one in questions("train", kind, 8, 0)
        if len(numbers_in(one.text)) >= 2
    ]  # fmt: skip
    torch.manual_seed(0)
    tiny.save_model_of_any_text(tmp_path)
    model, tokens = models.load(str(tmp_path), device="cpu")
    model.requires_grad_(False)
    read = features(model, tokens, [one.text for one in asked])
    steps: list[float] = []
    part, long = (read, asked), RouterTraining(epochs=60, rate=1e-2)
    careful = train(
        model, part, part, long, on_progress=lambda what, done, total: steps.append(done / total)
    )
    assert steps[-1] == 1
    assert careful.false == 0
    assert careful.right > 0
    always = replace(long, false_routes=1, false_beyond=1)  # what rows know, however sure they are
    begun, learned = (train(model, part, part, replace(always, epochs=n)) for n in (1, 60))
    assert learned.right > begun.right
    assert all(each.grad is None for each in model.parameters())


def test_losses_count_either_order_of_a_sum() -> None:
    scores = Scores(
        torch.zeros(1, 5), torch.tensor([[[-5.0, 0.0], [0.0, -5.0]]]), torch.zeros(1, 3)
    )

    assert loss(scores, [Decision(Operation.ADDITION, (0, 1))]) < 0.01
    assert loss(scores, [Decision(Operation.SUBTRACTION, (0, 1))]) == 10


def test_thresholds_let_few_texts_through() -> None:
    decisions = [Decision(Operation.ADDITION, (0, 1), None, at / 100) for at in range(100)]
    limit = threshold(decisions, 0.02)
    assert sum(each.certainty >= limit for each in decisions) == 2
    assert threshold(decisions[:1], 1) == threshold([], 0.1) == -FAR


def test_agreement_counts_the_order_where_it_matters() -> None:
    wanted = Decision(Operation.SUBTRACTION, (2, 1))
    assert agrees(Decision(Operation.SUBTRACTION, (2, 1)), wanted)
    assert not agrees(Decision(Operation.SUBTRACTION, (1, 2)), wanted)
    wanted = Decision(Operation.ADDITION, (2, 1))
    assert agrees(Decision(Operation.ADDITION, (1, 2)), wanted)
    assert not agrees(Decision(Operation.ADDITION, (1, 2), places=0), wanted)
    assert not agrees(Decision(None), Decision(None))
