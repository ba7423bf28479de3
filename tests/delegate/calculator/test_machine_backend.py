"""The calculator that the transformer executes says what the exact one says."""

from __future__ import annotations

import contextvars
import subprocess
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curta.delegate.calculator import Budget, Calculator, backends, reals
from curta.delegate.calculator.backends import Exact
from curta.delegate.calculator.backends.machine import Machine, outcome, source, written
from curta.delegate.calculator.operations import OPERATIONS, Apply, Program
from curta.delegate.calculator.reals import decided, is_ball
from curta.delegate.given_up import GIVEN_UP
from curta.engine.toolchain import find_compiler
from curta.errors import CalculatorError, TooLargeError, ToolError, TooLongError
from tests.delegate.calculator.operation_table import EXPRESSIONS
from tests.delegate.calculator.random_programs import RATIONALS, programs
from tests.support.slow import draws

BUDGET = Budget()
EXACT = Exact(BUDGET)

Answer = Callable[[Sequence[Program]], list[object]]


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    """The same program, compiled for this computer."""
    built = tmp_path_factory.mktemp("calculator") / "calculator"
    program = built.with_suffix(".c")
    program.write_text(source())
    subprocess.run([*find_compiler().command, "-O1", str(program), "-o", str(built)], check=True)

    def answer(given: Sequence[Program], budget: Budget = BUDGET) -> list[object]:
        text = written(given, budget).encode()
        said = subprocess.run([built], input=text, capture_output=True, check=True, timeout=200)
        lines = said.stdout.decode().splitlines()
        return [outcome(*each) for each in zip(given, lines, strict=True)]

    return answer


def agree(program: Program, found: object, exact: object) -> bool:
    """The same value of the same type, or an error of the same kind.

    A program is refused if something on the way is not rational. Where `exact` comes to an error
    behind that, any error will do.
    """
    if leaves_rationals(program):
        any_error = isinstance(exact, CalculatorError)
        return isinstance(found, CalculatorError) and (any_error or type(found) is CalculatorError)
    return type(found) is type(exact) and (isinstance(exact, CalculatorError) or found == exact)


def leaves_rationals(given: Program) -> bool:
    """Whether there is a ball on the way, up to an error."""
    seen: list[object] = []

    def check(value: object, budget: Budget) -> None:
        seen.append(value)
        reals.check(value, budget)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch, suppress(CalculatorError):
        patch.setattr(backends, "check", check)
        decided(lambda: backends.value_of(given, BUDGET))
    return any(map(is_ball, seen))


def differences(given: Sequence[Program], found: Sequence[object]) -> list[object]:
    """Programs whose answers differ from `exact`."""
    return [
        (program, mine, exact)
        for program, mine, exact in zip(given, found, EXACT.evaluate(given), strict=True)
        if not agree(program, mine, exact)
    ]


def parsed(texts: Sequence[str]) -> list[Program]:
    return [each for each in map(Calculator().parsed, texts) if isinstance(each, Program)]


def test_it_says_what_exact_says(native: Answer) -> None:
    given = parsed([*EXPRESSIONS])
    assert len(given) == len(EXPRESSIONS)
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


@settings(max_examples=draws(50), deadline=None)
@given(st.lists(st.tuples(rationals, rationals, st.sampled_from(OF_TWO)), min_size=1, max_size=10))
def test_long_numbers(native: Answer, drawn: list[tuple[Fraction, Fraction, object]]) -> None:
    given = [
        Program("", (plain(a), plain(b), Apply(operation, 2)), False)  # type: ignore[arg-type]
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
    given = [*parsed([*EXPRESSIONS]), *programs(40, 2, RATIONALS, inexact=False)]
    assert differences(given, machine.evaluate(given)) == []


@pytest.mark.slow
def test_the_transformer_says_it_of_many(machine: Machine) -> None:
    given = list(programs(3_000, 3, RATIONALS))
    assert differences(given, machine.evaluate(given)) == []


def test_what_takes_too_long_is_left(machine: Machine) -> None:
    short = Machine(BUDGET)
    short.computer, short.tokens_for_each = machine.computer, 0
    given = parsed(["1+1", "comb(4100, 2050)", "2+2"])
    first, left, last = short.evaluate(given)
    assert (first, type(left), last) == (2, TooLargeError, 4)


def test_a_calculation_that_nobody_waits_for_ends(machine: Machine) -> None:
    given_up = threading.Event()
    given_up.set()
    context = contextvars.copy_context()
    context.run(GIVEN_UP.set, given_up)
    with pytest.raises(ToolError, match="nobody waits"):
        context.run(machine.evaluate, parsed(["comb(4100, 2050)"]))


def test_budgets_beyond_the_program_are_refused() -> None:
    with pytest.raises(CalculatorError, match="4,096 bits"):
        Machine(Budget(bits=5_000))


def test_more_steps_than_there_is_a_stack_for(machine: Machine) -> None:
    add = Apply(OPERATIONS["add"], 2)
    long = Program("", (*([1] * 40), *(add for _ in range(39))), False)
    first, second = machine.evaluate([long, *parsed(["1"])])
    assert isinstance(first, TooLongError)
    assert second == 1


def test_numbers_that_no_text_holds(machine: Machine) -> None:
    given = [Program("", (10**2_000,), False), Program("", (Fraction(1, 3),), False)]
    assert isinstance(machine.evaluate(given)[0], TooLargeError)
    assert machine.evaluate(given)[1] == Fraction(1, 3)


def test_nothing_is_asked_of_it() -> None:
    assert Machine(BUDGET).evaluate([]) == []
