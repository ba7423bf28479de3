"""Numbers as digits, on the device: no integer type bounds their length.

A number holds its digits least significant first, with zeros beyond its length. All functions
here treat one number; `jax.vmap` makes them treat a batch.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int


class Number(eqx.Module):
    """A number in some base. Zero has one digit; a length of zero means that there is no number."""

    digits: Int[Array, "*batch places"]
    length: Int[Array, "*batch"]
    negative: Bool[Array, "*batch"]
    fraction: Int[Array, "*batch"]
    """How many of the digits are behind the point."""
    signed: bool = eqx.field(static=True, default=False)
    """Whether it may be negative: leaves room for the sign when it is written."""
    pointed: bool = eqx.field(static=True, default=False)
    """Whether there may be digits behind the point: leaves room for that."""

    @property
    def places(self) -> int:
        """The room for digits."""
        return int(self.digits.shape[-1])


def number(
    digits: Int[Array, "*batch places"],
    length: Int[Array, "*batch"] | None = None,
    *,
    negative: Bool[Array, "*batch"] | None = None,
    fraction: Int[Array, "*batch"] | None = None,
) -> Number:
    """A number of these digits; without a length, as long as it has to be."""
    if length is None:
        length = significant(digits)
    none = jnp.zeros_like(length)
    return Number(
        digits=digits,
        length=length,
        negative=none.astype(bool) if negative is None else negative,
        fraction=none if fraction is None else fraction,
        signed=negative is not None,
        pointed=fraction is not None,
    )


def significant(digits: Int[Array, "*batch places"]) -> Int[Array, "*batch"]:
    """How many digits there are without leading zeros; one for zero."""
    places = jnp.arange(1, digits.shape[-1] + 1)
    return jnp.maximum(jnp.max(jnp.where(digits != 0, places, 0), axis=-1), 1)


def from_integer(value: Int[Array, ""], places: int, base: int = 10) -> Number:
    """The digits of a machine integer that has room in `places` digits."""
    size = jnp.abs(value)
    digits = []
    for _ in range(places):
        digits.append(size % base)
        size = size // base
    return number(jnp.stack(digits, axis=-1), negative=value < 0)


def to_integer(given: Number, base: int = 10) -> Int[Array, ""]:
    """The value of an integer that fits in 31 bits."""
    value = jnp.zeros_like(given.length)
    for place in reversed(range(given.places)):
        value = value * base + given.digits[..., place]
    return jnp.where(given.negative, -value, value)


def widened(digits: Int[Array, " places"], places: int) -> Int[Array, " more"]:
    """The same digits with room for more, or for fewer where those left out are zeros."""
    if places <= digits.shape[-1]:
        return digits[..., :places]
    return jnp.pad(digits, (0, places - digits.shape[-1]))


def carried(
    sums: Int[Array, " places"], base: int
) -> tuple[Int[Array, " places"], Int[Array, " places"]]:
    """Proper digits out of sums that may be negative or larger than a digit.

    Also says what was carried out of each place; the last one is negative if the whole is.
    """

    def step(carry: Array, term: Array) -> tuple[Array, tuple[Array, Array]]:
        total = term + carry
        carry = total // base
        return carry, (total - carry * base, carry)

    _, (digits, carries) = jax.lax.scan(step, jnp.zeros_like(sums[0]), sums)
    return digits, carries


def add(a: Number, b: Number, base: int = 10) -> Number:
    """The sum of two numbers that are not negative."""
    places = max(a.places, b.places) + 1
    digits, _ = carried(widened(a.digits, places) + widened(b.digits, places), base)
    return number(digits)


def compare(a: Number, b: Number) -> Int[Array, ""]:
    """-1, 0 or 1: the sign of |a| - |b|."""
    places = max(a.places, b.places)
    differences = jnp.sign(widened(a.digits, places) - widened(b.digits, places))

    def step(verdict: Array, difference: Array) -> tuple[Array, None]:
        return jnp.where(difference != 0, difference, verdict), None

    verdict, _ = jax.lax.scan(step, jnp.zeros_like(differences[0]), differences)
    return verdict


def subtract(a: Number, b: Number, base: int = 10) -> Number:
    """a - b, for two numbers that are not negative; the result may be."""
    places = max(a.places, b.places)
    sign = compare(a, b)
    difference = widened(a.digits, places) - widened(b.digits, places)
    digits, _ = carried(jnp.where(sign < 0, -difference, difference), base)
    return number(digits, negative=sign < 0)


def multiply(a: Number, b: Number, base: int = 10) -> Number:
    """The product: digits are multiplied place by place, then carried."""
    places = a.places + b.places
    products = jnp.zeros((places,), a.digits.dtype)
    for place in range(b.places):
        products = products.at[place : place + a.places].add(a.digits * b.digits[place])
    digits, _ = carried(products, base)
    if not (a.signed or b.signed):
        return number(digits)
    return number(digits, negative=(a.negative ^ b.negative) & (digits != 0).any())


def divide(a: Number, b: Number, base: int = 10) -> tuple[Number, Number]:
    """Quotient and remainder of two numbers that are not negative, b not zero: long division."""
    width = b.places + 1
    divisor = widened(b.digits, width)

    def step(rest: Array, digit: Array) -> tuple[Array, Array]:
        rest = jnp.concatenate([digit[None], rest[:-1]])
        multiples = jnp.arange(base)[:, None] * divisor
        left, borrowed = jax.vmap(lambda m: carried(rest - m, base))(multiples)
        times = jnp.sum(borrowed[:, -1] >= 0) - 1
        return left[times], times

    rest, quotient = jax.lax.scan(step, jnp.zeros_like(divisor), a.digits[::-1])
    return number(quotient[::-1]), number(rest[: b.places])
