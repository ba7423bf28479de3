"""What a model's answer comes to, and whether that is right."""

from __future__ import annotations

import re
from fractions import Fraction

from curta.delegate.calculator import Calculator
from curta.delegate.data.example import CALL
from curta.errors import CalculatorError

CALCULATOR = Calculator()

NUMBER = r"-?[$€£]?-?(?:[0-9][0-9,]*(?:\.[0-9]+)?|\.[0-9]+)(?:e-?[0-9]+)?"
STATED = re.compile(r"(?:the answer is|answer:|####)\s*:?\s*(?P<said>[^\n]*)", re.IGNORECASE)
LAST = re.compile(NUMBER)
FEWEST_DECIMALS = 2
"""To which a result may be rounded that has as many or more."""


def final_answer(text: str) -> str | None:
    """What the text says at last: behind `The answer is`, or else its last number."""
    written = CALL.sub(lambda match: match["result"] or "", text).replace("−", "-")
    stated = list(STATED.finditer(written))
    if stated:
        said = stated[-1]["said"].rpartition("=")[2].strip().rstrip(".").strip()
        numbers = LAST.findall(said)
        return numbers[0] if numbers and not is_compound(said) else said or None
    numbers = LAST.findall(written)
    return numbers[-1] if numbers else None


def is_compound(said: str) -> bool:
    """Whether an answer is more than one number: 14:35, 3/4, 2 hours 10 minutes."""
    return len(LAST.findall(said)) > 1


def is_right(text: str, wanted: str) -> bool:
    """Whether an answer comes to the value that was asked for."""
    said = final_answer(text)
    return said is not None and same(said, wanted)


def same(said: str, wanted: str) -> bool:
    """Whether two results are one: the same number, rounded perhaps, or the same words."""
    a, b = value(said), value(wanted)
    if a is None or b is None:
        return words(said) == words(wanted)
    given, asked = decimals(said), decimals(wanted)
    if a == b:
        return True
    if not asked or given < min(asked, FEWEST_DECIMALS) or (a == 0) != (b == 0):
        return False
    return abs(a - b) <= Fraction(1, 2 * 10 ** min(given, asked))


def decimals(number: str) -> int:
    """How many digits are written behind the point."""
    return len(re.sub(r"[^0-9.]", "", number).rstrip(".").partition(".")[2])


def value(text: str) -> Fraction | None:
    """The number that a text is, if it is one."""
    plain = re.sub(r"[$€£,\s]", "", text).rstrip(".%")
    if not re.fullmatch(NUMBER, plain):
        return None
    try:
        return Fraction(CALCULATOR.evaluate(plain).value)
    except CalculatorError:
        return None


def words(text: str) -> str:
    """A text without capitals and spaces at its ends."""
    return " ".join(text.lower().rstrip(".").split())
