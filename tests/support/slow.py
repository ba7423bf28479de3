"""Which cases of a test run by default; the others are slow."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TypeVar

import pytest

Case = TypeVar("Case")


def all_but(kept: Collection[Case], cases: Iterable[Case]) -> list[object]:
    """The cases, those that are not kept marked as slow."""
    return [case if case in kept else pytest.param(case, marks=pytest.mark.slow) for case in cases]
