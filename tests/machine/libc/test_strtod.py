"""strtof, strtod and strtold against the compiler's own C library: bits, ends and errors."""

from __future__ import annotations

import pytest

from curta import Machine
from tests.machine.libc.libc_builds import assert_draws_alike, built, outcome

DRAWS = "strtod_draws.c"


@pytest.mark.parametrize("seed", range(4))
def test_draws(seed: int) -> None:
    assert_draws_alike(DRAWS, seed, 2000)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 110))
def test_many_draws(seed: int) -> None:
    counts = assert_draws_alike(DRAWS, seed, 100_000)
    assert min(int(count) for line in counts for count in line.split()) > 3000


def test_the_transformer_reads_the_same() -> None:
    expected = outcome(DRAWS, "5", "100", "0", whole=True)[0]
    run = Machine().run(built(DRAWS, whole=False), args=["5", "100", "0"], prove=False)
    assert run.stdout == expected
