"""Digits on the device against Python's integers."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curta.learn import numbers
from curta.learn.numbers import Number
from tests.support.learn_texts import FAST_COMPILE
from tests.support.slow import draws

PLACES = 100
BASES = (2, 10, 16, 1000)
SHORT = 12
"""Room for products and quotients, whose programs are larger."""


def digits_of(value: int, base: int, places: int) -> np.ndarray:
    return np.array([value // base**place % base for place in range(places)], np.int32)


def value_of(given: Number, base: int) -> int | Fraction:
    """The value of a number; checks that its digits are proper."""
    digits, length = np.asarray(given.digits).tolist(), int(given.length)
    assert all(0 <= digit < base for digit in digits)
    assert not any(digits[length:])
    value = Fraction(sum(digit * base**place for place, digit in enumerate(digits)))
    value /= base ** int(given.fraction)
    return -value if given.negative else value


def shortest(given: Number) -> bool:
    """Whether there are no zeros before it."""
    length = int(given.length)
    return length == 1 or int(given.digits[length - 1]) > 0


@cache
def compiled(name: str, base: int, places: int) -> Callable[..., object]:
    """A function of two rows of digits, compiled once."""

    def call(a: jax.Array, b: jax.Array) -> object:
        function = getattr(numbers, name)
        return function(
            numbers.number(a), numbers.number(b), *([] if name == "compare" else [base])
        )

    row = jax.ShapeDtypeStruct((places,), jnp.int32)
    return jax.jit(call).lower(row, row).compile(FAST_COMPILE)  # type: ignore[no-any-return]


EXPECTED: dict[str, Callable[[int, int], object]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: (a // b, a % b),
    "compare": lambda a, b: (a > b) - (a < b),
}


@st.composite
def pairs(draw: st.DrawFn, bases: tuple[int, ...]) -> tuple[int, int, int]:
    """Two numbers of any lengths in a base; often nearly the same ones."""
    base = draw(st.sampled_from(bases))
    below = [base ** draw(st.integers(1, SHORT)) - 1 for _ in range(2)]
    a = draw(st.integers(0, below[0]) | st.just(below[0]))
    near = st.integers(max(a - 2, 0), min(a + 2, base**SHORT - 1))
    return a, draw(st.integers(0, below[1]) | near), base


@pytest.mark.parametrize("name", EXPECTED)
@settings(max_examples=draws(60), deadline=None)
@given(pair=pairs((10,)))
def test_two_numbers(name: str, pair: tuple[int, int, int]) -> None:
    check(name, *pair)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPECTED)
@settings(max_examples=draws(200), deadline=None)
@given(pair=pairs(BASES))
def test_two_numbers_in_other_bases(name: str, pair: tuple[int, int, int]) -> None:
    check(name, *pair)


def check(name: str, a: int, b: int, base: int) -> None:
    """Compare a function of two numbers."""
    b = max(b, 1) if name == "divide" else b
    found = compiled(name, base, SHORT)(digits_of(a, base, SHORT), digits_of(b, base, SHORT))
    wanted = EXPECTED[name](a, b)
    if name == "compare":
        assert int(found) == wanted
        return
    for each, right in zip(
        *((x if isinstance(x, tuple) else (x,)) for x in (found, wanted)), strict=True
    ):
        assert value_of(each, base) == right
        assert shortest(each)


@settings(max_examples=draws(60), deadline=None)
@given(st.integers(0, 10**PLACES - 1), st.integers(0, 10**PLACES - 1), st.integers(0, PLACES))
def test_long_numbers(a: int, b: int, common: int) -> None:
    b = a // 10**common * 10**common + b % 10**common
    rows = digits_of(a, 10, PLACES), digits_of(b, 10, PLACES)
    for name in ("add", "subtract", "compare"):
        found = compiled(name, 10, PLACES)(*rows)
        right = EXPECTED[name](a, b)
        assert (int(found) if name == "compare" else value_of(found, 10)) == right


@pytest.mark.slow
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("name", ["multiply", "divide"])
@settings(max_examples=draws(30), deadline=None)
@given(data=st.data())
def test_long_products_and_quotients(name: str, base: int, data: st.DataObject) -> None:
    places = 40
    a = data.draw(st.integers(0, base**places - 1))
    b = data.draw(st.integers(1, base ** data.draw(st.integers(1, places)) - 1))
    found = compiled(name, base, places)(digits_of(a, base, places), digits_of(b, base, places))
    if name == "multiply":
        assert value_of(found, base) == a * b
    else:
        assert tuple(value_of(each, base) for each in found) == divmod(a, b)


ONE_ROOM = 9


@cache
def others() -> Callable[..., tuple[object, ...]]:
    """All smaller functions in one program, to be compiled once."""

    def call(a: jax.Array, b: jax.Array, fraction: jax.Array, by: jax.Array) -> tuple[object, ...]:
        whole = numbers.number(a)
        decimal = numbers.number(a, fraction=fraction)
        rows = Number(
            jnp.stack([a, b, a]),
            jnp.stack([whole.length, numbers.significant(b), whole.length]),
            jnp.zeros(3, bool),
            jnp.zeros(3, int),
        )
        wide = jnp.pad(-a, (0, 1)), jnp.pad(b, (0, 1))
        return (
            numbers.total(rows),
            numbers.signed_sum(*wide),
            numbers.shifted(a, by),
            numbers.limited(whole, 4),
            numbers.choose(by > 0, whole, numbers.number(b)),
            numbers.pointed(numbers.fixed(decimal, 2 * ONE_ROOM, ONE_ROOM), ONE_ROOM),
            numbers.greatest_common_divisor(
                numbers.to_integer(whole), numbers.to_integer(numbers.number(b))
            ),
            numbers.from_integer(-numbers.to_integer(whole), ONE_ROOM),
            numbers.convolved(a, b[:3]),
        )

    row = jax.ShapeDtypeStruct((ONE_ROOM,), jnp.int32)
    one = jax.ShapeDtypeStruct((), jnp.int32)
    return jax.jit(call).lower(row, row, one, one).compile(FAST_COMPILE)  # type: ignore[no-any-return]


@settings(max_examples=draws(80), deadline=None)
@given(
    st.integers(0, 10**ONE_ROOM - 1)
    | st.integers(0, 99)
    | st.integers(1, 9).map(lambda n: n * 10**7),
    st.integers(0, 10**ONE_ROOM - 1) | st.just(0),
    st.integers(0, ONE_ROOM - 1),
    st.integers(-ONE_ROOM, ONE_ROOM),
)
def test_the_rest(a: int, b: int, fraction: int, by: int) -> None:
    rows = digits_of(a, 10, ONE_ROOM), digits_of(b, 10, ONE_ROOM)
    found = others()(*rows, np.int32(fraction), np.int32(by))
    total, (sums, negative), moved, limited, chosen, decimal, divisor, back, products = found
    assert value_of(total, 10) == 2 * a + b
    assert value_of(numbers.number(sums, negative=negative), 10) == b - a
    assert value_of(numbers.number(moved), 10) == int(a * Fraction(10) ** by) % 10**ONE_ROOM
    assert value_of(limited, 10) == a % 10**4
    assert shortest(limited)
    assert value_of(chosen, 10) == (a if by > 0 else b)
    assert value_of(decimal, 10) == Fraction(a, 10**fraction)
    last = int(decimal.digits[0])
    assert last > 0 or int(decimal.fraction) == 0
    assert int(divisor) == math.gcd(a, b)
    assert value_of(back, 10) == -a
    assert sum(int(term) * 10**place for place, term in enumerate(products)) == a * (b % 1000)


@pytest.mark.parametrize("base", BASES)
def test_constants(base: int) -> None:
    for value in (0, 1, base - 1, base, base**3 - 1, 123456):
        written = numbers.constant(value, base)
        assert value_of(written, base) == value
        assert int(written.length) == written.places == numbers.places_of(value, base)
