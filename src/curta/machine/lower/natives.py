"""Native instructions: what the library imports from "curta", as core instructions."""

from __future__ import annotations

from functools import partial

from curta.machine.instructions import TRAPS
from curta.machine.layout import (
    ARGUMENTS,
    ARGUMENTS_LENGTH,
    ENVIRONMENT,
    ENVIRONMENT_LENGTH,
    STATE,
)
from curta.machine.lower.accesses import place_of
from curta.machine.lower.builder import Builder, To, Values
from curta.machine.lower.code import Exit, Step, Value
from curta.machine.lower.conditions import branch, choose
from curta.machine.lower.numbers import Compute, value
from curta.machine.lower.rules import Operation

_END_OF_BYTES = 0xFFFF_FFFF
_ERRORS_FILE = 2


def _funnel(name: str, b: Builder, high: Value, low: Value, amount: Value) -> Values:
    return (b.value(name, high, amount, low),)


def _trap(b: Builder, code: Value) -> None:
    """The number of a trap is part of the instruction: one that is computed is looked for."""
    known = b.word(code)
    last = len(TRAPS) - 1
    for number in range(last) if known is None else ():
        this, other = To(b.new_join()), To(b.new_join())
        branch(b, Operation("eq", (code, b.constant(number))), this, other)
        b.begin(this.join)
        b.trap(number)
        b.begin(other.join)
    b.trap(last if known is None else min(known, last))


def _exit(b: Builder, code: Value) -> None:
    b.end(Exit(code, b.place))


def _say(b: Builder, name: str, byte: Value) -> Values:
    word = b.word(byte)
    b.do(Step(name, b=byte if word is None else b.constant(word % 256)))
    return ()


def _write(b: Builder, file: Value, byte: Value) -> None:
    word = b.word(file)
    if word is not None:
        _say(b, "write_err" if word == _ERRORS_FILE else "write_out", byte)
        return
    to_errors = Operation("eq", (file, b.constant(_ERRORS_FILE)))
    choose(b, to_errors, lambda: _say(b, "write_err", byte), lambda: _say(b, "write_out", byte), 1)


def _string_byte(length: int, place: int, b: Builder, index: Value) -> Values:
    """A byte of the arguments or the environment, or the end."""
    limit = b.load("peek32", b.constant(0), length)
    beyond = Operation("ge_u", (index, limit))
    end = (b.constant(_END_OF_BYTES),)
    return choose(b, beyond, end, lambda: (b.load("peek8", index, place),))


def _peek(name: str, base: int, shift: int, b: Builder, place: Value) -> Values:
    address = b.value("shl", place, b.constant(shift))
    return (b.load(name, *place_of(b, address, base)),)


def _poke(name: str, base: int, shift: int, b: Builder, place: Value, value: Value) -> None:
    address, offset = place_of(b, b.value("shl", place, b.constant(shift)), base)
    b.do(Step(name, a=address, c=value, immediate=offset))


_NATIVES: dict[str, Compute] = {
    "mul_high": partial(value, "mul_high"),
    "carry": partial(value, "carry"),
    "add3": partial(value, "add3"),
    "sub3": partial(value, "sub3"),
    "funnel_shl": partial(_funnel, "funnel_shl"),
    "funnel_shr": partial(_funnel, "funnel_shr"),
    "trap": _trap,
    "exit": _exit,
    "write": _write,
    "read": lambda b: (b.compute("read"),),
    "argument": partial(_string_byte, ARGUMENTS_LENGTH, ARGUMENTS),
    "environ": partial(_string_byte, ENVIRONMENT_LENGTH, ENVIRONMENT),
    "load_state": partial(_peek, "peek32", STATE, 2),
    "store_state": partial(_poke, "poke32", STATE, 2),
    "peek8": partial(_peek, "peek8", 0, 0),
    "peek32": partial(_peek, "peek32", 0, 0),
    "poke8": partial(_poke, "poke8", 0, 0),
    "poke32": partial(_poke, "poke32", 0, 0),
}
"""What computes the results."""


def call_native(b: Builder, name: str, words: Values) -> Values:
    if name in b.context.extensions:
        return value(name, b, *words)
    return _NATIVES[name](b, *words) or ()
