"""What a model's answer comes to, and whether that is right."""

from __future__ import annotations

import re
from fractions import Fraction

from curta.delegate.data.example import CALCULATOR, CALL

NUMBER = r"-?[$€£]?-?(?:[0-9][0-9,]*(?:\.[0-9]+)?|\.[0-9]+)(?:e-?[0-9]+)?"
STATED = re.compile(
    rf"(?:the answer is|answer:|####(?=\s*{NUMBER}))\s*:?\s*(?P<said>[^\n]*)", re.IGNORECASE
)
BOXED = re.compile(r"\\boxed\{((?:[^{}]|\{[^{}]*\})*)\}")
MATHEMATICS = re.compile(r"\\[\[\]()]")
"""Signs around what LaTeX sets as mathematics."""

LAST = re.compile(NUMBER)
JOINED = re.compile(r"[0-9]\s*[:/]\s*[0-9]|[0-9]\s*[a-z]+,?(?: and)? [0-9]", re.IGNORECASE)
"""Numbers that are one answer together: 14:35, 3/4, 2 hours 10 minutes."""

FEWEST_DECIMALS = 2
"""To which a result may be rounded that has more."""

PRINTED_DECIMALS = 6
"""To which the calculator rounds: a result with as many may itself be rounded."""


def final_answer(text: str) -> str | None:
    """What the text says at last: behind `The answer is` or in a box, or else its last number."""
    written = CALL.sub(lambda match: match["result"] or "", text).replace("−", "-")
    written = MATHEMATICS.sub(" ", BOXED.sub(r"\nThe answer is \1\n", written))
    stated = list(STATED.finditer(written))
    if stated:
        said = stated[-1]["said"].rpartition("=")[2].strip().rstrip(".").strip()
        numbers = LAST.findall(said)
        return numbers[0] if len(numbers) == 1 else said or None
    numbers = LAST.findall(written)
    return numbers[-1] if numbers else None


def is_right(text: str, wanted: str) -> bool:
    """Whether an answer comes to the value that was asked for.

    Of a sentence with several numbers (`5 apples for each of the 3`) the first counts.
    """
    said = final_answer(text)
    if said is None:
        return False
    if same(said, wanted):
        return True
    first = LAST.search(said)
    return bool(
        first and value(wanted) is not None and not JOINED.search(said) and same(first[0], wanted)
    )


def same(said: str, wanted: str) -> bool:
    """Whether two results are one: the same number, rounded perhaps, or the same words.

    Rounded either to fewer decimals, at least two and two digits that count; or the wanted one has
    as many as the calculator prints, so that it may be rounded itself.
    """
    a, b = value(said), value(wanted)
    if a is None or b is None:
        return words(said) in (words(wanted), words(wanted) + " am")
    given, asked = decimals(said), decimals(wanted)
    digits_that_count = len(re.sub(r"[^0-9]", "", said).lstrip("0"))
    fewer = FEWEST_DECIMALS <= given < asked and digits_that_count >= FEWEST_DECIMALS
    more = given >= asked >= PRINTED_DECIMALS
    is_near = abs(a - b) <= Fraction(1, 2 * 10 ** min(given, asked))
    return a == b or ((fewer or more) and is_near)


def decimals(number: str) -> int:
    """How many digits are written behind the point."""
    return len(re.sub(r"[^0-9.]", "", number).rstrip(".").partition(".")[2])


def value(text: str) -> Fraction | None:
    """The number that a text is, if it is one."""
    plain = re.sub(r"[$€£,\s]", "", text).rstrip(".%")
    number = CALCULATOR.number(plain) if re.fullmatch(NUMBER, plain) else None
    return None if number is None else Fraction(number)


def words(text: str) -> str:
    """A text without capitals, articles, zeros before an hour, and spaces at its ends."""
    plain = " ".join(text.lower().rstrip(".").split())
    return re.sub(r"\b0(?=[0-9]:[0-9])", "", re.sub(r"^(?:an?|the) ", "", plain))
