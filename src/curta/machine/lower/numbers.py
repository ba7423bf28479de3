"""Numeric instructions: what is done in place. All others are functions of the library."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from curta.machine.instructions import COMPARISONS
from curta.machine.lower import wide
from curta.machine.lower.builder import Builder
from curta.machine.lower.code import words
from curta.machine.lower.conditions import compare
from curta.machine.lower.rules import WIDE
from curta.machine.wasm.opcodes import OPCODES

_SIGN = 1 << 31
Handler = Callable[[Builder], None]


def _value(name: str, takes: int, b: Builder) -> None:
    b.push(b.value(name, *b.pop_words(takes)))


def _compare(name: str, takes: int, b: Builder) -> None:
    compare(b, name, *b.pop_words(takes))


def _is_zero(name: str, takes: int, b: Builder) -> None:
    compare(b, name, *b.pop_words(takes), *[b.constant(0)] * takes)


def _nothing(b: Builder) -> None:
    """The words stay what they are."""


def _library(name: str) -> Handler:
    signature = OPCODES[name].signature
    assert signature is not None  # numeric instructions have one
    takes, gives = words(signature.parameters), words(signature.results)
    return lambda b: b.call_library(name, takes, gives)


_OF_TWO_WORDS = (
    *("add", "sub", "mul", "div_s", "div_u", "rem_s", "rem_u"),
    *("and", "or", "xor", "shl", "shr_s", "shr_u", "rotl", "rotr"),
)
_REINTERPRETED = (("i32", "f32"), ("i64", "f64"), ("f32", "i32"), ("f64", "i64"))
_IN_PLACE: dict[str, Handler] = {
    **{f"i32.{name}": partial(_value, name, 2) for name in _OF_TWO_WORDS},
    **{f"i32.{name}": partial(_value, name, 1) for name in ("clz", "ctz", "popcnt")},
    "i32.extend8_s": partial(_value, "extend8", 1),
    "i32.extend16_s": partial(_value, "extend16", 1),
    **{f"i32.{name}": partial(_compare, name, 2) for name in COMPARISONS},
    "i32.eqz": partial(_is_zero, "eq", 1),
    **{f"i64.{name}": partial(_compare, WIDE + name, 4) for name in COMPARISONS},
    "i64.eqz": partial(_is_zero, WIDE + "eq", 2),
    **{f"i64.{name}": partial(wide.bitwise, name) for name in ("and", "or", "xor")},
    "i64.add": wide.add,
    "i64.sub": wide.sub,
    "i64.mul": wide.mul,
    **{f"i64.{name}": partial(wide.divide, name) for name in ("div_s", "div_u", "rem_s", "rem_u")},
    **{f"i64.{name}": partial(wide.shift, name) for name in wide.SHIFTS},
    "i64.popcnt": wide.popcnt,
    "i64.clz": partial(wide.count_zeros, "clz"),
    "i64.ctz": partial(wide.count_zeros, "ctz"),
    "i64.extend_i32_u": wide.extend_unsigned,
    "i64.extend_i32_s": wide.extend_signed,
    "i64.extend8_s": partial(wide.extend_within, "extend8"),
    "i64.extend16_s": partial(wide.extend_within, "extend16"),
    "i64.extend32_s": partial(wide.extend_within, ""),
    "i32.wrap_i64": wide.wrap,
    **{f"{target}.reinterpret_{source}": _nothing for target, source in _REINTERPRETED},
    "f64.mul": wide.multiply_doubles,
    "f32.neg": partial(wide.change_sign, "xor", _SIGN, 1),
    "f64.neg": partial(wide.change_sign, "xor", _SIGN, 2),
    "f32.abs": partial(wide.change_sign, "and", _SIGN - 1, 1),
    "f64.abs": partial(wide.change_sign, "and", _SIGN - 1, 2),
    "f32.copysign": partial(wide.copy_sign, 1),
    "f64.copysign": partial(wide.copy_sign, 2),
}
NUMERIC: dict[str, Handler] = {
    name: _IN_PLACE.get(name) or _library(name)
    for name, row in OPCODES.items()
    if 0x45 <= row.code < 0xFC08
}
"""What every numeric instruction does."""
