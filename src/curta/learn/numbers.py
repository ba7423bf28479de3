"""Numbers as digits, on the device: no integer type bounds their length.

A number holds its digits least significant first, with zeros beyond its length. All functions
here treat one number; `jax.vmap` makes them treat a batch.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from curta.errors import ExperimentError


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


def places_of(value: int, base: int = 10) -> int:
    """The digits of a Python integer that is not negative; one for zero."""
    places = 1
    while value >= base**places:
        places += 1
    return places


def constant(value: int, base: int = 10) -> Number:
    """A Python integer that is not negative."""
    places = places_of(value, base)
    digits = [value // base**place % base for place in range(places)]
    return number(jnp.array(digits, jnp.int32))


def from_integer(value: Int[Array, "*batch"], places: int, base: int = 10) -> Number:
    """The digits of a machine integer that has room in `places` digits and may be negative."""
    return number(from_natural(jnp.abs(value), places, base).digits, negative=value < 0)


def from_natural(value: Int[Array, "*batch"], places: int, base: int = 10) -> Number:
    """The digits of a machine integer that has room in `places` digits and is never negative."""
    digits = []
    for _ in range(places):
        digits.append(value % base)
        value = value // base
    return number(jnp.stack(digits, axis=-1))


def to_integer(given: Number, base: int = 10) -> Int[Array, "*batch"]:
    """The value of an integer, which has to have room in 31 bits."""
    if base**given.places > 2**31:
        raise ExperimentError(
            f"to_integer: numbers of {given.places} digits in base {base} do not fit in 31 bits; "
            "let the task's digits_at_most say how long its operands may be, or compute on digits"
        )
    value = jnp.zeros_like(given.length)
    for place in reversed(range(given.places)):
        value = value * base + given.digits[..., place]
    return jnp.where(given.negative, -value, value)


def widened(digits: Int[Array, " places"], places: int) -> Int[Array, " more"]:
    """The same digits with room for more, or for fewer where those left out are zeros."""
    if places <= digits.shape[-1]:
        return digits[..., :places]
    return jnp.pad(digits, (0, places - digits.shape[-1]))


def shifted(digits: Int[Array, " places"], by: Int[Array, ""] | int) -> Int[Array, " places"]:
    """Digits times base^by, in the same room; a negative shift drops digits."""
    source = jnp.arange(digits.shape[-1]) - by
    inside = (source >= 0) & (source < digits.shape[-1])
    return jnp.where(inside, digits[jnp.where(inside, source, 0)], 0)


def limited(given: Number, places: int) -> Number:
    """The last `places` digits: the number modulo base^places. Without a limit, 0, the number."""
    if not 0 < places < given.places:
        return given
    digits = given.digits[:places]
    length = jnp.where(given.length > places, significant(digits), given.length)
    return number(digits, length)


def choose(condition: Bool[Array, ""], a: Number, b: Number) -> Number:
    """One number or the other."""
    places = max(a.places, b.places)
    return Number(
        digits=jnp.where(condition, widened(a.digits, places), widened(b.digits, places)),
        length=jnp.where(condition, a.length, b.length),
        negative=jnp.where(condition, a.negative, b.negative),
        fraction=jnp.where(condition, a.fraction, b.fraction),
        signed=a.signed or b.signed,
        pointed=a.pointed or b.pointed,
    )


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


def total(rows: Number, base: int = 10) -> Number:
    """The sum of a row of numbers that are not negative; absent ones have no digits."""
    count, places = rows.digits.shape
    digits, _ = carried(
        widened(rows.digits.sum(axis=0), places_of(count * (base**places - 1), base)), base
    )
    return number(digits)


def signed_sum(
    a: Int[Array, " places"], b: Int[Array, " places"], base: int = 10
) -> tuple[Int[Array, " places"], Bool[Array, ""]]:
    """The digits of |a + b| in the same room, where all digits of a number share its sign.

    Also says whether the sum is negative. The place behind the last must not be needed.
    """
    sums = a + b
    _, carries = carried(sums, base)
    negative = carries[-1] < 0
    digits, _ = carried(jnp.where(negative, -sums, sums), base)
    return digits, negative


def compare(a: Number, b: Number) -> Int[Array, ""]:
    """-1, 0 or 1: the sign of |a| - |b| for integers."""
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


def convolved(a: Int[Array, " m"], b: Int[Array, " n"]) -> Int[Array, " m+n"]:
    """The products of all pairs of digits, summed up by their places; not carried.

    Row i of the table of products has to move by i places: read in rows that are one shorter, it
    does so by itself.
    """
    m, n = a.shape[-1], b.shape[-1]
    table = jnp.pad(a[:, None] * b, ((0, 0), (0, m))).reshape(-1)
    return widened(table[: m * (m + n - 1)].reshape(m, m + n - 1).sum(axis=0), m + n)


def multiply(a: Number, b: Number, base: int = 10) -> Number:
    """The product: digits are multiplied place by place, then carried."""
    products = convolved(a.digits, b.digits)
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


def fixed(given: Number, places: int, point: int) -> Int[Array, " places"]:
    """Digits in a room with the point before place `point`: value = digits / base^point."""
    return shifted(widened(given.digits, places), point - given.fraction)


def pointed(
    digits: Int[Array, " places"],
    point: Int[Array, ""] | int,
    negative: Bool[Array, ""] | None = None,
) -> Number:
    """The number digits / base^point, without zeros at its end behind the point."""
    place = jnp.arange(digits.shape[-1])
    lowest = jnp.min(jnp.where(digits != 0, place, digits.shape[-1]))
    dropped = jnp.minimum(lowest, point)
    kept = shifted(digits, -dropped)
    fraction = point - dropped
    length = jnp.maximum(significant(kept), fraction + 1)
    return number(kept, length, negative=negative, fraction=fraction)


def greatest_common_divisor(a: Int[Array, ""], b: Int[Array, ""]) -> Int[Array, ""]:
    """Euclid's: of machine integers that are not negative."""
    result, _ = jax.lax.while_loop(
        lambda pair: pair[1] != 0, lambda pair: (pair[1], pair[0] % pair[1]), (a, b)
    )
    return result
