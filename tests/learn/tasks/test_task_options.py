"""Options of tasks: what they limit, what they make frequent, and what they refuse."""

from __future__ import annotations

import ast
import re

import pytest

from curta.errors import ExperimentError
from curta.learn import catalogue
from tests.support.learn_texts import integers, language, rows_of, sign, some_operands, texts_of


def questions(task: str, rows: int = 512, places: int = 3) -> list[tuple[str, str]]:
    made = language(task)
    return texts_of(made, rows_of(made, *some_operands(made, rows, places)))


def test_equal_and_nearly_equal_numbers_are_compared_often() -> None:
    verdicts = {"<": 0, "=": 0, ">": 0}
    alike = 0
    for question, verdict in questions("comparison", 1024, 5)[256:]:
        a, b = re.findall(r"\d+", question)
        assert verdict == sign(int(a) - int(b))
        verdicts[verdict] += 1
        alike += len(a) > 1 and len(a) == len(b) and a[0] == b[0]
    # A fifth of the pairs has equal lengths, a third of those is equal and more begin alike.
    assert verdicts["="] > 30
    assert alike - verdicts["="] > 10
    assert min(verdicts["<"], verdicts[">"]) > 200


@pytest.mark.slow
def test_products_have_short_factors_where_asked_for() -> None:
    for question, answer in questions("multiplication(first=2, second=1)", places=4):
        a, b = question[:-1].split("*")
        assert len(a) <= 2
        assert len(b) == 1
        assert int(answer) == int(a) * int(b)


def test_all_operations_are_drawn() -> None:
    drawn = {re.search(r"[-+*]", question)[0] for question, _ in questions("mixed", 64)}
    assert drawn == set("+-*")


def test_expressions_have_only_the_parentheses_they_need() -> None:
    seen = {"+": 0, "-": 0, "*": 0, "(": 0}
    for question, _ in questions("expression(numbers=5)", places=2)[128:]:
        text = question[:-1].replace("0", "1")
        for at in (match.start() for match in re.finditer(r"\(", text)):
            depth, end = 0, at
            while depth or end == at:
                depth += {"(": 1, ")": -1}.get(text[end], 0)
                end += 1
            bare = text[:at] + text[at + 1 : end - 1] + text[end:]
            assert ast.dump(ast.parse(bare)) != ast.dump(ast.parse(text)), text
        for name in seen:
            seen[name] += name in text
    assert min(seen.values()) > 50


@pytest.mark.slow
def test_expressions_without_parentheses() -> None:
    for question, _ in questions("expression(parentheses=False)", 256, 2):
        assert "(" not in question


@pytest.mark.slow
def test_products_in_expressions_stay_in_their_bound() -> None:
    for question, answer in questions("expression(numbers=2, value_digits=3)", places=3):
        if "*" in question:
            assert int(answer) < 1000


def test_a_hidden_modulus() -> None:
    for question, answer in questions("modular(modulus=13, operation='*', shown=False)"):
        a, b = integers(question, 10)
        assert "%" not in question
        assert int(answer) == a * b % 13


@pytest.mark.slow
def test_quotients_without_remainders() -> None:
    for question, answer in questions("division(second=1, remainder=False)"):
        a, b = integers(question, 10)
        assert int(answer) == a // b


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("multiplication(second=-1)", "second = -1: must be an integer of at least 0"),
        ("division(second=-2)", "second = -2"),
        ("modular(modulus=1)", "modulus = 1: must be an integer of at least 2"),
        ("modular(operation='/')", r"operation = '/': must be one of \+, -, \*"),
        ("multi_addition(numbers=1)", "numbers = 1"),
        ("sorting(numbers=0)", "numbers = 0"),
        ("mixed(operations='+/')", r"operations = '\+/'"),
        ("comparison(near=2)", "near = 2: must be from 0 to 1"),
        ("expression(operations='*')", "operations = '\\*'.*with? ?.*among them"),
        ("decimals(operation='/')", "operation = '/'"),
        ("fractions(operation='%')", "operation = '%'"),
    ],
)
def test_options_are_checked(task: str, message: str) -> None:
    with pytest.raises(ExperimentError, match=message.replace("with? ?.*", ".*")):
        catalogue.task(task)
