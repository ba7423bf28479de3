"""What expressions mean: one table, and trees of operations evaluated beside the text of them."""

from __future__ import annotations

import math
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import flint
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curta.delegate.calculator import Budget, Calculator, backends
from curta.delegate.calculator.operations import CONSTANTS, FUNCTIONS
from curta.delegate.calculator.reals import LOCK
from curta.delegate.calculator.tokens import PLAIN, all_tokens, tokens
from curta.errors import CalculatorError, TooLongError

CALCULATOR = Calculator()

EXACT = {
    "0.1+0.2": "0.3",
    "2.50": "2.5",
    "-0": "0",
    "1,234+5": "1239",
    "1,234,567.89": "1234567.89",
    "(1,234)": "1234",
    "max(1,234)": "234",
    "max([1, 2, 3])": "3",
    "2^10": "1024",
    "2**10": "1024",
    "-2^2": "-4",
    "2^-1": "0.5",
    "2^3^2": "512",
    "50%": "0.5",
    "50%*3": "1.5",
    "20% of 80": "16",
    "20% of (1,000 + 500)": "300",
    "1/4 of 80": "20",
    "-50% of 80": "-40",
    "100 * 50% of 3": "150",
    "20% of 50% of 80": "8",
    "2*-50% of 4": "-4",
    "80/20% of 40": "10",
    "1/2 of 6": "3",
    "(20%) of 80": "16",
    "50% of 2^3": "4",
    "5 - 50% of 8": "1",
    "5 % 3": "2",
    "-5 % 3": "1",
    "-7 // 2": "-4",
    "0777": "777",
    "$5*2": "10",
    "10 * $3": "30",
    "3x4": "12",
    "3 x (4)": "12",
    "10x5": "50",
    "3.0x4": "12",
    "1,000x5": "5000",
    "max(0,125)": "125",
    "6 ÷ 2 × 3": "9",
    "3 − 1": "2",
    "1/7*7": "1",
    "0^0": "1",
    "sqrt(16)": "4",
    "sqrt(9/4)": "1.5",
    "8**(1/3)": "2",
    "cbrt(-27)": "-3",
    "5!": "120",
    "factorial(10)": "3628800",
    "comb(50, 25)": "126410606437752",
    "perm(10, 3)": "720",
    "gcd(12, 18)": "6",
    "lcm(4, 6, 10)": "60",
    "sum(1, 2, 3)": "6",
    "mean([1, 2])": "1.5",
    "round(2.5)": "2",
    "round(2.675, 2)": "2.68",
    "round(1234.5678, -2)": "1200",
    "floor(-1.5)": "-2",
    "ceil(-1.5)": "-1",
    "trunc(-1.5)": "-1",
    "abs(-3)": "3",
    "sign(-2)": "-1",
    "log(8, 2)": "3",
    "log10(1000)": "3",
    "exp(0)": "1",
    "1 < 2": "true",
    "2 == 2.0": "true",
    "2 ≠ 2": "false",
    "1e3": "1000",
    "5.": "5",
    ".5": "0.5",
    "10^50": "1e50",
    "1e308*10": "1e309",
}

ROUNDED = {
    "1/3": "0.333333",
    "-1/3": "-0.333333",
    "1000000/3": "333333.333333",
    "1e-7/3": "3.333333e-8",
    "1e25/3": "3.333333e24",
    "(1+2)*3/7": "1.285714",
    "2^200": "1.606938e60",
    "sqrt(2)": "1.414214",
    "sin(pi/2)": "1",
    "sin(radians(30))": "0.5",
    "ln(e)": "1",
    "2^0.5": "1.414214",
    "2/3e10": "6.666667e-11",
    "min(sqrt(2), 1.4142135623730951)": "1.414214",
    "sqrt(2)*sqrt(2)": "2",
    "1e16*sqrt(2)": "14142135623730950.488017",
    "max(2, pi)": "3.141593",
    "sin(pi) - sin(pi)": "0",
}


@pytest.mark.parametrize(("expression", "text"), EXACT.items())
def test_exact_results(expression: str, text: str) -> None:
    result = CALCULATOR.evaluate(expression)
    assert (result.text, result.exact) == (text, True)


@pytest.mark.parametrize(("expression", "text"), ROUNDED.items())
def test_rounded_results_say_that_they_are(expression: str, text: str) -> None:
    result = CALCULATOR.evaluate(expression)
    assert (result.text, result.exact) == (text, False)


@pytest.mark.parametrize(
    ("expression", "advice"),
    {
        "2(3)": "put an operator between it and '2'",
        "2 pi": "put an operator between it and '2'",
        "sqrt 4": "'(' is missing behind 'sqrt'",
        "sqroot(4)": "did you mean sqrt",
        "1,23": "groups of three",
        "5$": "put an operator between them",
        "٣+1": "write digits as 0 to 9",
        "1 < 2 < 3": "make two calls of them",
        "2 = 2": "write == to compare",
        "0,125*8": "groups of three",
        "0x10": "'0' runs into 'x10'",
        "(50%)^2 of 80": "use parentheses",
    }.items(),
)
def test_what_is_no_expression_says_what_to_write(expression: str, advice: str) -> None:
    with pytest.raises(CalculatorError, match=re.escape(advice)):
        CALCULATOR.evaluate(expression)


def test_the_documentation_names_all_that_can_be_called() -> None:
    page = (Path(__file__).parents[3] / "docs" / "delegate.md").read_text()
    (table,) = re.findall(r"What can be written:\n(.*?)\n\n`-2", page, flags=re.DOTALL)
    named = set(re.findall(r"[a-z_0-9]+", " ".join(re.findall(r"`([^`]*)`", table))))
    assert not {*FUNCTIONS, *CONSTANTS} - named


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("sum()", "sum takes at least one operand, not 0"),
        ("log(1, 2, 3)", "log takes 1 or 2 operands, not 3"),
        ("comb(1)", "comb takes 2 operands, not 1"),
        ("sqrt(1, 2)", "sqrt takes one operand, not 2"),
    ],
)
def test_other_numbers_of_operands(expression: str, wanted: str) -> None:
    with pytest.raises(CalculatorError, match=wanted):
        CALCULATOR.evaluate(expression)


@pytest.mark.parametrize("name", ["sum", "min", "gcd"])
def test_only_the_budget_bounds_how_many_operands_there_are(name: str) -> None:
    wide = Calculator(budget=Budget(steps=4_000, characters=4_000))
    assert wide.evaluate(f"{name}({','.join('1' * 100)})").value == (100 if name == "sum" else 1)
    with pytest.raises(TooLongError, match="64 numbers and operations"):
        CALCULATOR.evaluate(f"{name}({','.join('1' * 64)})")


Tree = tuple[str, Fraction | None]

numbers = st.one_of(
    st.integers(0, 10**6).map(lambda n: (str(n), Fraction(n))),
    st.decimals(0, 1000, places=3).map(lambda d: (f"{d:f}", Fraction(d))),
)


def joined(parts: tuple[Tree, str, Tree]) -> Tree:
    """Two trees and an operator; no value where there is none."""
    (left, a), sign, (right, b) = parts
    text = f"({left}) {sign} ({right})"
    if a is None or b is None or (b == 0 and sign in "//%"):
        return text, None
    meaning = {
        "+": lambda: a + b,
        "-": lambda: a - b,
        "*": lambda: a * b,
        "/": lambda: a / b,
        "//": lambda: Fraction(math.floor(a / b)),
        "%": lambda: a - b * math.floor(a / b),
    }
    return text, meaning[sign]()


trees = st.recursive(
    numbers,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "//", "%"]), inner).map(joined),
        inner.map(lambda tree: (f"-({tree[0]})", None if tree[1] is None else -tree[1])),
    ),
    max_leaves=8,
)


@given(trees)
def test_values_are_those_of_the_tree(tree: Tree) -> None:
    text, value = tree
    if value is None:
        with pytest.raises(CalculatorError):
            CALCULATOR.evaluate(text)
    else:
        assert CALCULATOR.evaluate(text).value == value


@given(trees)
def test_a_result_said_to_be_exact_reads_back_as_the_value(tree: Tree) -> None:
    text, value = tree
    if value is not None:
        result = CALCULATOR.evaluate(text)
        assert (CALCULATOR.evaluate(result.text).value == value) == result.exact
        assert float(result.text) == pytest.approx(float(value), rel=1e-5, abs=1e-300)


@given(st.text(max_size=40))
def test_any_text_has_a_result_or_an_error_of_ours(text: str) -> None:
    try:
        result = CALCULATOR.evaluate(text)
    except CalculatorError:
        return
    assert result.text


PIECES = st.sampled_from([*"0123456789.,+-*/%^()[]!<>=x ", "sqrt(", "log(", "max(", "pi", "e5"])


@given(st.lists(PIECES | st.sampled_from(["of ", "xx", "e", "log2", "."]), max_size=9).map("".join))
def test_what_is_written_without_sugar_is_read_as_anything_else(text: str) -> None:
    if PLAIN.fullmatch(text):
        assert tokens(text, Budget()) == list(all_tokens(text, Budget()))


@given(st.lists(PIECES, max_size=30).map("".join))
def test_anything_that_looks_like_an_expression_is_finite_or_an_error(text: str) -> None:
    try:
        result = CALCULATOR.evaluate(text)
    except CalculatorError:
        return
    if not isinstance(result.value, bool):
        assert result.value == result.value  # not nan
        assert abs(result.value) != math.inf
    assert len(result.text) <= 45


@pytest.mark.parametrize(
    ("expression", "holds"),
    [
        ("0.1 + 0.2 == 0.3", True),
        ("sqrt(4) == 2", True),
        ("3 < pi", True),
        ("5 % tau == 5", True),
        ("exp(-50000) > 0", True),
        ("acos(1) == 0", True),
        ("1^pi == 1", True),
        ("(pi - pi)^0 == 1", True),
        ("min(sqrt(2), 1.4142135623730951) == 1.4142135623730951", False),
        ("sqrt(2)*10^900 < 1.4142135623730951*10^900", True),
    ],
)
def test_what_compares_is_certain(expression: str, holds: bool) -> None:
    result = CALCULATOR.evaluate(expression)
    assert (result.value, result.text, result.exact) == (holds, str(holds).lower(), True)


def test_without_its_library_an_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "flint", None)
    assert CALCULATOR.evaluate("2/3 + sqrt(4)").text == "2.666667"
    assert CALCULATOR.evaluate("log10(1000)").text == "3"
    with pytest.raises(CalculatorError, match="pip install python-flint") as raised:
        CALCULATOR.evaluate("sqrt(2)")
    assert raised.value.brief == "not installed"


def test_the_precision_of_others_stays_theirs() -> None:
    with flint.ctx.workprec(333):
        CALCULATOR.evaluate_all(["sqrt(3)", "sqrt(2)^2 == 2", "1/0 + pi"])
        assert flint.ctx.prec == 333


def test_an_interruption_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(value: object) -> None:
        assert flint.ctx.prec != 333
        raise KeyboardInterrupt

    monkeypatch.setattr(backends, "told", interrupted)
    with flint.ctx.workprec(333):
        with pytest.raises(KeyboardInterrupt):
            CALCULATOR.evaluate("sqrt(3)")
        assert flint.ctx.prec == 333
    monkeypatch.undo()
    assert CALCULATOR.evaluate("sqrt(3)").text == "1.732051"


def test_what_was_asked_before_does_not_count() -> None:
    """The precision of one expression is not that of the next, in other threads neither."""
    alone = {text: CALCULATOR.evaluate_all([text])[0] for text in (*ROUNDED, "sin(pi)", "sin(1)")}
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda text: CALCULATOR.evaluate_all([text])[0], [*alone] * 5))
    assert together == [*alone.values()] * 5


def test_rationals_wait_for_nobody() -> None:
    """Not for a thread that computes roots, which a forked process would wait for without end."""
    with LOCK:
        assert CALCULATOR.evaluate("1/3 + 1").text == "1.333333"
