"""From text to tokens: numbers, names, operators; and what is written for them in prose.

Sugar, all there is: thousands separators in groups of three (1,234; not inside of calls and
lists, where a comma separates), a currency sign before a number ($5), the signs × · ÷ − ≤ ≥ ≠,
x between numbers (3x4), ^ for **, and `of` behind a percentage or a fraction (20% of 80).
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from curta.delegate.calculator.budget import Budget
from curta.errors import ExpressionSyntaxError, TooLargeError, TooLongError

Kind = Literal["number", "name", "operator", "end"]


class Token(NamedTuple):
    """A piece of the text. Operators are written in one way, whatever the text says."""

    kind: Kind
    text: str


END = Token("end", "")

CURRENCIES = "$€£¥"
SPACES = " \t\u00a0\u202f"
SIGNS = {"×": "*", "·": "*", "⋅": "*", "∗": "*", "÷": "/", "∕": "/", "−": "-", "–": "-"}
SIGNS |= {"≤": "<=", "≥": ">=", "≠": "!=", "^": "**"}
ASCII = ("+", "-", "*", "/", "//", "%", "**", "<", "<=", ">", ">=", "==", "!=", *"()[],!")
WRITTEN = {sign: Token("operator", sign) for sign in ASCII}
WRITTEN |= {sign: Token("operator", plain) for sign, plain in SIGNS.items()}
"""Operators as they are written, made once."""

BRACKETS = frozenset("([)]")

OPERATORS = r"\*\*|//|<=|>=|==|!=|[-+*/%^<>()\[\],!×·⋅∗÷∕−–≤≥≠]"

NUMBER = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
GROUPED = r"[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?"
TIMES = rf"[xX](?=[{SPACES}]*[0-9(.])"
APART = rf"(?![0-9A-Za-z_.{CURRENCIES}²³¹])|(?={TIMES})"
"""What may follow a number: nothing that it could run into. 0x10 is no product, 10x5 is one."""

PIECE = re.compile(
    rf"[{SPACES}]*(?:"
    r"(?P<digits>[0-9]+(?=[-+*/()%^]|$))"  # a number like most, found at once
    rf"|(?P<operator>{OPERATORS})"
    rf"|(?P<grouped>[{CURRENCIES}]?{GROUPED})(?!,[0-9])(?:{APART})"
    rf"|(?P<number>[{CURRENCIES}]?(?!0[xX]){NUMBER})(?:{APART})"
    rf"|(?P<times>(?<=[0-9).{SPACES}]){TIMES})"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<end>$))"
)
UNGROUPED = re.compile(rf"[{SPACES}]*(?P<number>[{CURRENCIES}]?{NUMBER})")


def tokens(text: str, budget: Budget) -> list[Token]:
    """All tokens of a text and its end."""
    if len(text) > budget.characters:
        raise TooLongError(f"{len(text)} characters; an expression has at most {budget.characters}")
    found: list[Token] = []
    commas_separate = [False]
    at = 0
    while True:
        match = PIECE.match(text, at)
        if match is None:
            raise strange(text, at)
        kind = match.lastgroup
        if kind == "grouped" and commas_separate[-1]:
            match = UNGROUPED.match(text, at)
            assert match is not None
            kind = "number"
        assert kind is not None
        said = match[kind]
        at = match.end()
        if kind == "digits":
            found.append(Token("number", said))
        elif kind == "operator":
            if said in BRACKETS:
                brackets(said, found, commas_separate)
            found.append(WRITTEN[said])
        elif kind == "number":
            found.append(Token("number", plain(said, budget)))
        elif kind == "name":
            found.append(Token("name", said))
        elif kind == "grouped":
            found.append(Token("number", plain(said.replace(",", ""), budget)))
        elif kind == "times":
            found.append(WRITTEN["*"])
        else:
            found.append(END)
            return found


def brackets(said: str, before: list[Token], commas_separate: list[bool]) -> None:
    """Keep track of what a comma means: behind a name or in a list it separates."""
    if said in "([":
        calls = bool(before) and before[-1].kind == "name" and before[-1].text != "of"
        commas_separate.append(said == "[" or calls)
    elif len(commas_separate) > 1:
        commas_separate.pop()


def plain(digits: str, budget: Budget) -> str:
    """A number without its currency, if its exponent is not too large to be written out."""
    if digits.isdigit():
        return digits
    if digits[0] in CURRENCIES:
        digits = digits[1:]
    if "e" in digits or "E" in digits:
        exponent = digits.lower().partition("e")[2]
        if abs(int(exponent)) > budget.decimal_exponent:
            raise TooLargeError(f"{digits}: exponents go up to {budget.decimal_exponent}")
    return digits


def strange(text: str, at: int) -> ExpressionSyntaxError:
    """What to say where no token begins."""
    rest = text[at:].lstrip(SPACES)
    character = rest[0]
    if number := UNGROUPED.match(rest):
        said = number["number"]
        return ExpressionSyntaxError(
            f"{said!r} runs into {rest[len(said) :]!r}: put an operator between them"
        )
    if character.isnumeric():
        return ExpressionSyntaxError(f"{character!r} is no digit here: write digits as 0 to 9")
    if character == "=":
        return ExpressionSyntaxError("a single '=' means nothing: write == to compare")
    return ExpressionSyntaxError(f"{character!r} means nothing in an expression")
