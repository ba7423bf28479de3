"""Tokens become text piece by piece, whatever the tokenizer; fragments say exactly their text."""

from __future__ import annotations

from functools import cache

import pytest

pytest.importorskip("transformers")

from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from curta.delegate.interception.events import CallRejected, Event
from curta.delegate.interception.generator import CalcGenerator
from curta.delegate.interception.pieces import INCOMPLETE, Fragments, TokenText
from curta.delegate.interception.protocol import Protocol
from curta.errors import TokenError
from tiny_language_models import tokenizer

CORPUS = [
    "<<calc: 12*34>> = 408, so",
    "naïve café 😀 日本語 = 1,234.5",
    ">>. >>) x>> 0 1 2 3 4 5 6 7 8 9",
    "abcdefghijklmnopqrstuvwxyz",
] * 3


@cache
def made(kind: str) -> PreTrainedTokenizerFast:
    """Pieces with cuts anywhere; bytes, so that characters have parts; words with their space."""
    if kind == "pieces":
        return tokenizer()
    given = Tokenizer(models.BPE(unk_token="<unk>" if kind == "words" else None))
    if kind == "bytes":
        given.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        given.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
    else:
        given.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
        given.decoder = decoders.Metaspace(prepend_scheme="first")
        alphabet = sorted({*"".join(CORPUS), "▁"})
    trainer = trainers.BpeTrainer(
        vocab_size=400, initial_alphabet=alphabet, special_tokens=["<unk>"], show_progress=False
    )
    given.train_from_iterator(CORPUS, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=given, clean_up_tokenization_spaces=False)


KINDS = ("pieces", "bytes", "words")
TEXTS = st.text(st.sampled_from([*"<>calc: 1234*=.,é😀日x"]), max_size=30)


@pytest.mark.parametrize("kind", KINDS)
@given(text=TEXTS)
def test_pieces_put_together_are_the_text(kind: str, text: str) -> None:
    if kind == "pieces":
        text = text.encode("ascii", "ignore").decode()
    tokens = made(kind).encode(text, add_special_tokens=False)
    said = TokenText(made(kind))
    pieces = [said.push(token) for token in tokens]
    assert not any(INCOMPLETE in piece for piece in pieces)
    whole = made(kind).decode(tokens, clean_up_tokenization_spaces=False)
    assert "".join(pieces) + said.finish() == whole


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", [" = 408", ">>", " 12*34>>", " = error: too large", "0", "."])
def test_fragments_say_exactly_their_text_behind_others(kind: str, text: str) -> None:
    fragment = Fragments(made(kind)).encode(text)
    before = made(kind).encode("<<calc: 1", add_special_tokens=False)
    said = TokenText(made(kind))
    for token in before:
        said.push(token)
    assert "".join(said.push(token) for token in fragment) == text


def test_text_that_a_tokenizer_cannot_say_is_no_answer() -> None:
    events: list[Event] = []
    row = CalcGenerator(None, tokenizer(), protocol=Protocol(answer=" → {}")).row(events)
    fed = [row.take(token) for token in tokenizer().encode("<<calc: 1+1>>")]
    assert all(len(tokens) == 1 for tokens in fed)
    assert isinstance(events[-1], CallRejected)
    assert isinstance(events[-1].error, TokenError)
    assert "".join(event.text for event in events) == "<<calc: 1+1>>"
