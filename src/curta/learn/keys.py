"""Random keys that are quick to compile and to draw from.

JAX's own generator is twenty rounds for every pair of words. Written out at each of the many places
where a batch draws something, it takes most of the time to compile a small experiment. Here a word
is a hash of a counter under the two words of a key, ten operations that fuse with what uses them:

    word(counter) = mix(mix(counter + key[0]) ^ key[1])

The keys work with all of `jax.random`. They are for data and initial weights, where one wants
independence that no model can notice; they are not for cryptography.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.random import define_prng_impl
from jaxtyping import Array, UInt32

SPLITS = 0xA511E9B3
"""Where the counters of split keys begin; random bits count from 0."""

FOLDS = 0x5851F42D
"""Where those of keys with folded data begin."""


def new_key(seed: Any) -> Array:
    """A key for a seed."""
    return jax.random.key(seed, impl=HASHED)


def mix(value: UInt32[Array, "*shape"]) -> UInt32[Array, "*shape"]:
    """Scrambles 32 bits: multiplications and shifts, each of them reversible."""
    value = (value ^ (value >> 16)) * jnp.uint32(0x7FEB352D)
    value = (value ^ (value >> 15)) * jnp.uint32(0x846CA68B)
    return value ^ (value >> 16)


def word(key: UInt32[Array, "2"], counter: UInt32[Array, "*shape"]) -> UInt32[Array, "*shape"]:
    """The words of a key at these counters."""
    return mix(mix(counter + key[0]) ^ key[1])


def from_seed(seed: Any) -> UInt32[Array, "2"]:
    """Two words that have nothing to do with each other."""
    low = jnp.asarray(seed).astype(jnp.uint32)
    return jnp.stack([mix(low), mix(low ^ jnp.uint32(0x9E3779B9))])


def split(key: UInt32[Array, "2"], shape: tuple[int, ...]) -> UInt32[Array, "*shape 2"]:
    """So many new keys."""
    counters = jnp.arange(2 * math.prod(shape), dtype=jnp.uint32) + jnp.uint32(SPLITS)
    return word(key, counters).reshape(*shape, 2)


def fold_in(key: UInt32[Array, "2"], data: Any) -> UInt32[Array, "2"]:
    """The key of a number under a key."""
    first = 2 * jnp.asarray(data).astype(jnp.uint32) + jnp.uint32(FOLDS)
    return word(key, jnp.stack([first, first + 1]))


def random_bits(key: UInt32[Array, "2"], bit_width: int, shape: tuple[int, ...]) -> Array:
    """One word for each number, cut to its width."""
    widths = {8: jnp.uint8, 16: jnp.uint16, 32: jnp.uint32}
    if bit_width not in widths:
        raise NotImplementedError(f"random numbers of {bit_width} bits")
    words = word(key, jnp.arange(math.prod(shape), dtype=jnp.uint32))
    return words.reshape(shape).astype(widths[bit_width])


HASHED = define_prng_impl(
    key_shape=(2,),
    seed=from_seed,
    split=split,
    random_bits=random_bits,
    fold_in=fold_in,
    name="hashed",
    tag="hash",
)
