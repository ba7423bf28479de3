"""Which tokens a model learns: its own, and not those that the calculator writes."""

from __future__ import annotations

from itertools import islice

import pytest

pytest.importorskip("transformers")

from curta.delegate.data.example import CALL, Example
from curta.delegate.data.templates import example, mistakes, templates
from curta.delegate.training.config import TrainingConfig
from curta.delegate.training.encoding import IGNORED, Encoder, batch
from curta.delegate.training.trainer import batches
from curta.errors import DataError
from tests.support.tiny_language_models import chat_tokenizer, tokenizer, tokenizer_of_any_text

ONE = Example(
    "How many?",
    "There are <<calc: 6*7>> = 42, and half is <<calc: 42/2>> = 21.\nThe answer is 21.",
    "21",
    "arithmetic",
    "arithmetic/none",
)


def learned(encoder: Encoder, one: Example) -> str:
    encoded = encoder(one)
    assert encoded is not None
    return encoder.tokenizer.decode([label for label in encoded.labels if label != IGNORED])


def test_results_and_questions_are_not_learned() -> None:
    encoder = Encoder(chat_tokenizer())
    assert learned(encoder, ONE) == (
        "There are <<calc: 6*7>>, and half is <<calc: 42/2>>.\nThe answer is 21.<end>"
    )
    encoded = encoder(ONE)
    assert encoded is not None
    text = encoder.tokenizer.decode(list(encoded.tokens))
    assert text == f"user: How many?\nassistant: {ONE.answer}<end>"


def test_a_unit_right_behind_a_result_is_learned() -> None:
    one = Example(
        "?", "It is <<calc: 10000/2>> = 5000$, or <<calc: 1/2>> = 0.5% each.", "1", "", ""
    )
    assert learned(Encoder(chat_tokenizer()), one) == (
        "It is <<calc: 10000/2>>$, or <<calc: 1/2>>% each.<end>"
    )


def test_without_calls_everything_is_the_models_own() -> None:
    encoder = Encoder(chat_tokenizer(), TrainingConfig(calls=False))
    assert learned(encoder, ONE) == (
        "There are 6*7 = 42, and half is 42/2 = 21.\nThe answer is 21.<end>"
    )


def test_calls_that_fail_are_read_and_not_learned() -> None:
    failing = Example(
        "How many?",
        "Both: <<calc: 2*(3+4>> = error: syntax error. It was open.\nAgain: <<calc: 2*(3+4)>> = 14."
        "\nThe answer is 14.",
        "14",
        "mistake",
        "mistake/none",
    )
    encoder = Encoder(chat_tokenizer())
    assert learned(encoder, failing) == (
        "Both: . It was open.\nAgain: <<calc: 2*(3+4)>>.\nThe answer is 14.<end>"
    )
    encoded = encoder(failing)
    assert encoded is not None
    assert failing.answer in encoder.tokenizer.decode(list(encoded.tokens))
    without = Encoder(chat_tokenizer(), TrainingConfig(calls=False))
    assert learned(without, failing) == "Again: 2*(3+4) = 14.\nThe answer is 14.<end>"


def test_all_mistakes_are_learned_without_the_mistake() -> None:
    encoder = Encoder(chat_tokenizer())
    for template in mistakes():
        for number in range(5):
            one = example(template, 0, number, (1, 4))
            wanted = CALL.sub(lambda call: "" if call["failure"] else call[0], one.answer)
            for call in CALL.finditer(wanted):
                wanted = wanted.replace(call["behind"], "")
            assert learned(encoder, one) == f"{wanted}<end>"


def test_other_markers_are_learned_instead() -> None:
    encoder = Encoder(chat_tokenizer(), TrainingConfig(open="[[", close="]]"))
    assert learned(encoder, ONE).startswith("There are [[ 6*7]], and half is [[ 42/2]].")


def test_all_templates_can_be_encoded_and_read_back() -> None:
    encoder = Encoder(tokenizer_of_any_text(), TrainingConfig(longest=10_000))
    drawn = [example(template, 0, number, (1, 4)) for template in templates() for number in (0, 1)]
    assert any(not (one.question + one.answer).isascii() for one in drawn)
    for one in drawn:
        encoded = encoder(one)
        assert encoded is not None
        told = f"user: {one.question}\nassistant: {one.answer}<end>"
        assert encoder.tokenizer.decode(list(encoded.tokens)) == told


def test_long_conversations_are_left_out_and_templates_are_needed() -> None:
    assert Encoder(chat_tokenizer(), TrainingConfig(longest=30))(ONE) is None
    with pytest.raises(DataError, match="no chat template"):
        Encoder(tokenizer())


def test_a_batch_is_filled_up_on_the_right() -> None:
    encoder = Encoder(chat_tokenizer())
    short = Example("a", "b", None, "negative", "none")
    rows = [encoder(one) for one in (ONE, short)]
    made = batch([row for row in rows if row])
    assert made["input_ids"].shape == made["labels"].shape == made["attention_mask"].shape
    count = int(made["attention_mask"][1].sum())
    assert count == len(rows[1] or ())
    assert (made["labels"][1, count:] == IGNORED).all()


def test_an_epoch_has_every_example_once_and_batches_are_of_like_length() -> None:
    lengths = [(7 * n) % 100 + 1 for n in range(640)]
    epoch = list(islice(batches(lengths, 8, seed=3), 80))
    assert sorted(number for one in epoch for number in one) == list(range(640))
    assert epoch == list(islice(batches(lengths, 8, seed=3), 80))
    assert epoch != list(islice(batches(lengths, 8, seed=4), 80))
    spread = [max(lengths[n] for n in one) - min(lengths[n] for n in one) for one in epoch]
    assert sum(spread) / len(spread) < 15
    firsts = [lengths[one[0]] for one in epoch]
    assert firsts != sorted(firsts)
