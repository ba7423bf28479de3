"""What templates are worded with, besides what they draw."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from types import SimpleNamespace


@cache
def facts() -> SimpleNamespace:
    """The lists of what templates talk about, by their names."""
    text = (files(__package__) / "templates" / "facts.txt").read_text(encoding="utf-8")
    found = SimpleNamespace()
    exec(compile(text, "facts.txt", "exec"), found.__dict__)
    return found


COUNTED_BY = 3
"""Letters that are counted at once in a single word."""


def article(word: object) -> str:
    """A word or a number with a or an: a cube, an 8."""
    said = str(word)
    return f"{'an' if said[0] in 'aeiou8' or said in ('11', '18') else 'a'} {said}"


def listed(numbers: list[int]) -> str:
    """Numbers in a sentence."""
    return f"{', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


def clock(minutes: int) -> str:
    """A time of day on the 24-hour clock."""
    return f"{minutes // 60}:{minutes % 60:02}"


def vowels(text: str) -> int:
    """How many there are."""
    return sum(letter in "aeiou" for letter in text)


def counted(texts: Iterable[str], counts: Iterable[int]) -> str:
    """Each text with its count."""
    return ", ".join(f"{text} {count}" for text, count in zip(texts, counts, strict=True))


def chunks(word: str) -> list[str]:
    """A word in pieces that are easily counted."""
    return [word[at : at + COUNTED_BY] for at in range(0, len(word), COUNTED_BY)]


WORDS = {each.__name__: each for each in (article, listed, clock, vowels, counted, chunks)}
"""By the names that templates have for them."""
