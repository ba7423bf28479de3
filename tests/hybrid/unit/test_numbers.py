"""Numbers are read as they stand, whatever tokens they are cut into."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest

pytest.importorskip("transformers")

from curta.delegate.interception.pieces import TokenText
from curta.hybrid.unit.numbers import Number, numbers_in, numbers_of_tokens
from tests.support.tiny_language_models import tokenizer, tokenizer_of_any_text

TEXTS = {
    "What is 12 plus 7?": ["12", "7"],
    "-5 - -3": ["-5", "-3"],
    "7-5": ["7", "5"],
    "7--3=": ["7", "-3"],
    "12 -5": ["12", "5"],
    "3 and -5": ["3", "-5"],
    "user\n-7 and (-2)": ["-7", "-2"],
    "1,234,567.50 or 1,23": ["1234567.5", "1", "23"],
    "0.50 and .25": ["0.5", "0.25"],
    "version 1.2.3, v2.0.1, A4, x-5": ["5"],
    "3rd of 5s": ["3", "5"],
    "$-5.00 is 007": ["-5", "7"],
    "−8 to 2024-05-17.": ["-8", "2024", "5", "17"],
    "-0": ["0"],
}


@pytest.mark.parametrize("text", TEXTS)
def test_numbers_of_a_text(text: str) -> None:
    spans = numbers_in(text)
    assert [str(span.number) for span in spans] == TEXTS[text]
    for span in spans:
        written = text[span.begin : span.end].replace(",", "").replace("−", "-")
        assert Fraction(written) == span.number.value


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("tokens", [tokenizer(), tokenizer_of_any_text()])
def test_tokens_of_numbers_are_those_that_hold_their_characters(text: str, tokens: object) -> None:
    text = text if tokens is tokenizer_of_any_text() else text.replace("−", "-")
    ids = tokens(text)["input_ids"]  # type: ignore[operator]
    said = TokenText(tokens)
    pieces = [said.push(token) for token in ids]
    assert "".join(pieces) == text
    spans = numbers_of_tokens(tokens, ids)
    assert [span.number for span in spans] == [span.number for span in numbers_in(text)]
    for span, where in zip(spans, numbers_in(text), strict=True):
        inside = "".join(pieces[span.begin : span.end])
        assert text[where.begin : where.end] in inside


def test_a_token_may_hold_more_than_a_number() -> None:
    ids = tokenizer()("is 17>> so 12.5>> ok")["input_ids"]
    spans = numbers_of_tokens(tokenizer(), ids)
    assert [str(span.number) for span in spans] == ["17", "12.5"]
    assert tokenizer().decode(ids[spans[0].begin : spans[0].end]).endswith("7>> so")


@pytest.mark.parametrize("seed", range(200))
def test_written_and_read_again(seed: int) -> None:
    drawn = Random(seed)
    digits = str(drawn.randrange(10 ** drawn.randint(1, 25)))
    number = Number(digits, drawn.randint(0, 8), drawn.random() < 0.5)
    (again,) = numbers_in(str(number))
    assert again.number.value == number.value
    assert not str(number).endswith(".")
