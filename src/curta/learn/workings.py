"""How problems are worked out by hand: what formats with intermediate steps have to write.

Each of these is a row of steps with room for the longest problem, and a count of those that are
needed. Nothing here knows how steps are written.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from curta.learn.numbers import Number, carried, choose, compare, number, shifted, widened


class Columns(eqx.Module):
    """Sums and differences, place by place from the right.

    At every place: x_1 + x_2 + ... + carry = digit + base * next carry; and for a difference
    x_1 - x_2 - carry = digit - base * next carry.
    """

    operands: Number
    """A row of numbers; of a difference, the larger one first."""
    carry: Int[Array, " steps"]
    digit: Int[Array, " steps"]
    next_carry: Int[Array, " steps"]
    count: Int[Array, ""]
    swapped: Bool[Array, ""]
    """Whether the operands of a difference were swapped, and the result is negative."""
    operator: str = eqx.field(static=True)

    @property
    def most_carry(self) -> int:
        """The largest carry that can occur: n numbers carry at most n - 1."""
        return max(self.operands.digits.shape[0] - 1, 1)


def sum_columns(operands: Number, base: int) -> Columns:
    """The steps of a sum: as many as the longest operand has digits."""
    digit, next_carry = carried(operands.digits.sum(axis=0), base)
    return Columns(
        operands=operands,
        carry=jnp.pad(next_carry[:-1], (1, 0)),
        digit=digit,
        next_carry=next_carry,
        count=operands.length.max(),
        swapped=jnp.array(False),
        operator="+",
    )


def difference_columns(a: Number, b: Number, base: int) -> Columns:
    """The steps of a difference: the smaller number is taken from the larger one."""
    swapped = compare(a, b) < 0
    larger, smaller = choose(swapped, b, a), choose(swapped, a, b)
    digit, next_carry = carried(larger.digits - smaller.digits, base)
    operands = stacked((larger, smaller))
    return Columns(
        operands=operands,
        carry=jnp.pad(-next_carry[:-1], (1, 0)),
        digit=digit,
        next_carry=-next_carry,
        count=operands.length.max(),
        swapped=swapped,
        operator="-",
    )


class Partials(eqx.Module):
    """A product as a sum: a * b = sum over places j of a * b_j * base^j.

    Step j stands for the digit b_j. Totals are those of the steps up to and with j: from the right
    (`from_right`) and from the left (`from_left`).
    """

    first: Number
    second: Number
    digit_carries: Int[Array, "steps places"]
    """What is carried into each place of a * b_j."""
    products: Int[Array, "steps digits"]
    """a * b_j * base^j."""
    from_right: Int[Array, "steps digits"]
    from_left: Int[Array, "steps digits"]


def product_partials(a: Number, b: Number, base: int) -> Partials:
    """The steps of a product."""
    places = a.places + b.places

    def step(digit: Array, place: Array) -> tuple[Array, Array]:
        product, carries = carried(widened(a.digits, a.places + 1) * digit, base)
        return shifted(widened(product, places), place), carries

    products, carries = jax.vmap(step)(b.digits, jnp.arange(b.places))

    def totals(rows: Int[Array, "steps digits"]) -> Int[Array, "steps digits"]:
        return jax.vmap(lambda row: carried(row, base)[0])(jnp.cumsum(rows, axis=0))

    return Partials(
        first=a,
        second=b,
        digit_carries=jnp.pad(carries[:, : a.places - 1], ((0, 0), (1, 0))),
        products=products,
        from_right=totals(products),
        from_left=totals(products[::-1])[::-1],
    )


class Quotients(eqx.Module):
    """A quotient from its first digit: rest - divisor * q_j * base^j = next rest.

    Step j stands for the digit q_j; the first step is the one with the highest place.
    """

    divisor: Number
    quotient: Number
    rests: Int[Array, "steps digits"]
    """Before the step for place j."""
    products: Int[Array, "steps digits"]
    """divisor * q_j * base^j."""
    next_rests: Int[Array, "steps digits"]


def quotient_steps(a: Number, b: Number, quotient: Number, base: int) -> Quotients:
    """The steps of a division whose quotient is known.

    The rest before place j is a - divisor * (the digits of the quotient above j).
    """
    steps = quotient.places
    wide = steps + b.places

    def row(digit: Array, place: Array) -> Array:
        return shifted(widened(b.digits * digit, wide), place)

    products = jax.vmap(row)(quotient.digits, jnp.arange(steps))
    above = jnp.cumsum(products[::-1], axis=0)[::-1]

    def proper(row: Int[Array, " digits"]) -> Int[Array, " digits"]:
        return carried(row, base)[0]

    full = widened(a.digits, wide)
    return Quotients(
        divisor=b,
        quotient=quotient,
        rests=jax.vmap(proper)(full - above + products)[:, : a.places],
        products=jax.vmap(proper)(products)[:, : a.places],
        next_rests=jax.vmap(proper)(full - above)[:, : a.places],
    )


def stacked(numbers: tuple[Number, ...]) -> Number:
    """A row of numbers with the same room."""
    places = max(each.places for each in numbers)
    return number(
        jnp.stack([widened(each.digits, places) for each in numbers]),
        jnp.stack([each.length for each in numbers]),
    )
