"""Random programs over the whole table: exact, kernel and torch, within what they promise.

What float64 can come to is enclosed (enclosures.py) without any of the backends; then each has to
lie in the enclosure, and say that there is no value where it says so. What nobody can say, because
the expression is ill-conditioned at a jump, is counted, and so are wide enclosures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from curta.delegate.calculator import Budget
from curta.delegate.calculator.backends import Outcome, backend
from curta.delegate.calculator.backends.machine import words
from curta.delegate.calculator.backends.packed import Status
from curta.delegate.calculator.operations import TABLE
from curta.delegate.calculator.program import Apply, Program
from curta.errors import CalculatorError, TooLargeError, UndefinedError
from tests.delegate.calculator.enclosures import Interval, Uncertain, enclose
from tests.delegate.calculator.random_programs import programs

BUDGET = Budget()
FLOATS = ("kernel", "torch")


def verdict(expected: Interval | Status, found: Outcome, exact: bool) -> str:
    """That it agrees, or what is wrong; the exact one knows no limit of float64, but of bits."""
    if exact and expected == Status.TOO_LARGE:
        return "agrees"
    if exact and isinstance(found, TooLargeError):
        return "beyond the budget"
    if exact and expected != Status.UNDEFINED and "whole numbers only" in str(found):
        return "not whole"  # what comes from a float, such as floor(pi), is not whole there
    if isinstance(expected, Status):
        wanted = UndefinedError if expected == Status.UNDEFINED else TooLargeError
        return "agrees" if type(found) is wanted else f"{found!r} instead of {expected.name}"
    if isinstance(found, CalculatorError):
        return f"{found!r} instead of a value"
    return "agrees" if found in expected else f"{found!r} is outside of {expected}"


def is_narrow(expected: Interval | Status) -> bool:
    """Whether nine digits are certain."""
    if isinstance(expected, Status):
        return True
    return expected.high - expected.low <= 1e-9 * max(abs(expected.low), abs(expected.high))


def compare(given: Sequence[Program], names: Sequence[str]) -> tuple[Counter[str], list[object]]:
    """What was counted, and all disagreements."""
    found = {name: backend(name, BUDGET).evaluate(given) for name in names}
    counted: Counter[str] = Counter()
    wrong: list[object] = []
    for number, program in enumerate(given):
        try:
            expected = enclose(program)
        except Uncertain:
            counted["uncertain"] += 1
            continue
        counted["value" if isinstance(expected, Interval) else expected.name] += 1
        counted["narrow"] += is_narrow(expected)
        for name in names:
            said = verdict(expected, found[name][number], name == "exact")
            if said in ("not whole", "beyond the budget"):
                counted[said] += 1
            elif said != "agrees":
                wrong.append((name, said, *words(program)))
    return counted, wrong


def check(count: int, seed: int, each: int) -> Counter[str]:
    """No disagreement, and most of it was worth the comparison."""
    counted: Counter[str] = Counter()
    for start in range(0, count, 100_000):
        given = list(programs(min(100_000, count - start), seed + start, each=each))
        some, wrong = compare(given, ("exact", *FLOATS))
        assert not wrong, f"{len(wrong)} disagree, such as {wrong[:3]}"
        counted += some
    assert counted["value"] > 0.4 * count, counted
    assert counted["UNDEFINED"] > 0.02 * count, counted
    assert counted["TOO_LARGE"] > 0.01 * count, counted
    assert counted["uncertain"] < 0.05 * count, counted
    assert counted["not whole"] < 0.02 * count, counted
    assert counted["beyond the budget"] < 0.005 * count, counted
    assert counted["narrow"] > 0.9 * count, counted
    return counted


def test_some_thousands_agree() -> None:
    check(4_000, seed=3, each=80)


@pytest.mark.slow
def test_a_million_agree() -> None:
    print(check(1_000_000, seed=11, each=250))


def test_every_operation_occurs() -> None:
    seen = {
        step.operation.name
        for program in programs(3_000, 5)
        for step in program.steps
        if isinstance(step, Apply)
    }
    assert seen == {operation.name for operation in TABLE}


def test_a_backend_that_is_off_is_noticed() -> None:
    given = [program for program in programs(2_000, 6) if not program.compares]
    off = 0
    for program, exact in zip(given, backend("exact", BUDGET).evaluate(given), strict=True):
        try:
            expected = enclose(program)
        except Uncertain:
            continue
        if isinstance(expected, Interval) and not isinstance(exact, CalculatorError) and exact:
            wrong = float(exact) * (1 + 1e-9) + 1e-250
            off += verdict(expected, wrong, exact=False) == "agrees"
    assert off < 0.05 * len(given)
