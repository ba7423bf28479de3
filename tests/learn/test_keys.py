"""Random words behave as random words should, along counters, seeds, splits and folds."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curta.learn.keys import new_key

COUNT = 1 << 14


def words(keys: jax.Array, each: int) -> np.ndarray:
    return np.asarray(jax.vmap(lambda key: jax.random.bits(key, (each,)))(keys))


ROWS = {
    "counters": lambda: words(new_key(0)[None], 16 * COUNT).reshape(COUNT, 16),
    "seeds": lambda: words(jax.vmap(new_key)(jnp.arange(COUNT)), 16),
    "splits": lambda: words(jax.random.split(new_key(3), COUNT), 16),
    "folds": lambda: words(
        jax.vmap(lambda step: jax.random.fold_in(new_key(4), step))(jnp.arange(COUNT)), 16
    ),
    "splits of splits": lambda: words(
        jax.vmap(lambda key: jax.random.split(key, 4))(
            jax.random.split(new_key(5), COUNT // 4)
        ).reshape(-1),
        16,
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_words_are_uniform_and_independent(name):
    drawn = ROWS[name]()
    bits = np.unpackbits(drawn.view(np.uint8).reshape(COUNT, -1), axis=1)
    bits = bits.astype(np.float32) - 0.5  # sums of so many halves and quarters are exact
    # Each of the 512 bits is one half on the average: five standard deviations.
    assert np.abs(bits.mean(axis=0)).max() < 5 * 0.5 / COUNT**0.5
    # No two bits of a row, and no bits of neighbouring rows, go together.
    for other in (bits, np.roll(bits, 1, axis=0)):
        together = 4 * bits.T @ other / COUNT
        if other is bits:
            np.fill_diagonal(together, 0)
        assert np.abs(together).max() < 6 / COUNT**0.5
    # Pairs of digits fill their table evenly: chi squared with 255 degrees of freedom.
    pairs = np.bincount((drawn[:, 0] % 16) * 16 + drawn[:, 1] % 16, minlength=256)
    chi_squared = ((pairs - COUNT / 256) ** 2).sum() / (COUNT / 256)
    assert 150 < chi_squared < 380


def test_keys_do_not_meet():
    children = jax.random.split(new_key(0), 1 << 16)
    folded = jax.vmap(lambda step: jax.random.fold_in(new_key(0), step))(jnp.arange(1 << 16))
    data = np.concatenate([np.asarray(jax.random.key_data(keys)) for keys in (children, folded)])
    assert len(np.unique(data, axis=0)) == len(data)


def test_all_of_jax_random_works_with_them():
    key = new_key(7)
    normal = np.asarray(jax.random.normal(key, (10_000,)))
    assert abs(normal.mean()) < 0.05
    assert abs(normal.std() - 1) < 0.05
    assert set(np.asarray(jax.random.randint(key, (1000,), 0, 10))) == set(range(10))
    assert sorted(np.asarray(jax.random.permutation(key, 50))) == list(range(50))
    with pytest.raises(NotImplementedError, match="64 bits"), jax.enable_x64(True):
        jax.random.bits(key, (2,), jnp.uint64)
