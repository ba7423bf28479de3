"""Whatever can be written character by character, as `prefixes` allows it, can be parsed."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curta.delegate.calculator import Budget
from curta.delegate.calculator.parser import parse
from curta.delegate.calculator.prefixes import CHARACTERS, State, begin
from tests.support.slow import draws

SMALL = Budget(characters=24, steps=9, depth=3)


def written(text: str, budget: Budget) -> State | None:
    state: State | None = begin(budget)
    for character in text:
        if state is None:
            return None
        state = state.follow(character)
    return state


def walk(seed: int, budget: Budget, operators: float) -> str:
    """A random text that the states allow; it ends where it is complete, by chance or by need."""
    drawn = random.Random(seed)
    text, state = "", begin(budget)
    while True:
        following = {c: after for c in CHARACTERS if (after := state.follow(c))}
        if state.is_complete and (not following or drawn.random() < 0.1):
            return text
        assert following, f"{text!r} can neither end nor go on"
        liked = [c for c in following if not c.isalnum()]
        pool = liked if liked and drawn.random() < operators else list(following)
        character = drawn.choice(sorted(pool))
        text, state = text + character, following[character]


@settings(deadline=None, max_examples=draws(25))
@given(st.integers(0, 10**9), st.sampled_from([0.2, 0.5, 0.8]))
def test_what_is_complete_can_be_parsed(seed: int, operators: float) -> None:
    for budget in (SMALL, Budget()):
        text = walk(seed, budget, operators)
        assert parse(text.strip(), budget).steps


@pytest.mark.parametrize(
    "text",
    [
        "48/2",
        "(1 + 2) * 3 / 7",
        "-2^2",
        "2 ** -1",
        "50% * 80",
        "17 % 5",
        "5! - 3",
        "3 != 4",
        "12.5 >= 3",
        "max(1, 2, 3)",
        "round(2 * pi, 3)",
        "gcd(12, lcm(4, 6))",
        "log2(8)",
        "e ^ 2",
    ],
)
def test_usual_expressions_can_be_written(text: str) -> None:
    state = written(text, Budget())
    assert state is not None
    assert state.is_complete


@pytest.mark.parametrize(
    "text",
    ["*", "1 2", "1..2", "2(3)", "pow(1)", "max()", "1 = 2", "50% + 3", "(1 < 2)", "foo", "$5"],
)
def test_what_is_no_expression_cannot_be_completed(text: str) -> None:
    state = written(text, Budget())
    assert state is None or not state.is_complete


def test_what_does_not_fit_cannot_be_begun() -> None:
    assert written("1" * 24, SMALL)
    assert written("1" * 25, SMALL) is None
    assert written("((((", SMALL) is None
    assert written("1+" * 4, SMALL)
    assert written("1+" * 5, SMALL) is None
