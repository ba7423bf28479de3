"""Symbols and their token numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from curta.errors import ExperimentError, TokenError

END = "#"
"""Ends every answer, and fills up the rest of a row."""

NUMBER = "N"
"""Stands for every number that is one token."""

PAUSE = "~"
"""A token without a meaning, between question and answer: room to think."""


@dataclass(frozen=True)
class Alphabet:
    """All symbols that a task and a format use together.

    `#` is token 0; the digits of the base come next, in order; then their other names if they have
    any, in the same order; then all other symbols.
    """

    base: int
    others: tuple[str, ...]
    digit_names: tuple[str, ...] = ()
    """How digits are shown, where they aren't shown as digits."""
    second_digits: tuple[str, ...] = ()
    """Other names of the digits, for formats that write some numbers otherwise."""
    number_places: int = 0
    """Not 0 where a whole number of up to so many digits is one token: `first_number` + value."""

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """By token number; the last stands for all numbers where these are tokens."""
        digits = self.digit_names or digit_names(self.base)
        numbers = (NUMBER,) if self.number_places else ()
        return (END, *digits, *self.second_digits, *self.others, *numbers)

    @cached_property
    def tokens(self) -> dict[str, int]:
        """By symbol."""
        return {symbol: token for token, symbol in enumerate(self.symbols)}

    @property
    def size(self) -> int:
        return len(self.symbols)

    @property
    def first_digit(self) -> int:
        """The token of digit 0."""
        return 1

    @property
    def digit_tokens(self) -> int:
        """How many tokens from the first digit are digits."""
        return self.base + len(self.second_digits)

    @property
    def end(self) -> int:
        return 0

    @property
    def first_number(self) -> int:
        """The token of the number 0, where numbers are tokens."""
        return self.size - 1

    def token(self, symbol: str) -> int:
        """The token number of a symbol."""
        if symbol not in self.tokens:
            raise TokenError(f"{symbol!r} is not in the alphabet: {' '.join(self.symbols)}")
        return self.tokens[symbol]

    def encode(self, text: str) -> list[int]:
        """Token numbers of a text: at every point the longest symbol that fits."""
        tokens, at = [], 0
        longest = max(map(len, self.symbols))
        while at < len(text):
            if self.number_places and (number := re.match("[0-9]+", text[at:])):
                tokens.append(self.number_token(number[0]))
                at += len(number[0])
                continue
            for size in range(longest, 0, -1):
                if text[at : at + size] in self.tokens:
                    tokens.append(self.tokens[text[at : at + size]])
                    at += size
                    break
            else:
                if not text[at].isspace():
                    raise TokenError(
                        f"{text[at]!r} in {text!r} is not in the alphabet of this run: "
                        f"{' '.join(self.symbols)}"
                    )
                at += 1
        return tokens

    def number_token(self, text: str) -> int:
        """The token of a whole number."""
        if len(text) > self.number_places or self.base != 10:
            raise TokenError(
                f"{text} cannot be one token: in this run numbers have up to "
                f"{self.number_places} digits in base {self.base}, and text is read in base 10"
            )
        return self.first_number + int(text)

    def decode(self, tokens: Sequence[int] | np.ndarray) -> str:
        """The text of a row of tokens, up to its end."""
        shown = []
        for token in tokens:
            is_number = self.number_places and int(token) >= self.first_number
            shown.append(
                str(int(token) - self.first_number) if is_number else self.symbols[int(token)]
            )
            if int(token) == self.end:
                break
        return "".join(shown)


def digit_names(base: int) -> tuple[str, ...]:
    """Digits of equal width: 0 to 9, then as many places as the largest digit needs."""
    width = len(str(base - 1))
    return tuple(str(digit).zfill(width) for digit in range(base))


def letters(count: int) -> tuple[str, ...]:
    """So many capital letters, numbered behind the first 26; no task has them as symbols."""
    return tuple(
        chr(ord("A") + index % 26) + (str(index // 26) if index >= 26 else "")
        for index in range(count)
    )


def alphabet(base: int, symbols: Iterable[str], second: Sequence[str] = ()) -> Alphabet:
    """An alphabet with each of the symbols once, in order of first mention."""
    named = tuple(dict.fromkeys(symbols))
    for symbol in {END, PAUSE}.intersection(named):
        raise ExperimentError(
            f"{symbol!r} cannot be a symbol of a task or format: it stands for the end of an "
            "answer (#), or a pause (~)"
        )
    given = {*digit_names(base), *second}
    others = [symbol for symbol in named if symbol not in given]
    return Alphabet(base=base, others=tuple(others), second_digits=tuple(second))
