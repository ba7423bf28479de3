"""scanf and its family against the compiler's own C library: values, counts, what is left."""

from __future__ import annotations

import pytest

from curta import Machine
from tests.machine.libc.libc_builds import assert_alike, assert_draws_alike, built, outcome

DRAWS = "scanf_draws.c"


@pytest.mark.parametrize("seed", range(4))
def test_draws(seed: int) -> None:
    assert_draws_alike(DRAWS, seed, 3000)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 105))
def test_many_draws(seed: int) -> None:
    lines = assert_draws_alike(DRAWS, seed, 100_000)
    matched = {line.split()[0]: int(line.split()[1]) for line in lines}
    assert all(count > 500 for letter, count in matched.items() if letter != b"n")


def test_the_transformer_reads_the_same() -> None:
    expected = outcome(DRAWS, "5", "100", "0", whole=True)[0]
    run = Machine().run(built(DRAWS, whole=False), args=["5", "100", "0"], prove=False)
    assert run.stdout == expected


@pytest.mark.parametrize("stdin", [b"", b"5", b"5 6\n7", b"x"])
def test_streams(stdin: bytes) -> None:
    assert_alike("scanf_streams.c", stdin=stdin)
