"""The suite of number tasks against Python's fractions."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

from curta.errors import ExperimentError
from curta.learn import catalogue
from curta.learn.tasks.suite import OPERATIONS
from tests.support.learn_texts import (
    fraction,
    language,
    rows_of,
    show,
    show_point,
    sign,
    some_operands,
    texts_of,
)

WORD = re.compile("max|min|compare|digit|length|count|to_float|to_scientific")


def read(kind: str, text: str) -> Fraction:
    """The value of a number as it is written."""
    if kind == "fraction":
        above, below = text.split("/")
        return Fraction(int(above), int(below))
    mantissa, _, exponent = text.partition("e")
    return fraction(mantissa) * Fraction(10) ** int(exponent or 0)


def write(kind: str, value: Fraction) -> str:
    """How a number is written; of a fraction in lowest terms."""
    if kind == "fraction":
        return f"{value.numerator}/{value.denominator}"
    if kind != "scientific":
        return show_point(value)
    exponent = 0
    while value and abs(value) >= 10:
        value, exponent = value / 10, exponent + 1
    while value and abs(value) < 1:
        value, exponent = value * 10, exponent - 1
    return f"{show_point(value)}e{exponent}"


def answer(kind: str, operation: str, question: str) -> str:
    """What is to be answered to a question."""
    if operation in ("add", "sub", "mul"):
        operator = {"add": r"\+", "sub": "-", "mul": r"\*"}[operation]
        a, b = re.fullmatch(rf"(.*?[^e]){operator}(.*)=", question).groups()
        x, y = read(kind, a), read(kind, b)
        return write(kind, {"add": x + y, "sub": x - y, "mul": x * y}[operation])
    assert WORD.match(question)[0] == operation
    given = question.removeprefix(operation)[:-1].split(",")
    digits = given[0].replace(".", "")
    match operation:
        case "compare":
            return sign(read(kind, given[0]) - read(kind, given[1]))
        case "max" | "min":
            pick = max if operation == "max" else min
            return pick(given[::-1], key=lambda each: read(kind, each))
        case "digit":
            return digits[int(given[1]) - 1]
        case "length":
            return show(len(digits))
        case "count":
            return show(digits.count(given[1]))
        case _:
            return write(operation.removeprefix("to_"), read(kind, given[0]))


def check(kind: str, operation: str, places: int, rows: int) -> None:
    made = language(f"suite(kind={kind!r}, operation={operation!r})")
    found = texts_of(made, rows_of(made, *some_operands(made, rows, places)))
    for question, said in found:
        assert said == answer(kind, operation, question), question + said
    assert len({question for question, _ in found}) > rows / 4


ALL = [(kind, operation) for kind, operations in OPERATIONS.items() for operation in operations]

FEW = [
    ("float", "digit"),
    ("scientific", "sub"),
    ("fraction", "max"),
]


@pytest.mark.parametrize(("kind", "operation"), FEW)
def test_answers(kind: str, operation: str) -> None:
    check(kind, operation, 3, 256)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "operation"), ALL)
def test_all_answers(kind: str, operation: str) -> None:
    check(kind, operation, 4 if kind == "fraction" else 12, 512)


def test_kinds_without_an_operation_say_which_they_have() -> None:
    with pytest.raises(ExperimentError, match=r"operation = 'digit': for kind = 'fraction'.*max"):
        catalogue.task("suite(kind='fraction', operation='digit')")
    with pytest.raises(ExperimentError, match=r"kind = 'complex'"):
        catalogue.task("suite(kind='complex')")
