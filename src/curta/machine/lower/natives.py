"""Native instructions: what the library imports from "curta", as core instructions.

Modules of users may import them too, and operations that the machine is extended by. The table says
their types, in words.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from curta.errors import LinkError
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
from curta.machine.parts.operations import Extension
from curta.machine.wasm.module import FunctionType
from curta.machine.wasm.opcodes import ValueType

MODULE = "curta"
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


_NATIVES: dict[str, tuple[int, int, Compute]] = {
    "mul_high": (2, 1, partial(value, "mul_high")),
    "carry": (2, 1, partial(value, "carry")),
    "add3": (3, 1, partial(value, "add3")),
    "sub3": (3, 1, partial(value, "sub3")),
    "funnel_shl": (3, 1, partial(_funnel, "funnel_shl")),
    "funnel_shr": (3, 1, partial(_funnel, "funnel_shr")),
    "trap": (1, 0, _trap),
    "exit": (1, 0, _exit),
    "write": (2, 0, _write),
    "read": (0, 1, lambda b: (b.compute("read"),)),
    "argument": (1, 1, partial(_string_byte, ARGUMENTS_LENGTH, ARGUMENTS)),
    "environ": (1, 1, partial(_string_byte, ENVIRONMENT_LENGTH, ENVIRONMENT)),
    "load_state": (1, 1, partial(_peek, "peek32", STATE, 2)),
    "store_state": (2, 0, partial(_poke, "poke32", STATE, 2)),
    "peek8": (1, 1, partial(_peek, "peek8", 0, 0)),
    "peek32": (1, 1, partial(_peek, "peek32", 0, 0)),
    "poke8": (2, 0, partial(_poke, "poke8", 0, 0)),
    "poke32": (2, 0, partial(_poke, "poke32", 0, 0)),
}
"""Parameters and results, all i32, and what computes the results."""


def call_native(b: Builder, name: str, words: Values) -> Values:
    if name in b.context.extensions:
        return value(name, b, *words)
    return _NATIVES[name][2](b, *words) or ()


def check_native(name: str, type_: FunctionType, extensions: Mapping[str, Extension]) -> None:
    """Refuse what is not a native instruction, or not used as one."""
    if name in extensions and name in _NATIVES:
        raise LinkError(
            f'ambiguous import: "curta" "{name}" is an extension here, and what programs of any '
            "machine may import; give the extension another name"
        )
    if name in extensions:
        takes, gives = extensions[name].parameters, 1
    elif name in _NATIVES:
        takes, gives, _ = _NATIVES[name]
    else:
        raise LinkError(f'unknown import: "curta" "{name}" {_unknown(name)}')
    one: tuple[ValueType, ...] = ("i32",)
    expected = FunctionType(one * takes, one * gives)
    if type_ != expected:
        raise LinkError(f'incompatible import type: "curta" "{name}" is {expected}, not {type_}')


def _unknown(name: str) -> str:
    """Why there is no such instruction, and what to do."""
    from curta.machine.extensions import built_in

    if name in built_in():
        return (
            f"is an extension, which this machine does not have; build one that does: "
            f"Machine(extensions=[{name.upper()}]), with {name.upper()} from {built_in()[name]} "
            f"(--extension {name})"
        )
    return (
        f"is no native instruction; there are {', '.join(sorted(_NATIVES))}; machines can have "
        f"others as extensions (--extension), of which there are {', '.join(built_in())}"
    )
