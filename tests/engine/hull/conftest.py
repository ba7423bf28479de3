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
