"""How much of it: one round by default, as many as one likes with `-m slow`."""

from __future__ import annotations

import os

import pytest

ROUNDS = int(os.environ.get("CURTA_FUZZ", "20"))
FIRST_SEED = int(os.environ.get("CURTA_FUZZ_SEED", "1"))


LEVELS = ("-O0", "-O1", "-O2", "-O2", "-O3", "-Os")
"""Of C compilers. Zig builds a C library for the last one, which takes half a minute."""


def levels(seed: int) -> tuple[str, ...]:
    return LEVELS if seed else LEVELS[:-1]


def seeds(*, slow: int = ROUNDS) -> pytest.MarkDecorator:
    """A test of one `seed`: 0 in the default suite, the others are slow."""
    others = (pytest.param(FIRST_SEED + n, marks=pytest.mark.slow) for n in range(slow))
    return pytest.mark.parametrize("seed", [0, *others])
