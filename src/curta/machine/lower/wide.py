"""Numbers of 64 bits as words: what is done in place."""

from __future__ import annotations

from collections.abc import Callable

from curta.machine.lower.builder import Builder, Values
from curta.machine.lower.code import Value
from curta.machine.lower.conditions import choose
from curta.machine.lower.rules import Operation

_HALF = 32
_SIGN = 1 << 31
Words = tuple[Value, Value]
"""The low one, the high one."""


def bitwise(name: str, b: Builder) -> None:
    bl, bh = b.pop_wide()
    al, ah = b.pop_wide()
    b.push(b.value(name, al, bl), b.value(name, ah, bh))


def add(b: Builder) -> None:
    bl, bh = b.pop_wide()
    al, ah = b.pop_wide()
    carry = b.value("carry", al, bl)
    b.push(b.value("add", al, bl), b.value("add3", ah, bh, carry))


def sub(b: Builder) -> None:
    bl, bh = b.pop_wide()
    al, ah = b.pop_wide()
    borrow = b.value("lt_u", al, bl)
    b.push(b.value("sub", al, bl), b.value("sub3", ah, bh, borrow))


def mul(b: Builder) -> None:
    bl, bh = b.pop_wide()
    al, ah = b.pop_wide()
    top, cross, other = b.value("mul_high", al, bl), b.value("mul", al, bh), b.value("mul", ah, bl)
    b.push(b.value("mul", al, bl), b.value("add3", top, cross, other))


def extend_signed(b: Builder) -> None:
    low = b.pop()
    b.push(low, b.value("shr_s", low, b.constant(31)))


def extend_unsigned(b: Builder) -> None:
    b.stack.append(b.constant(0))


def extend_within(name: str, b: Builder) -> None:
    low, _ = b.pop_wide()
    low = b.value(name, low) if name else low
    b.push(low, b.value("shr_s", low, b.constant(31)))


def wrap(b: Builder) -> None:
    b.pop()


def popcnt(b: Builder) -> None:
    low, high = b.pop_wide()
    count = b.value("add", b.value("popcnt", low), b.value("popcnt", high))
    b.push(count, b.constant(0))


def count_zeros(name: str, b: Builder) -> None:
    """Those of one word, unless there are only zeros in it."""
    low, high = b.pop_wide()
    first, second = (high, low) if name == "clz" else (low, high)
    count = b.value(name, first)

    def none() -> Values:
        return (b.value("add", b.value(name, second), b.constant(_HALF)),)

    some = Operation("ne", (first, b.constant(0)))
    b.push(*choose(b, some, (count,), none), b.constant(0))


# -- shifts ---------------------------------------------------------------------------------------


def shift(name: str, b: Builder) -> None:
    amount, _ = b.pop_wide()
    low, high = b.pop_wide()
    count = b.word(amount)
    if count is None:
        b.push(*_shift_by_value(b, name, (low, high), amount))
    else:
        few = count % 64 < _HALF
        shifted = _shift_few if few else _shift_many
        b.push(*shifted(b, name, (low, high), b.constant(count % _HALF)))


def _shift_by_value(b: Builder, name: str, words: Words, amount: Value) -> Values:
    """Amounts of less than 32 go straight on; the others exchange the words."""
    bit = b.value("and", amount, b.constant(_HALF))
    return choose(
        b,
        Operation("ne", (bit, b.constant(0))),
        lambda: _shift_many(b, name, words, amount),
        lambda: _shift_few(b, name, words, amount),
        rare=1,
    )


def _shift_few(b: Builder, name: str, words: Words, amount: Value) -> Words:
    """By less than 32."""
    low, high = words
    match name:
        case "shl":
            top = b.value("funnel_shl", high, amount, low)
            return b.value("shl", low, amount), top
        case "rotl":
            top = b.value("funnel_shl", high, amount, low)
            return b.value("funnel_shl", low, amount, high), top
        case "rotr":
            bottom = b.value("funnel_shr", high, amount, low)
            return bottom, b.value("funnel_shr", low, amount, high)
        case _:
            bottom = b.value("funnel_shr", high, amount, low)
            return bottom, b.value(name, high, amount)


def _shift_many(b: Builder, name: str, words: Words, amount: Value) -> Words:
    """By 32 and the amount's last five bits."""
    low, high = words
    match name:
        case "shl":
            return b.constant(0), b.value("shl", low, amount)
        case "shr_u":
            return b.value("shr_u", high, amount), b.constant(0)
        case "shr_s":
            return b.value("shr_s", high, amount), b.value("shr_s", high, b.constant(31))
        case _:
            return _shift_few(b, name, (high, low), amount)


# -- division, floats -----------------------------------------------------------------------------


def divide(name: str, b: Builder) -> None:
    """By a constant of one word it is less work, above all if the number is small, too."""
    divisor, above = (b.word(value) for value in b.stack[-2:])
    limit = 1 << 32 if name.endswith("_u") else _SIGN
    if divisor is None or above != 0 or not 0 < divisor < limit:
        b.call_library(f"i64.{name}", 4, 2)
        return
    b.pop_wide()
    low, high = b.pop_wide()

    def large() -> Values:
        amount = _HALF - divisor.bit_length()
        inverse = ((1 << 64) - 1) // (divisor << amount) % (1 << 32)
        numbers = (b.constant(word) for word in (divisor << amount, inverse, amount))
        b.push(low, high, *numbers)
        b.call_library(f"i64.{name}#", 5, 2)
        return b.pop_words(2)

    def small() -> Values:
        return b.value(f"{name[:3]}_u", low, b.constant(divisor)), b.constant(0)

    b.push(*choose(b, Operation("ne", (high, b.constant(0))), large, small))


def multiply_doubles(b: Builder) -> None:
    """A number by itself is half the work."""
    if b.stack[-2:] == b.stack[-4:-2]:
        b.pop_wide()
        b.call_library("f64.square", 2, 2)
    else:
        b.call_library("f64.mul", 4, 2)


def change_sign(name: str, constant: int, words: int, b: Builder) -> None:
    """neg and abs: on the last word."""
    *low, high = b.pop_words(words)
    b.push(*low, b.value(name, high, b.constant(constant)))


def copy_sign(words: int, b: Builder) -> None:
    *_, sign = b.pop_words(words)
    *low, magnitude = b.pop_words(words)
    bit = b.value("and", sign, b.constant(_SIGN))
    rest = b.value("and", magnitude, b.constant(_SIGN - 1))
    b.push(*low, b.value("or", rest, bit))


SHIFTS = ("shl", "shr_u", "shr_s", "rotl", "rotr")
Handler = Callable[[Builder], None]
