"""Tokens become text piece by piece, whatever the tokenizer; fragments say exactly their text."""

from __future__ import annotations

from functools import cache

import pytest

pytest.importorskip("transformers")

from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from curta.delegate.interception.events import CallRejected, Event
from curta.delegate.interception.generator import CalcGenerator
from curta.delegate.interception.pieces import INCOMPLETE, Fragments, TokenText
from curta.delegate.interception.protocol import Protocol
from curta.errors import TokenError
from tests.support.tiny_language_models import tokenizer

CORPUS = [
    "<<calc: 12*34>> = 408, so",
    "naïve café 😀 日本語 = 1,234.5",
    ">>. >>) x>> 0 1 2 3 4 5 6 7 8 9",
    "abcdefghijklmnopqrstuvwxyz",
] * 3


@cache
def made(kind: str) -> PreTrainedTokenizerFast:
    """Pieces with cuts anywhere; bytes, so that characters have parts; words with their space.

    Or characters, with bytes for those that are not in the vocabulary, as Llama 2 has them.
    """
    if kind == "pieces":
        return tokenizer()
    if kind == "byte fallback":
        return falling_back()
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


def falling_back() -> PreTrainedTokenizerFast:
    """A cut run of bytes is decoded to as many signs of incompleteness, complete ones with it."""
    known = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁"]
    known += sorted(each for each in {*"".join(CORPUS)} if each.isascii() and each != " ")
    given = Tokenizer(
        models.BPE(
            vocab={each: number for number, each in enumerate(known)},
            merges=[],
            unk_token="<unk>",
            byte_fallback=True,
        )
    )
    given.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    given.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    return PreTrainedTokenizerFast(tokenizer_object=given, clean_up_tokenization_spaces=False)


KINDS = ("pieces", "bytes", "words", "byte fallback")
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


def test_characters_of_bytes_one_behind_the_other_stay_whole() -> None:
    text = "a😀😀😀b日é x"
    said = TokenText(made("byte fallback"))
    pieces = [said.push(token) for token in made("byte fallback").encode(text)]
    assert [each for each in pieces if each] == [*text]


def test_what_is_fed_behind_a_character_of_bytes_is_whole() -> None:
    """An answer behind it, none, and a longer one: the next character is told as it is."""
    tokens = made("byte fallback").encode("😀日", add_special_tokens=False)[1:]
    said = TokenText(made("byte fallback"))
    assert "".join(said.push(token) for token in tokens) == "😀日"
    said.extend([])
    assert "".join(said.push(token) for token in tokens) == "😀日"
    said.extend(list(Fragments(made("byte fallback")).encode(" = 日日日日")))
    assert "".join(said.push(token) for token in tokens) == "😀日"
    said.push(made("byte fallback").convert_tokens_to_ids(">"))
    said.replace_last(tokens[-3:])
    assert "".join(said.push(token) for token in tokens) == "😀日"


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
    row = CalcGenerator(None, tokenizer(), protocol=Protocol(answer=" → {}")).row(events.append)
    fed = [row.take(token, 99) for token in tokenizer().encode("<<calc: 1+1>>")]
    assert all(len(tokens) == 1 for tokens in fed)
    assert isinstance(events[-1], CallRejected)
    assert isinstance(events[-1].error, TokenError)
    assert "".join(event.text for event in events) == "<<calc: 1+1>>"
