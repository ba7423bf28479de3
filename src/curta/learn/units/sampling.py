"""Uniform numbers cheap enough that drawing a batch does not cost more than learning from it.

JAX's generators are built to survive cryptanalysis: on a CPU, drawing a batch with them took
nine tenths of a training step of these small networks. Training data only has to be uniform and
unrelated from one number, step and seed to the next, which a hash of a counter is:

    u_i = 2⁻²⁴ ⌊h(h(i ⊕ k₀) + k₁) / 2⁸⌋

with (k₀, k₁) the words of a JAX key and h a bijection of 32 bits that spreads each bit over all.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, UInt32

Words = UInt32[Array, "..."]
Uniform = Float[Array, "..."]


def uniform(
    key: PRNGKeyArray, shape: tuple[int, ...], *, low: float = 0.0, high: float = 1.0
) -> Uniform:
    """Numbers between low and high, in steps of 2⁻²⁴ of the range."""
    words = jax.random.key_data(key)
    counter = jnp.arange(math.prod(shape), dtype=jnp.uint32).reshape(shape)
    bits = _mix(_mix(counter ^ words[0]) + words[1])
    fraction: Uniform = (bits >> 8).astype(jnp.float32) * jnp.float32(2**-24)
    scaled: Uniform = low + (high - low) * fraction
    return scaled


def _mix(word: Words) -> Words:
    """Shifts and odd multipliers, each of which is invertible modulo 2³²."""
    word = (word ^ (word >> 16)) * jnp.uint32(0x7FEB352D)
    word = (word ^ (word >> 15)) * jnp.uint32(0x846CA68B)
    return word ^ (word >> 16)
