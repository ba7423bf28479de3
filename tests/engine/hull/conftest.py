"""Every test of a cache runs once for each backend."""

from __future__ import annotations

import pytest

from curta.engine.hull import Backend
from curta.engine.hull.native import choose_backend


@pytest.fixture
def compiled() -> None:
    """What needs a C compiler."""
    if choose_backend("auto") != "c":
        pytest.skip("no C compiler on this machine")


@pytest.fixture(params=["python", "c"])
def backend(request: pytest.FixtureRequest) -> Backend:
    chosen: Backend = request.param
    if chosen == "c":
        request.getfixturevalue("compiled")
    return chosen


@pytest.fixture
def backends() -> list[Backend]:
    """Those that there are, for a test that computes what all of them should say."""
    return ["python", "c"] if choose_backend("auto") == "c" else ["python"]
