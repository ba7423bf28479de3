"""The cheap generator is uniform, and unrelated across numbers, steps and seeds."""

from __future__ import annotations

import jax
import numpy as np
import numpy.typing as npt
import pytest

from curta.learn.units.sampling import _mix, uniform

DRAWS = (512, 100)
Samples = npt.NDArray[np.float64]


@pytest.fixture(scope="module")
def samples() -> Samples:
    """Eight consecutive steps of four seeds, [seeds, steps, rows, columns]."""

    @jax.jit
    def draw(seeds: jax.Array) -> jax.Array:
        def step(seed: jax.Array, index: jax.Array) -> jax.Array:
            return uniform(jax.random.fold_in(seed, index), DRAWS)

        over_steps = jax.vmap(step, in_axes=(None, 0))
        return jax.vmap(over_steps, in_axes=(0, None))(seeds, np.arange(8))

    return np.asarray(draw(jax.random.split(jax.random.key(0), 4)), dtype=np.float64)


def test_numbers_fill_their_range_evenly(samples: Samples) -> None:
    assert samples.min() >= 0
    assert samples.max() < 1
    counts, _ = np.histogram(samples, bins=1_000, range=(0, 1))
    expected = samples.size / 1_000
    chi_squared = ((counts - expected) ** 2 / expected).sum()
    # 999 degrees of freedom: 4.5 standard deviations.
    assert abs(chi_squared - 999) < 4.5 * np.sqrt(2 * 999)


def test_numbers_are_unrelated(samples: Samples) -> None:
    centred = (samples - 0.5) * np.sqrt(12)
    pairs = {
        "neighbours": (centred[..., :-1], centred[..., 1:]),
        "rows": (centred[:, :, :-1], centred[:, :, 1:]),
        "steps": (centred[:, :-1], centred[:, 1:]),
        "seeds": (centred[:-1], centred[1:]),
    }
    for name, (first, second) in pairs.items():
        correlation = (first * second).mean()
        assert abs(correlation) < 4.5 / np.sqrt(first.size), name


def test_sums_of_a_row_have_the_variance_of_independent_numbers(samples: Samples) -> None:
    sums = samples.sum(axis=-1)
    relative = sums.var() / (100 / 12)
    assert abs(relative - 1) < 4.5 * np.sqrt(2 / sums.size)


def test_the_hash_spreads_every_bit_over_the_word() -> None:
    words = np.arange(0, 2**32, 2**32 // 4_096, dtype=np.uint32) + np.uint32(12_345)
    mixed = np.asarray(_mix(_mix(words)))
    assert len(np.unique(mixed)) == len(words)
    for bit in range(32):
        flipped = np.asarray(_mix(_mix(words ^ np.uint32(1 << bit))))
        changed = np.unpackbits((mixed ^ flipped).view(np.uint8)).mean()
        assert changed == pytest.approx(0.5, abs=0.02), bit


def test_range_is_scaled() -> None:
    numbers = np.asarray(uniform(jax.random.key(3), (1_000,), low=2.0, high=6.0))
    assert 2 <= numbers.min() < 2.1
    assert 5.9 < numbers.max() <= 6
