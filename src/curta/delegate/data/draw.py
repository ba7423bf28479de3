"""What templates are written with: numbers and names at random, calls that are right, wording."""

from __future__ import annotations

import inspect
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import SimpleNamespace
from typing import TypeVar

from curta.delegate.calculator import Result
from curta.delegate.data.example import CALCULATOR, PROTOCOL

Choice = TypeVar("Choice")

NAMES = (
    "Ana", "Ben", "Chloe", "Dario", "Elif", "Farah", "George", "Hana", "Ines", "Jonas", "Kofi",
    "Lena", "Mateo", "Nadia", "Oscar", "Priya", "Quinn", "Rosa", "Samir", "Tara", "Umar", "Vera",
    "Wei", "Ximena", "Yusuf", "Zoe", "Amara", "Bjorn", "Celia", "Dmitri", "Esther", "Felix",
    "Gita", "Hugo", "Isla", "Jamal", "Kira", "Liam", "Mina", "Noah", "Olga", "Pavel", "Ravi",
    "Sofia", "Tomas", "Uma", "Victor", "Wanda", "Yara", "Zane",
)  # fmt: skip


class OtherwiseError(Exception):
    """What was drawn makes no sense, or has no clear answer; another draw may."""


class Call(Result):
    """A calculation; in text it is its result."""

    def __str__(self) -> str:
        return self.text

    @property
    def said(self) -> str:
        """The call with its result behind it, as an answer makes it."""
        return f"{PROTOCOL.open} {self.expression}{PROTOCOL.close}{PROTOCOL.answered(self.text)}"


@dataclass(frozen=True)
class Draw:
    """Choices at random.

    digits: how long the numbers are that may be of any length
    """

    random: random.Random
    digits: tuple[int, int] = (1, 4)

    def number(self, digits: int | None = None) -> int:
        """A whole number of so many digits, or of a length at random."""
        length = digits or self.random.randint(*self.digits)
        return self.random.randint(10 ** (length - 1) if length > 1 else 1, 10**length - 1)

    def between(self, low: int, high: int) -> int:
        """A whole number in a range, both ends included."""
        return self.random.randint(low, high)

    def decimal(self, low: float, high: float, places: int = 2) -> str:
        """A number with so many decimals, written without zeros at its end."""
        scale = 10**places
        drawn = self.random.randint(round(low * scale), round(high * scale))
        return CALCULATOR.evaluate(f"{drawn}/{scale}").text

    def choose(self, *choices: Choice) -> Choice:
        return self.random.choice(choices)

    def some(self, among: Sequence[Choice], count: int) -> list[Choice]:
        """So many different ones."""
        return self.random.sample(among, count)

    def name(self) -> str:
        """Somebody."""
        return self.random.choice(NAMES)

    def names(self, count: int) -> list[str]:
        """Several different people."""
        return self.some(NAMES, count)

    def chance(self) -> float:
        """Anything from 0 to 1."""
        return self.random.random()

    def calc(self, expression: str) -> Call:
        """A calculation, which has to have a result."""
        return Call(*CALCULATOR.evaluate(expression))

    def rounded(self, expression: str, places: int = 2) -> Call:
        """A calculation that is rounded; not at a half, which people round upwards."""
        doubled = CALCULATOR.evaluate(f"({expression}) * 2 * 10^{places}").value
        if isinstance(doubled, int) and doubled % 2:
            raise OtherwiseError
        return self.calc(f"round({expression}, {places})")

    def added(self, numbers: Iterable[int]) -> Call:
        """What was counted, added up."""
        return self.calc(" + ".join(map(str, numbers)))

    def several(self) -> int:
        """So many that the plural is right."""
        return max(2, self.number())

    def few(self) -> int:
        """A number as short stories have them: mostly of one or two digits, above 1."""
        ranges = ((2, 12), (3, 99), (3, 99))
        return self.choose(*(self.between(*each) for each in ranges), self.several())

    def price(self, low: int, high: int) -> str:
        """What something costs, as prices often end."""
        cents = self.choose("00", "50", "99", "25", "75", "40", f"{self.between(1, 98):02d}")
        return f"{self.between(low, high)}.{cents}"

    def amount(self, low: int, high: int) -> str:
        """An amount of money with two decimals."""
        return f"{self.between(low * 100, high * 100) / 100:.2f}"

    def parts(self, minutes: Call) -> tuple[Call, Call, str]:
        """Minutes in full hours, the minutes that are over, and both as they are read off a
        clock.
        """
        hours, over = self.calc(f"{minutes} // 60"), self.calc(f"{minutes} % 60")
        return hours, over, f"{hours}:{int(over.text):02}"

    def asked(self, question: str) -> str:
        """A question as it is, or with a word before or behind it."""
        before = self.choose(
            "", "", "", "Hi! ", "Hello. ", "A quick question. ", "Please help me. "
        )
        after = self.choose("", "", "", " Thank you!", " Thanks.", " A short answer will do.")
        return f"{before}{question}{after}" if question[-1] in "?." else question

    def phrase(self) -> str:
        """A few words that make some sense."""
        lists = facts()
        words = (lists.SUBJECTS, lists.VERBS, lists.OBJECTS, lists.ENDINGS)
        subject, verb, thing, ending = (self.choose(*among) for among in words)
        return f"{subject} {verb} {thing}{ending}"

    def short_phrase(self) -> str:
        """Two to five words in a row, without an order."""
        return " ".join(self.some(facts().WORDS, self.between(2, 5)))


DRAWING = [name for name, _ in inspect.getmembers(Draw, inspect.isfunction) if name[0] != "_"]
"""What templates draw with."""


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
