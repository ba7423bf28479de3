"""Every operation, beside examples by hand and beside numbers of any precision."""

from __future__ import annotations

import itertools
import random
from contextlib import suppress
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from mpmath import mp

from curta.delegate.calculator import Budget, Calculator
from curta.delegate.calculator.backends import Exact
from curta.delegate.calculator.operations import (
    OPERATIONS,
    Apply,
    Program,
    exact_logarithm,
    logarithm,
)
from curta.delegate.calculator.printing import Near, approximate
from curta.errors import CalculatorError
from tests.delegate.calculator.operation_table import EXPRESSIONS, TABLE, precisely
from tests.delegate.calculator.random_programs import number, programs, wanted
from tests.support.slow import draws, some

CALCULATOR = Calculator()
COUNT = 300
DIGITS = 2_500


def said(expression: str) -> str:
    (found,) = CALCULATOR.evaluate_all([expression])
    return found.brief if isinstance(found, CalculatorError) else found.text


@pytest.mark.parametrize(("expression", "text"), EXPRESSIONS.items())
def test_an_example_comes_to_what_is_written_beside_it(expression: str, text: str) -> None:
    assert said(expression) == text


def test_every_operation_has_a_row_and_its_examples_use_it() -> None:
    assert list(TABLE) == list(OPERATIONS)
    for name, (_, examples) in TABLE.items():
        assert len(examples) >= 2, name
        for expression in examples:
            parsed = CALCULATOR.parsed(expression)
            if isinstance(parsed, Program):
                used = {each.operation.name for each in parsed.steps if isinstance(each, Apply)}
                assert name in used, expression


@pytest.mark.parametrize(
    "name", some(14, [name for name, (meaning, _) in TABLE.items() if meaning])
)
def test_values_are_those_of_any_precision(name: str) -> None:
    """Rationals are equal; of what is not rational, every digit that is shown, and every bit."""
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
            with mp.workdps(DIGITS):
                check(found, meaning(*map(precisely, operands)), operands)  # type: ignore[misc]
    assert compared > COUNT / 6


@given(
    st.fractions(0, 50, max_denominator=50).filter(lambda root: root not in (0, 1)),
    st.integers(-40, 40),
    st.integers(-40, 40).filter(bool),
)
def test_the_logarithm_of_a_power_to_another_is_rational(
    root: Fraction, above: int, below: int
) -> None:
    assert logarithm(Budget(), root**above, root**below) == Fraction(above, below)


@given(st.integers(1, 300), st.integers(1, 300), st.integers(1, 300), st.integers(1, 300))
def test_a_rational_logarithm_is_one_where_powers_are_equal(a: int, b: int, c: int, d: int) -> None:
    """Tried with all exponents that can be: of numbers below 300 none is a ninth power."""
    value, base = Fraction(a, b), Fraction(c, d)
    assume(base != 1)
    tried = (
        Fraction(n, m)
        for m, n in itertools.product(range(1, 9), range(-8, 9))
        if value**m == base**n
    )
    assert exact_logarithm(value, base) == next(tried, None)


def test_programs_of_what_is_not_rational_are_those_of_any_precision() -> None:
    """All on the way is computed by balls here and by many digits there."""
    compared = 0
    for program in programs(draws(2_000), 7):
        (found,) = Exact(Budget()).evaluate([program])
        if isinstance(found, Near):
            with mp.workdps(DIGITS), suppress(NoMeaningError):
                check(found, value(program), program)
                compared += 1
    assert compared > draws(2_000) / 10


class NoMeaningError(Exception):
    """The program has an operation that the table has no function for."""


def value(program: Program) -> Any:
    """What a program leaves, in mpmath."""
    stack: list[Any] = []
    for step in program.steps:
        if not isinstance(step, Apply):
            stack.append(precisely(step))
            continue
        meaning, rest = TABLE[step.operation.name][0], len(stack) - step.operands
        if meaning is None:
            raise NoMeaningError
        operands = stack[rest:]
        stack[rest:] = [meaning(*operands)]
    return stack[0]


def check(found: Any, expected: Any, given: Any) -> None:
    """A rational is the value; one that is not has its float and its text."""
    if isinstance(found, Near):
        if found.value == 0:
            assert abs(expected) < mp.mpf(10) ** -1_000, given
        else:
            number = rational(expected)
            text, _ = approximate(*number.as_integer_ratio())
            assert found == Near(float(number), text), given
    else:
        size = max(1, abs(expected))
        assert abs(precisely(found) - expected) <= precisely(size) * mp.mpf(2) ** -3_500, given


def rational(number: Any) -> Fraction:
    """The number as mpmath has it."""
    sign, mantissa, exponent, _ = number._mpf_
    return Fraction((-1) ** sign * int(mantissa)) * Fraction(2) ** int(exponent)
