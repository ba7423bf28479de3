"""The calculator that the transformer executes says what the exact one says."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from fractions import Fraction
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curta.delegate.calculator import Budget, Calculator
from curta.delegate.calculator.backends import Exact
from curta.delegate.calculator.backends.machine import Machine, outcome, written
from curta.delegate.calculator.operations import OPERATIONS, TABLE
from curta.delegate.calculator.program import Apply, Program, Push
from curta.engine.toolchain import find_compiler
from curta.errors import CalculatorError, TooLargeError, TooLongError
from tests.delegate.calculator.random_programs import RATIONALS, programs

BUDGET = Budget()
EXACT = Exact(BUDGET)

Answer = Callable[[Sequence[Program]], list[object]]

BY_HAND = (
    "1/3 + 1/6", "-7 // 2", "-7 % 2.5", "7 % (-0.3)", "2^-3", "(-2)^3", "(-2)^-3", "0^0", "0^5",
    "(4/9)^(3/2)", "8^(1/3)", "8^(-2/3)", "0^(1/2)", "1^(10^30)", "(-1)^(10^30+1)", "2^(1/2)",
    "(-8)^(1/3)", "50%", "sqrt(9/4)", "cbrt(-27)", "cbrt(-2)", "sign(-3)", "abs(-2.5)",
    "floor(-1.5)", "ceil(-1.5)", "trunc(-1.5)", "round(2.5)", "round(3.5)", "round(-2.5)",
    "round(2.675, 2)", "round(1250, -2)", "round(1, 1.5)", "round(1, 309)", "10!", "600!",
    "(-1)!", "comb(50, 25)", "comb(3, 5)", "comb(10^30, 3)", "comb(10^9, 10^8)", "perm(10, 3)",
    "perm(3, 5)", "perm(10^30, 4)", "gcd(12, -18, 27)", "gcd(1.5, 2)", "lcm(4, 6, -10)",
    "lcm(3, 0, 5)", "min(3, 1/2, 2)", "max(3, 7/2, 2)", "sum(1, 1/2, -3)", "mean(1, 2, 6)",
    "1 < 2", "1/3 == 2/6", "2 <= 1", "3 != 3", "2 >= 2", "-1 > -2", "log(8, 2)", "log(1/9, 3)",
    "log(9, 6)", "log(0)", "ln(1)", "log(5, 1)", "log10(1000)", "log2(1/1024)", "exp(0)", "exp(1)",
    "sin(0)", "cos(0)", "tan(0)", "asin(0)", "asin(2)", "acos(1)", "acos(-2)", "atan(0)",
    "degrees(0)", "radians(0)", "radians(180)", "1/0", "0^-1", "5 % 0", "5 // 0", "9^9^9",
    "10^1000*10^1000", "(1/3)^1000", "pi + 1/0", "1/0 + pi", "pi < 4", "2^4095*2 - 1",
)  # fmt: skip


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    """The same program, compiled for this computer."""
    built = tmp_path_factory.mktemp("calculator") / "calculator"
    source = Path(str(files("curta.delegate.calculator.backends"))) / "machine.c"
    subprocess.run([*find_compiler().command, "-O1", str(source), "-o", str(built)], check=True)

    def answer(given: Sequence[Program], budget: Budget = BUDGET) -> list[object]:
        text = written(given, budget).encode()
        said = subprocess.run([built], input=text, capture_output=True, check=True, timeout=200)
        lines = said.stdout.decode().splitlines()
        return [outcome(*each) for each in zip(given, lines, strict=True)]

    return answer


def agree(program: Program, found: object, exact: object) -> bool:
    """The same value of the same type, or an error of the same kind.

    A program is refused if there is a float on the way. Where `exact` comes to an error with
    floats, the message of which says so, any error will do.
    """
    floats = needs_floats(program) or (isinstance(exact, CalculatorError) and "float" in str(exact))
    if floats and isinstance(exact, CalculatorError):
        return isinstance(found, CalculatorError)
    if floats:
        return type(found) is CalculatorError
    return type(found) is type(exact) and (isinstance(exact, CalculatorError) or found == exact)


def needs_floats(given: Program) -> bool:
    """Whether one of the values on the way is a float, up to an error."""
    seen: list[object] = []

    class Watching(type(EXACT.arithmetic)):  # type: ignore[misc]
        def check(self, value: object) -> None:
            seen.append(value)
            super().check(value)

    with suppress(CalculatorError):
        Watching(BUDGET).evaluate(given)
    return any(isinstance(value, float) for value in seen)


def differences(given: Sequence[Program], found: Sequence[object]) -> list[object]:
    """Programs whose answers differ from `exact`."""
    return [
        (program, mine, exact)
        for program, mine, exact in zip(given, found, EXACT.evaluate(given), strict=True)
        if not agree(program, mine, exact)
    ]


def parsed(texts: Sequence[str]) -> list[Program]:
    return [each for each in map(Calculator().parsed, texts) if isinstance(each, Program)]


def test_the_program_knows_the_whole_table() -> None:
    source = (files("curta.delegate.calculator.backends") / "machine.c").read_text(encoding="utf-8")
    assert [one.name for one in TABLE if f'{{"{one.name}", ' not in source] == []


def test_it_says_what_exact_says(native: Answer) -> None:
    given = parsed(BY_HAND)
    assert len(given) == len(BY_HAND)
    assert differences(given, native(given)) == []


def test_random_programs(native: Answer) -> None:
    given = list(programs(8_000, 1, RATIONALS, inexact=False))
    found = native(given)
    assert differences(given, found) == []
    fine = sum(not isinstance(each, CalculatorError) for each in found)
    assert fine > len(given) / 3, "most programs have no value: nothing is tested"


@pytest.mark.slow
def test_many_random_programs(native: Answer) -> None:
    for seed in range(10):
        given = list(programs(50_000, seed + 100, RATIONALS))
        assert differences(given, native(given)) == []


whole = st.one_of(
    st.integers(-(10**6), 10**6),
    st.integers(0, 2**4096 - 1),
    st.tuples(st.integers(0, 256), st.integers(0, 256), st.booleans()).map(
        lambda bits: abs((1 << 16 * (bits[0] % 255)) - (1 << 16 * (bits[1] % 255))) + bits[2]
    ),
)
below = st.one_of(st.just(1), st.integers(1, 10**6), st.integers(1, 2**1024 - 1))
rationals = st.tuples(whole, below, st.sampled_from((1, -1))).map(
    lambda parts: Fraction(parts[2] * parts[0], parts[1])
)
ARITHMETIC = ("add", "subtract", "multiply", "divide", "floor_divide", "modulo")
OF_TWO = [OPERATIONS[name] for name in ARITHMETIC]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(rationals, rationals, st.sampled_from(OF_TWO)), min_size=1, max_size=10))
def test_long_numbers(native: Answer, drawn: list[tuple[Fraction, Fraction, object]]) -> None:
    given = [
        Program("", (Push(plain(a)), Push(plain(b)), Apply(operation, 2)), False)  # type: ignore[arg-type]
        for a, b, operation in drawn
    ]
    assert differences(given, native(given)) == []


def plain(value: Fraction) -> int | Fraction:
    return value.numerator if value.denominator == 1 else value


@pytest.mark.parametrize("bits", [1, 15, 16, 17, 300])
def test_other_budgets(native: Answer, bits: int) -> None:
    budget = Budget(bits=bits, denominator_bits=bits // 2 + 1, exponent=bits)
    given = list(programs(1_000, bits, RATIONALS, inexact=False))
    found = zip(given, native(given, budget), Exact(budget).evaluate(given), strict=True)  # type: ignore[call-arg]
    assert [each for each in found if not agree(*each)] == []


# ---- in the transformer ----


@pytest.fixture(scope="module")
def machine() -> Machine:
    return Machine(BUDGET)


def test_the_transformer_says_it_too(machine: Machine) -> None:
    given = [*parsed(BY_HAND), *programs(40, 2, RATIONALS, inexact=False)]
    assert differences(given, machine.evaluate(given)) == []


@pytest.mark.slow
def test_the_transformer_says_it_of_many(machine: Machine) -> None:
    given = list(programs(3_000, 3, RATIONALS))
    assert differences(given, machine.evaluate(given)) == []


def test_what_takes_too_long_is_left(machine: Machine) -> None:
    short = Machine(BUDGET)
    short.computer, short.tokens_for_each = machine.prepared(), 0
    given = parsed(["1+1", "comb(4100, 2050)", "2+2"])
    first, left, last = short.evaluate(given)
    assert (first, type(left), last) == (2, TooLargeError, 4)


def test_budgets_beyond_the_program_are_refused() -> None:
    with pytest.raises(CalculatorError, match="4,096 bits"):
        Machine(Budget(bits=5_000))


def test_more_steps_than_there_is_a_stack_for(machine: Machine) -> None:
    add = Apply(OPERATIONS["add"], 2)
    long = Program("", (*(Push(1) for _ in range(40)), *(add for _ in range(39))), False)
    first, second = machine.evaluate([long, *parsed(["1"])])
    assert isinstance(first, TooLongError)
    assert second == 1


def test_numbers_that_no_text_holds(machine: Machine) -> None:
    given = [Program("", (Push(10**2_000),), False), Program("", (Push(Fraction(1, 3)),), False)]
    assert isinstance(machine.evaluate(given)[0], TooLargeError)
    assert machine.evaluate(given)[1] == Fraction(1, 3)


def test_nothing_is_asked_of_it() -> None:
    assert Machine(BUDGET).evaluate([]) == []
