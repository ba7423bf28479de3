"""What runs by default of tests that could go on for long: the rest is for `make slow`."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from typing import TypeVar

import pytest

THOROUGH = "CURTA_THOROUGH"
"""Is set where slow tests run too: `make slow`, or any `-m` that does not exclude them."""

Case = TypeVar("Case")


def all_but(kept: Collection[Case], cases: Iterable[Case]) -> list[object]:
    """The cases, those that are not kept marked as slow."""
    return [
        case if case in kept else pytest.param(*as_tuple(case), marks=pytest.mark.slow)
        for case in cases
    ]


def some(count: int, cases: Iterable[Case]) -> list[object]:
    """As many of the cases, spread over all of them; the others are marked as slow."""
    found = list(cases)
    kept = {len(found) * number // count for number in range(count)}
    return [
        case if place in kept else pytest.param(*as_tuple(case), marks=pytest.mark.slow)
        for place, case in enumerate(found)
    ]


def as_tuple(case: object) -> tuple[object, ...]:
    """The values of a case: a tuple has one for each argument."""
    return case if isinstance(case, tuple) else (case,)


def draws(many: int, few: int | None = None) -> int:
    """How many are drawn: a quarter by default but four at least, or as few as is said."""
    if THOROUGH in os.environ:
        return many
    return max(min(many, 4), many // 4) if few is None else few
