"""Every test session has a cache of its own; tests of one session share it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="session")
def own_cache() -> Iterator[None]:
    """The user's cache is neither read nor written."""
    if "CURTA_CACHE" in os.environ:
        yield
        return
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CURTA_CACHE"] = folder
        yield
        del os.environ["CURTA_CACHE"]
