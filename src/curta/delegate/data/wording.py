"""What templates are worded with, besides what they draw."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from functools import cache, partial
from importlib.resources import files
from types import SimpleNamespace
from typing import Any

from curta.delegate.data.draw import Call, Draw


@cache
def facts() -> SimpleNamespace:
    """The lists of what templates talk about, by their names."""
    text = (files(__package__) / "templates" / "facts.txt").read_text(encoding="utf-8")
    found = SimpleNamespace()
    exec(compile(text, "facts.txt", "exec"), found.__dict__)
    return found


COUNTED_BY = 3
"""Letters that are counted at once in a single word."""


def a(number: int) -> str:
    """A number with its article: a 7, an 8."""
    said = str(number)
    return f"{'an' if said.startswith('8') or said in ('11', '18') else 'a'} {said}"


def article(word: str) -> str:
    """A word with a or an."""
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


def asked(draw: Draw, question: str) -> str:
    """A question as it is, or with a word before or behind it."""
    before = draw.choose("", "", "", "Hi! ", "Hello. ", "A quick question. ", "Please help me. ")
    after = draw.choose("", "", "", " Thank you!", " Thanks.", " A short answer will do.")
    return f"{before}{question}{after}" if question[-1] in "?." else question


# ---- numbers, money, times ----


def several(draw: Draw) -> int:
    """So many that the plural is right."""
    return max(2, draw.number())


def few(draw: Draw) -> int:
    """A number as short stories have them: mostly of one or two digits, above 1."""
    return draw.choose(draw.between(2, 12), draw.between(3, 99), draw.between(3, 99), several(draw))


def price(draw: Draw, low: int, high: int) -> str:
    """What something costs, as prices often end."""
    cents = draw.choose("00", "50", "99", "25", "75", "40", f"{draw.between(1, 98):02d}")
    return f"{draw.between(low, high)}.{cents}"


def amount(draw: Draw, low: int, high: int) -> str:
    """An amount of money with two decimals."""
    return f"{draw.between(low * 100, high * 100) / 100:.2f}"


def price_before(total: int, percent: int) -> str:
    """An amount that comes to a total, or just about, after a percentage is added."""
    cents = total * 10000 // (100 + percent)
    return f"{cents // 100}.{cents % 100:02d}"


def listed(numbers: list[int]) -> str:
    """Numbers in a sentence."""
    return f"{', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


def clock(minutes: int) -> str:
    """A time of day on the 24-hour clock."""
    return f"{minutes // 60}:{minutes % 60:02}"


def parts(draw: Draw, minutes: Call) -> tuple[Call, Call, str]:
    """Minutes in full hours, the minutes that are over, and both as they are read off a clock."""
    hours, over = draw.calc(f"{minutes} // 60"), draw.calc(f"{minutes} % 60")
    return hours, over, f"{hours}:{int(over.text):02}"


# ---- words and letters ----


def phrase(draw: Draw) -> str:
    """A few words that make some sense."""
    lists = facts()
    words = (lists.SUBJECTS, lists.VERBS, lists.OBJECTS, lists.ENDINGS)
    subject, verb, thing, ending = (draw.choose(*among) for among in words)
    return f"{subject} {verb} {thing}{ending}"


def short_phrase(draw: Draw) -> str:
    """Two to five words in a row, without an order."""
    return " ".join(draw.some(facts().WORDS, draw.between(2, 5)))


def vowels(text: str) -> int:
    """How many there are."""
    return sum(letter in "aeiou" for letter in text)


def added(draw: Draw, numbers: Iterable[int]) -> Call:
    """What was counted, added up."""
    return draw.calc(" + ".join(map(str, numbers)))


def counted(texts: Iterable[str], counts: Iterable[int]) -> str:
    """Each text with its count."""
    return ", ".join(f"{text} {count}" for text, count in zip(texts, counts, strict=True))


def chunks(word: str) -> list[str]:
    """A word in pieces that are easily counted."""
    return [word[at : at + COUNTED_BY] for at in range(0, len(word), COUNTED_BY)]


ALONE = (a, article, price_before, listed, clock, vowels, counted, chunks)
DRAWING = (asked, several, few, price, amount, parts, phrase, short_phrase, added)
CHOICES = [name for name, _ in inspect.getmembers(Draw, inspect.isfunction) if name[0] != "_"]


def words() -> dict[str, Any]:
    """All names that templates have, but those that draw."""
    return {each.__name__: each for each in ALONE} | {"facts": facts()}


def tools(draw: Draw) -> dict[str, Any]:
    """Those that draw."""
    drawn = {name: getattr(draw, name) for name in CHOICES}
    return drawn | {each.__name__: partial(each, draw) for each in DRAWING}
