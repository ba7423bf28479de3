"""From tokens to text as they come, and from text to tokens that mean exactly that text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from itertools import takewhile
from typing import Any

from curta.errors import TokenError

INCOMPLETE = "\ufffd"
ANCHORS = ("", ">", "0", "\n", " ")
"""Texts to put before a fragment, so that a tokenizer does not take it for a text's beginning."""


class TokenText:
    """The text of a row of tokens, in pieces; a piece waits until its last character is whole."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.tokens: list[int] = []
        self.before = 0
        """Where the tokens begin that the next piece is decoded with."""
        self.done = 0
        """How many tokens have been passed on as text."""

    @property
    def is_waiting(self) -> bool:
        """Whether there are tokens that are not yet text."""
        return self.done < len(self.tokens)

    def push(self, token: int) -> str:
        """The text that is complete with this token."""
        self.tokens.append(token)
        piece = self.pending()
        if not piece or piece.endswith(INCOMPLETE):
            return ""
        self.accept()
        return piece

    def replace_last(self, tokens: list[int]) -> None:
        """Other tokens instead of the last one, which was a piece; their text is known already."""
        self.done = len(self.tokens) - 1
        self.tokens[-1:] = tokens
        self.accept()

    def extend(self, tokens: list[int]) -> None:
        """Tokens whose text is known already."""
        self.tokens.extend(tokens)
        self.accept()

    def finish(self) -> str:
        """Whatever is left, complete or not."""
        piece = self.pending()
        self.accept()
        return piece

    def pending(self) -> str:
        """The text of the tokens that have not been passed on."""
        told = self.decode(self.tokens[self.before : self.done])
        return self.decode(self.tokens[self.before :])[len(told) :]

    def accept(self) -> None:
        """All tokens have been passed on; the last piece stays, to decode the next one with.

        It begins with a character. Some tokenizers, given a part of one, spoil those behind it.
        """
        if self.is_waiting:
            self.before, self.done = self.done, len(self.tokens)

    def decode(self, tokens: list[int]) -> str:
        options = {"skip_special_tokens": False, "clean_up_tokenization_spaces": False}
        return str(self.tokenizer.decode(tokens, **options))


class Fragments:
    """Tokens for pieces of text that stand in the middle of other text."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.encode = lru_cache(maxsize=4096)(self.encode_anew)

    @cached_property
    def signs(self) -> tuple[str, ...]:
        """Texts that would become tokens with a meaning of their own, such as the end of a turn."""
        return tuple(text for text in self.tokenizer.get_added_vocab() if len(text) > 1)

    def harmless(self, text: str) -> str:
        """What a tool has said, without such: a space stands in them."""
        for sign in self.signs:
            text = text.replace(sign, f"{sign[0]} {sign[1:]}")
        return text

    def encode_anew(self, text: str) -> tuple[int, ...]:
        """Tokens that decode to the text wherever they stand."""
        for anchor in ANCHORS:
            ahead = self.tokenizer.encode(anchor, add_special_tokens=False) if anchor else []
            tokens = self.tokenizer.encode(anchor + text, add_special_tokens=False)
            made = tokens[len(ahead) :]
            if made and tokens[: len(ahead)] == ahead and self.said(made) == text:
                return tuple(made)
        raise TokenError(f"the tokenizer has no tokens that say exactly {text!r}")

    @cached_property
    def ahead(self) -> tuple[list[int], int]:
        """Tokens for others to stand behind, and how many characters these are."""
        tokens = self.tokenizer.encode("0", add_special_tokens=False)
        return tokens, len(TokenText(self.tokenizer).decode(tokens))

    def said(self, tokens: list[int]) -> str:
        """What tokens say in the middle of a text."""
        ahead, told = self.ahead
        return TokenText(self.tokenizer).decode([*ahead, *tokens])[told:]


def common(*rows: Sequence[Any]) -> int:
    """How many characters, or tokens, all of them begin with."""
    return sum(1 for _ in takewhile(lambda each: len(set(each)) == 1, zip(*rows, strict=False)))
