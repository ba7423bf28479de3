"""From text to tokens: numbers, names, operators; and what is written for them in prose.

Sugar, all there is: thousands separators in groups of three (1,234; not inside of calls and
lists, where a comma separates), a currency sign before a number ($5), the signs × · ÷ − ≤ ≥ ≠,
x between numbers (3x4), ^ for **, and `of` behind a percentage or a fraction (20% of 80).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from curta.delegate.calculator.budget import Budget
from curta.errors import ExpressionSyntaxError, TooLargeError, TooLongError

Token = tuple[str, str]
"""A piece of the text: number, name, operator or end; operators are written in one way, whatever
the text says."""

END: Token = ("end", "")

CURRENCIES = "$€£¥"
SPACES = " \t\u00a0\u202f"
SIGNS = {"×": "*", "·": "*", "⋅": "*", "∗": "*", "÷": "/", "∕": "/", "−": "-", "–": "-"}
SIGNS |= {"≤": "<=", "≥": ">=", "≠": "!=", "^": "**"}
ASCII = ("+", "-", "*", "/", "//", "%", "**", "<", "<=", ">", ">=", "==", "!=", *"()[],!")
WRITTEN: dict[str, Token] = {sign: ("operator", sign) for sign in ASCII}
WRITTEN |= {sign: ("operator", plain) for sign, plain in SIGNS.items()}
"""Operators as they are written."""

BRACKETS = frozenset("([)]")

OPERATORS = r"\*\*|//|<=|>=|==|!=|[-+*/%^<>()\[\],!×·⋅∗÷∕−–≤≥≠]"

DECIMAL = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
NUMBER = rf"{DECIMAL}(?:[eE][+-]?[0-9]+)?"
GROUPED = r"[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?"
TIMES = rf"[xX](?=[{SPACES}]*[0-9(.])"
APART = rf"(?![0-9A-Za-z_.{CURRENCIES}²³¹])|(?={TIMES})"
"""What may follow a number: nothing that it could run into. 0x10 is no product, 10x5 is one."""

PIECE = re.compile(
    rf"[{SPACES}]*(?:"
    rf"(?P<operator>{OPERATORS})"
    rf"|(?P<grouped>[{CURRENCIES}]?{GROUPED})(?!,[0-9])(?:{APART})"
    rf"|(?P<number>[{CURRENCIES}]?(?!0[xX]){NUMBER})(?:{APART})"
    rf"|(?P<times>(?<=[0-9).{SPACES}]){TIMES})"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<end>\n?\Z)"
    r"|(?P<strange>.))",
    re.DOTALL,
)
PLAIN = re.compile(
    r"(?:[-+*/%^()\[\] ]|[0-9]++(?:\.[0-9]++)?+(?![A-Za-z_.])|[a-z]{2,}+[0-9]*+(?![A-Za-z_.])"
    r"|[<>=!]=|[<>!]|,(?![0-9]{3}))*+"
)
"""What is written without any sugar, and taken apart at once."""
PLAIN_PIECE = re.compile(r"[0-9.]+|[-+%^()]|[a-z]+[0-9]*|\*\*?|//?|[<>=!]=?|[\[\],]")
UNGROUPED = re.compile(rf"(?P<number>[{CURRENCIES}]?{NUMBER})")


def tokens(text: str, budget: Budget) -> list[Token]:
    """All tokens of a text and its end."""
    if len(text) > budget.characters:
        raise TooLongError(f"{len(text)} characters; an expression has at most {budget.characters}")
    if PLAIN.fullmatch(text):
        found = [
            WRITTEN.get(piece) or ("name" if piece >= "a" else "number", piece)
            for piece in PLAIN_PIECE.findall(text)
        ]
        found.append(END)
        return found
    return list(all_tokens(text, budget))  # what is strange is told before what is wrong


def all_tokens(text: str, budget: Budget) -> Iterator[Token]:
    """The same, whatever is written."""
    commas_separate = [False]
    is_called = False
    for match in PIECE.finditer(text):
        kind = match.lastgroup
        assert kind is not None
        said = match[kind]
        if kind == "operator":
            if said in BRACKETS:
                brackets(said, commas_separate, is_called)
            yield WRITTEN[said]
        elif kind == "number":
            yield "number", plain(said, budget)
        elif kind == "grouped":
            yield from grouped(said, commas_separate[-1])
        elif kind == "times":
            yield WRITTEN["*"]
        elif kind == "name":
            yield "name", said
        elif kind == "end":
            break
        else:
            raise strange(text, match.start())
        is_called = kind == "name" and said != "of"
    yield END


def brackets(said: str, commas_separate: list[bool], is_called: bool) -> None:
    """Keep track of what a comma means: behind a name or in a list it separates."""
    if said in "([":
        commas_separate.append(said == "[" or is_called)
    elif len(commas_separate) > 1:
        commas_separate.pop()


def grouped(said: str, commas_separate: bool) -> Iterator[Token]:
    """A number in groups of three digits; where commas separate, several numbers."""
    said = said.lstrip(CURRENCIES)
    if not commas_separate:
        yield "number", said.replace(",", "")
        return
    first, *others = said.split(",")
    yield "number", first
    for other in others:
        yield from (WRITTEN[","], ("number", other))


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
