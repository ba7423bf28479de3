"""What templates are written with: numbers and names at random, and calls that are right."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from curta.delegate.calculator import Calculator, Result
from curta.delegate.data.example import PROTOCOL

Choice = TypeVar("Choice")

CALCULATOR = Calculator()

NAMES = (
    "Ana", "Ben", "Chloe", "Dario", "Elif", "Farah", "George", "Hana", "Ines", "Jonas", "Kofi",
    "Lena", "Mateo", "Nadia", "Oscar", "Priya", "Quinn", "Rosa", "Samir", "Tara", "Umar", "Vera",
    "Wei", "Ximena", "Yusuf", "Zoe", "Amara", "Bjorn", "Celia", "Dmitri", "Esther", "Felix",
    "Gita", "Hugo", "Isla", "Jamal", "Kira", "Liam", "Mina", "Noah", "Olga", "Pavel", "Ravi",
    "Sofia", "Tomas", "Uma", "Victor", "Wanda", "Yara", "Zane",
)  # fmt: skip


class HalfError(Exception):
    """What was drawn would have to be rounded at a half, which is a matter of convention."""


@dataclass(frozen=True)
class Call:
    """A calculation; in text it is its result."""

    result: Result

    @property
    def text(self) -> str:
        """The result alone, for what follows."""
        return self.result.text

    def __str__(self) -> str:
        return self.result.text

    @property
    def said(self) -> str:
        """The call with its result behind it, as an answer makes it."""
        return (
            f"{PROTOCOL.open} {self.result.expression}{PROTOCOL.close}"
            f"{PROTOCOL.answered(self.result.text)}"
        )


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
        """One of them."""
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
        return Call(CALCULATOR.evaluate(expression))

    def rounded(self, expression: str, places: int = 2) -> Call:
        """A calculation that is rounded; not at a half, which people round upwards."""
        doubled = CALCULATOR.evaluate(f"({expression}) * 2 * 10^{places}").value
        if isinstance(doubled, int) and doubled % 2:
            raise HalfError
        return self.calc(f"round({expression}, {places})")
