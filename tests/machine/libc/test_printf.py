"""printf and its family against the compiler's own C library: every byte, count and error."""

from __future__ import annotations

import pytest

from curta import Machine
from tests.machine.libc.libc_builds import assert_alike, assert_draws_alike, built, outcome

DRAWS = "printf_draws.c"


@pytest.mark.parametrize("seed", range(4))
def test_draws(seed: int) -> None:
    assert_draws_alike(DRAWS, seed, 2000)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 112))
def test_many_draws(seed: int) -> None:
    assert_draws_alike(DRAWS, seed, 100_000)


@pytest.mark.slow
def test_every_conversion_is_drawn_with_all_flags_and_kinds_of_values() -> None:
    flags, sizes = assert_draws_alike(DRAWS, 7, 1_000_000)
    drawn, _, all_cells = flags.split()
    assert int(drawn) > 0.99 * int(all_cells)
    assert int(sizes) == 12 * (7 * 8 + 8 * 4 + 2 * 2 + 4)


@pytest.mark.parametrize("part", range(6))
def test_streams_buffers_numbers_and_errors(part: int) -> None:
    assert_alike("printf_streams.c", str(part))


def test_the_transformer_prints_the_same() -> None:
    expected = outcome(DRAWS, "3", "1000", "0", whole=True)[0].split(b"\n")[:200]
    run = Machine().run(built(DRAWS, whole=False), args=["3", "200", "0"], prove=False)
    assert run.stdout.split(b"\n")[:200] == expected
