"""Every operation, beside examples by hand and beside numbers of any precision."""

from __future__ import annotations

import random
from typing import Any

import pytest
from mpmath import mp

from curta.delegate.calculator import Budget, Calculator
from curta.delegate.calculator.backends import Exact
from curta.delegate.calculator.operations import OPERATIONS
from curta.delegate.calculator.program import Apply, Program
from curta.errors import CalculatorError
from tests.delegate.calculator.operation_table import EXPRESSIONS, TABLE, precisely
from tests.delegate.calculator.random_programs import number, wanted
from tests.support.slow import some

CALCULATOR = Calculator()
COUNT = 300


def said(expression: str) -> str:
    (found,) = CALCULATOR.evaluate_all([expression])
    return found.brief if isinstance(found, CalculatorError) else found.text


@pytest.mark.parametrize(("expression", "text"), EXPRESSIONS.items())
def test_an_example_comes_to_what_is_written_beside_it(expression: str, text: str) -> None:
    assert said(expression) == text


def test_every_operation_has_a_row_and_its_examples_use_it() -> None:
    assert list(TABLE) == list(OPERATIONS)
    for name, (_, examples) in TABLE.items():
        assert len(examples) >= 2
        for expression in examples:
            parsed = CALCULATOR.parsed(expression)
            if isinstance(parsed, Program):
                used = {each.operation.name for each in parsed.steps if isinstance(each, Apply)}
                assert name in used, expression


@pytest.mark.parametrize(
    "name", some(14, [name for name, (meaning, _) in TABLE.items() if meaning])
)
def test_values_are_those_of_any_precision(name: str) -> None:
    """Rationals are equal; a float is next to the value, or nearly: within eight units."""
    operation, (meaning, _) = OPERATIONS[name], TABLE[name]
    drawn = random.Random(name)
    compared = 0
    for _ in range(COUNT):
        count = drawn.randint(operation.least, min(operation.most, 5))
        operands = [number(wanted(operation, place), drawn, False) for place in range(count)]
        program = Program("", (*operands, Apply(operation, count)), False)
        (found,) = Exact(Budget()).evaluate([program])
        if not isinstance(found, CalculatorError):
            compared += 1
            check(found, meaning, operands)  # type: ignore[arg-type]
    assert compared > COUNT / 6


def check(found: Any, meaning: Any, operands: list[Any]) -> None:
    """A float is that of the operands, or of the floats next to them."""
    is_float = isinstance(found, float)
    with mp.workdps(1_500):
        readings = [operands, [float(each) for each in operands]] if is_float else [operands]
        values = [meaning(*map(precisely, reading)) for reading in readings]
        offs = [abs(precisely(found) - value) for value in values]
        sizes = [abs(value) if is_float else max(1, *map(abs, operands)) for value in values]
        places = mp.mpf(2) ** (-50 if is_float else -3_500)  # rationals of a budget differ by more
        assert any(
            off <= precisely(size) * places for off, size in zip(offs, sizes, strict=True)
        ), operands
