"""For tests that compile many small models and run each once."""

from __future__ import annotations

from collections.abc import Iterator

import jax
import pytest


@pytest.fixture(autouse=True)
def quick_compilation() -> Iterator[None]:
    """XLA without most of its optimisations: half the time, the same results up to rounding."""
    before = jax.config.read("jax_disable_most_optimizations")
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", before)
