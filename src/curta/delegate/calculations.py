"""Calculations that a text states, such as `12 * 7 = 83`, checked with the calculator.

Checked is what can be read beyond doubt; everything else is passed over:

* a call with a number behind it;
* an expression of numbers, operators and the calculator's functions, then `=`, then a number or
  another expression. Words of units may stand behind its numbers (`12 apples * 7 = 84`), but terms
  that are added must have the same unit. An expression that begins or ends within something longer
  (`x - 12 * 7 = 3`) or computes nothing (`5 = 5`) is none.

A stated result is right if it is equal, if it has decimals and is rounded at its last, or if it is
the same as a percentage. Of a chain (`2 + 3 = 5 + 4 = 9`) the first number behind `=` may be the
result too, as in calculations that run on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from curta.delegate.calculator.operations import FUNCTIONS
from curta.delegate.data.example import CALCULATOR, RESULT
from curta.errors import CalculatorError

CALL = re.compile(rf"<<calc:(?P<left>[^\n]*?)>>(?: = (?P<right>{RESULT}))?")

NUMBER = r"[$€£]?(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?%?"
UNIT = r"(?:(?: ?[A-Za-z]{2,}+(?:/[A-Za-z]{2,}+)?+){1,3}(?! [-−][0-9]))?"
"""Words behind a number; in `adding 32 gives -4 + 32 = 28` what follows is a sign, no operator.

A word is read whole or not at all: cut anywhere, there would be ever more ways to read a text.
"""

APART = r"(?=[xX] ?[0-9(]|(?!\.?[0-9_]|[A-Za-z](?![A-Za-z])))"
"""What may follow a number: 3x4 and 3kg are read, 3y is algebra."""

INSIDE = r"[^=\n()]*(?:\([^=\n()]*\)[^=\n()]*)*"
FUNCTION = rf"(?:{'|'.join(sorted(FUNCTIONS, reverse=True))})\({INSIDE}\)"
TERM = rf"\({{0,9}}(?:[-−]\({{0,9}})?(?:{FUNCTION}|{NUMBER}{APART}{UNIT})\){{0,9}}"
OPERATOR = r"(?: ?(?:\*\*|[-+*/×·⋅÷−–^]) ?| ?[xX] ?(?=[0-9($])| of )"
SIDE = rf"{TERM}(?:{OPERATOR}{TERM}){{0,30}}"
LEFT = rf"{TERM}(?:{OPERATOR}{TERM}){{1,30}}|{FUNCTION}"
EQUATION = re.compile(rf"(?<![0-9A-Za-z_.,:/])(?P<left>{LEFT}) ?= ?(?P<right>{SIDE})")
ALONE = re.compile(rf"\({{0,9}}[-−]?{NUMBER}")
WORDS = re.compile(r"(?<=[0-9%) ])(?!of [0-9($])[A-Za-z]{2,}(?![0-9A-Za-z(])(?:/[A-Za-z]{2,})?")
ITEM = re.compile(r"^[ \t]*(?:[-*•]|[0-9]+[.)])[ \t]+", re.MULTILINE)
"""A mark at the beginning of a line: what follows is no operand of it."""

COMPUTING = (
    r"(?i:percent|square[ds]?|cube[ds]?|factorials?|choose|mod(?:ulo)?|plus|minus|negative|times|"
    r"(?:multiplied|divided|divide|raised|increased|decreased)|by|over|of|than|power|roots?|sqrt|"
    r"cbrt|logs?|log|ln|exp|sin|cos|tan|pi|degrees?|radians?|twice|double|triple|hal(?:f|ves)|"
    r"thirds?|fourths?|fifths?|sixths?|eighths?|tenths?|quarters?|hundredths?|thousandths?|dozens?|"
    r"hundreds?|thousands?|millions?|billions?|trillions?)"
)
"""Words that are more than a unit: what is computed with them is more than what is read."""

DOUBTFUL = re.compile(
    rf"(?<![A-Za-z]){COMPUTING}(?![A-Za-z(])(?<! of)|(?<![0-9.,])0[0-9]|^[0-9]{{4}}-[0-9]+-[0-9]+$"
)
"""Such words in a calculation; half a number, such as the end of `1 000`; a date."""

LONGER_BEFORE = re.compile(rf"[-+*/×·⋅÷−–^%(√∙}})!]\s*$|[0-9] $|(?<![A-Za-z]){COMPUTING}\s*$")
LONGER_BEHIND = re.compile(r" ?(?:[*/×÷^+]|:[0-9]|[xX] ?[0-9(])| [0-9]{3}| [0-9]+/[0-9]")
SPELLINGS = {
    r"\times": "*", r"\cdot": "*", r"\div": "/", r"\$": "$", r"\%": "%", r"\(": " ", r"\)": " ",
    "**": "^", "\u00a0": " ",
}  # fmt: skip
"""How else signs are spelt, and how they are read here."""


@dataclass(frozen=True)
class Calculation:
    """One that a text states.

    worth: what the calculator says
    """

    expression: str
    stated: str
    worth: str
    right: bool

    def __str__(self) -> str:
        verdict = "right" if self.right else f"it is {self.worth}"
        return f"{self.expression} = {self.stated}: {verdict}"


def calculations(text: str) -> Iterator[Calculation]:
    """All that are stated, calls first."""
    for call in CALL.finditer(text):
        if call["right"] and (found := checked(call["left"].strip(), call["right"])):
            yield found
    plain = spelt_plainly(CALL.sub(lambda call: call["right"] or "", text))
    at = 0
    while match := EQUATION.search(plain, at):
        at = match.start("right")
        longer = LONGER_BEFORE.search(plain[: match.start()])
        if longer or LONGER_BEHIND.match(plain[match.end() :]) or unclear(match["left"]):
            continue
        if found := checked(match["left"], match["right"]):
            yield found


def spelt_plainly(text: str) -> str:
    """With the signs that are read here, and single spaces between them."""
    for spelling, sign in SPELLINGS.items():
        text = text.replace(spelling, sign)
    return re.sub("[ \t]+", " ", ITEM.sub("", text))


def unclear(expression: str) -> bool:
    """Whether terms of different units are added, or words may be more than units."""
    if DOUBTFUL.search(expression):
        return True
    units = {unit.lower().rstrip("s") for unit in WORDS.findall(expression)}
    return len(units) > 1 and bool(re.search("[-+−–]", expression))


def checked(left: str, right: str) -> Calculation | None:
    """Both sides beside each other; nothing if one of them cannot be read."""
    left, right = readable(left), readable(right.rstrip(".,;:)"))
    try:
        result = CALCULATOR.evaluate(left)
    except CalculatorError:
        return None
    alone = ALONE.match(right)
    sides = [right] if alone is None else [right, alone[0].lstrip("(")]
    values = {side: value for side in sides if (value := CALCULATOR.number(side)) is not None}
    if not values or isinstance(result.value, bool):
        return None
    good = right == result.text or any(
        is_same(Fraction(result.value), Fraction(value), side) for side, value in values.items()
    )
    return Calculation(left, right, result.text, good)


def readable(expression: str) -> str:
    """Without units, and without brackets that have no partner."""
    expression = " ".join(WORDS.sub("", expression).split())
    while expression.count("(") > expression.count(")") and expression.startswith("("):
        expression = expression[1:]
    while expression.count(")") > expression.count("(") and expression.endswith(")"):
        expression = expression[:-1]
    return expression


def is_same(exact: Fraction, stated: Fraction, written: str) -> bool:
    """Whether a result may be stated like this."""
    if written.endswith("%") and is_same(exact, 100 * stated, written[:-1]):
        return True
    _, point, decimals = written.rstrip("%").partition(".")
    reach = Fraction(0)
    if point and decimals.isdigit():
        reach = Fraction(1, 2 * 10 ** len(decimals)) / (100 if written.endswith("%") else 1)
    return abs(exact - stated) <= reach
