"""The whole machine beside wasmtime: what is drawn at random runs in the transformer's weights.

By default a round of each kind is run, with seeds that are always the same. `-m slow` runs
CURTA_FUZZ rounds (20, unless it says otherwise) from seed CURTA_FUZZ_SEED on. `-s` shows counts;
a failure names the seed that it happened with.
"""

from __future__ import annotations

import pytest

from curta import Machine


@pytest.fixture(scope="session")
def machine() -> Machine:
    """The weights, at the native level."""
    return Machine()
