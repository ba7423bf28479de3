"""Numbers as they stand in a text: where, and their digits. Nothing is estimated.

A number is a sign, digits, and how many of them stand behind the point: `-1,250.50` is negative,
125050, 2. A minus is a sign unless something stands before it that it could be taken from, as in
`7 - 5`, `7 -5` or `page 3-5`. What has several points (`1.2.3`), and digits behind a letter (`A4`),
are no numbers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from curta.delegate.interception.pieces import TokenText

WRITTEN = re.compile(
    r"[^\W\d_]+[0-9]+(?:\.[0-9]+)*|[0-9]+(?:\.[0-9]+){2,}"
    r"|(?P<number>(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?|(?<![0-9])\.[0-9]+)"
)
MINUSES = "-−"


@dataclass(frozen=True)
class Number:
    """A decimal number, digit by digit; without zeros that say nothing before the point.

    digits: at least one, most significant first
    places: how many of them are behind the point
    """

    digits: str
    places: int = 0
    negative: bool = False

    @property
    def value(self) -> Fraction:
        """The same as a fraction, for what only checks."""
        return Fraction(int(self.digits), 10**self.places) * (-1 if self.negative else 1)

    @property
    def is_zero(self) -> bool:
        return not self.digits.strip("0")

    @property
    def parts(self) -> tuple[str, str]:
        """The digits before the point, one at least, and those behind it."""
        digits = self.digits.rjust(self.places + 1, "0")
        point = len(digits) - self.places
        return digits[:point], digits[point:]

    def __str__(self) -> str:
        """In decimal, without zeros at the end of what is behind the point."""
        before, behind = self.parts
        before, behind = before.lstrip("0") or "0", behind.rstrip("0")
        sign = "-" if self.negative and not self.is_zero else ""
        return f"{sign}{before}.{behind}" if behind else f"{sign}{before}"


@dataclass(frozen=True)
class Span:
    """A number and where it stands: from character or token `begin` to before `end`."""

    number: Number
    begin: int
    end: int


def numbers_in(text: str) -> list[Span]:
    """All numbers of a text, by characters."""
    found = []
    for match in WRITTEN.finditer(text):
        if match["number"] is None:
            continue
        begin = match.start()
        negative = begin > 0 and text[begin - 1] in MINUSES and is_sign(text, begin - 1)
        before, _, behind = match["number"].replace(",", "").partition(".")
        number = Number((before + behind).lstrip("0") or "0", len(behind), negative)
        found.append(Span(number, begin - negative, match.end()))
    return found


def is_sign(text: str, at: int) -> bool:
    """Whether a minus says that what follows is negative, rather than to take it from something."""
    if at > 0 and (text[at - 1].isalnum() or text[at - 1] in ")%"):
        return False
    before = text[:at].rstrip(" \t")
    return not before or not (before[-1].isdigit() or before[-1] in ")%")


def numbers_of_tokens(tokenizer: Any, ids: Sequence[int]) -> list[Span]:
    """All numbers of a row of tokens, by tokens: those that hold a character of it. A character in
    several tokens is in the last of them.
    """
    text = TokenText(tokenizer)
    pieces = [text.push(token) for token in ids]
    owners = [at for at, piece in enumerate(pieces) for _ in piece]
    return [
        Span(span.number, owners[span.begin], owners[span.end - 1] + 1)
        for span in numbers_in("".join(pieces))
    ]
