"""Expressions that hurt other calculators: each ends in an error, soon, in little memory."""

from __future__ import annotations

import dataclasses
import sys
import tracemalloc

import pytest

from curta.delegate.calculator import Budget, Calculator
from curta.delegate.calculator.backends import Exact
from curta.delegate.calculator.operations import OPERATIONS, Apply, Program
from curta.errors import (
    CalculatorError,
    ExpressionSyntaxError,
    TooLargeError,
    TooLongError,
    UndecidedError,
    UndefinedError,
    UnknownNameError,
    UserError,
)

CALCULATOR = Calculator()

ATTACKS: dict[type[CalculatorError], tuple[str, ...]] = {
    TooLargeError: (
        "9**9**9",
        "2**99999",
        "(9**999999)%7",
        "10**1000*10**1000",
        "*".join(["10**100"] * 16),
        "factorial(100000)",
        "factorial(1e5)",
        "factorial(factorial(20))",
        "20!!!",
        "comb(10**9, 10**8)",
        "comb(10**200, 10**199)",
        "comb(10**400, 10**399)",
        "perm(10**400, 10**399)",
        "perm(5000, 4000)",
        "perm(10**300, 10**290)",
        "1e999",
        "1e-999999",
        "1e" + "9" * 200,
        "0.1**1024",
        "(1/3)**1000",
        "exp(1000)",
        "2.5**(10**5)",
        "sqrt(2)**9999",
        "exp(-1000)",
        "sqrt(2)**-9999",
        "pi/10**308/10**308",
        "radians(exp(-745))",
        "exp(10**300)",
        "exp(-10**300)",
        "2**(pi*10**300)",
        "tan(pi/2)",
        "5 // exp(-10^9)",
        "5 % exp(-10^11)",
        "round(1, 10**9)",
        "lcm(10**300+1, 10**301+1, 10**302+1, 10**303+1, 10**304+1, 10**305+1)",
    ),
    TooLongError: (
        "1" * 5_000,
        "(" * 300 + "1" + ")" * 300,
        "(" * 100 + "1" + ")" * 100,
        "-" * 5_000 + "1",
        "+1" * 20_000,
        "+1" * 100,
        "2^" * 100 + "1",
        "abs(" * 40 + "1" + ")" * 40,
    ),
    UndecidedError: (
        "sqrt(2)^2 == 2",
        "sin(pi) == 0",
        "floor(sqrt(2)^2)",
        "sin(pi)/sin(pi)",
        "(1-cos(exp(-6000)))/exp(-6000)^2",
        "ln(1+exp(-12000))/exp(-12000)",
        "(1+exp(-12000)-1)*exp(2800)*exp(2800)*exp(2800)*exp(2800)*exp(805)",
        "+".join(["sin(10**400)^2", "cos(10**400)^2"] * 2) + " == 2",
    ),
    UnknownNameError: (
        "x*x*x",
        "inf",
        "nan",
        "-inf",
        "True+1",
        "eval(1)",
        "__builtins__",
        "half of 8",
    ),
    ExpressionSyntaxError: (
        "",
        " ",
        "()",
        "'a'*9",
        '"%0999999999d" % 1',
        "[1, 2] * 9",
        "f'{1}'",
        "(1).real",
        "__import__('os')",
        "lambda: 1",
        "[x for x in 1]",
        "(a := 1)",
        "max(*1)",
        "round(1.5, ndigits=1)",
        "1<<10**9",
        "5 >> 2",
        "float('nan')",
        "1\x002",
        "12\n+3",
        "12\u202e+3",
        "\ufeff1",
        "１２",
        "٣",
        "²",
        "3²",
        "3j",
        "0x10",
        "5+0x10",
        "$0x10",
        "0,125*8",
        "2^50% of 4",
        "0b1",
        "1_000",
        "1.2.3",
        "1,23+4",
        "1,2345",
        "2 3",
        "2(3)",
        "2pi",
        "50%-3",
        "5€",
        "1<2<3",
        "(1<2)+1",
        "0.5=1/2",
        "sum([1, 2]",
        "sqrt([4])",
        "<<calc: 1",
    ),
    UndefinedError: (
        "1/0",
        "0/0",
        "5%0",
        "5//0",
        "0**-1",
        "0.0^-2.5",
        "sqrt(-1)",
        "(-8)**(1/3)",
        "(-2)^0.5",
        "ln(0)",
        "log(-1)",
        "log(5, 1)",
        "asin(2)",
        "factorial(-1)",
        "factorial(2.5)",
        "gcd(1.5, 2)",
        "comb(-1, 2)",
    ),
}

CASES = [(text, kind) for kind, texts in ATTACKS.items() for text in texts]


@pytest.mark.parametrize(("text", "kind"), CASES, ids=lambda case: repr(case)[:40])
def test_an_attack_ends_in_an_error_that_says_what_it_is(
    text: str, kind: type[CalculatorError]
) -> None:
    with pytest.raises(kind) as caught:
        CALCULATOR.evaluate(text)
    assert str(caught.value)
    assert len(str(caught.value)) < 400
    assert caught.value.brief == kind.brief


def test_attacks_take_little_memory() -> None:
    CALCULATOR.evaluate("pi")  # the library is there
    tracemalloc.start()
    try:
        for text, _ in CASES:
            with pytest.raises(CalculatorError):
                CALCULATOR.evaluate(text)
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


def test_the_costliest_of_them_is_no_work() -> None:
    """Counted in function calls rather than seconds, which depend on the machine."""

    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += 1

    for text, _ in CASES:
        calls = 0
        sys.setprofile(count)
        try:
            CALCULATOR.evaluate(text)
        except CalculatorError:
            pass
        finally:
            sys.setprofile(None)
        assert calls < 6_000, text


def test_what_no_bound_foresaw_is_an_error_of_ours() -> None:
    def overflow(budget: Budget, value: object) -> float:
        raise OverflowError("too large")

    overflows = Apply(dataclasses.replace(OPERATIONS["sqrt"], exact=overflow), 1)
    (error,) = Exact(Budget()).evaluate([Program("", (2, overflows), False)])
    assert isinstance(error, TooLargeError)
    assert "out of range" in str(error)


WIDE = Budget(
    characters=4_000, steps=4_000, depth=100, bits=14_000, denominator_bits=14_000,
    exponent=14_000, decimal_exponent=4_000,
)  # fmt: skip


@pytest.mark.parametrize(
    "expression",
    [
        "2^13990",
        "9" * 3_999,
        "(" * 99 + "1" + ")" * 99,
        "2^" * 90 + "1",
        "pi/1e-330",
        "sqrt(1e-700)",
    ],
)
def test_the_widest_budget_ends_in_a_value_or_an_error_of_ours(expression: str) -> None:
    """Anything else would be raised here."""
    (result,) = Calculator(budget=WIDE).evaluate_all([expression])
    assert result.brief if isinstance(result, CalculatorError) else result.text


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(Budget)])
def test_budgets_have_bounds(field: str) -> None:
    for beyond in (0, 10**6):
        with pytest.raises(UserError, match=field):
            Budget(**{field: beyond})
