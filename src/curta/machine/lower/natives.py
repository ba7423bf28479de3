"""Native instructions: what the library imports from "curta", as core instructions.

Modules of users may import them too, and operations that the machine is extended by. The table says
their types, in words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from curta.errors import LinkError
from curta.machine.instructions import TRAPS
from curta.machine.lower.body import Body
from curta.machine.lower.layout import (
    ARGUMENTS,
    ARGUMENTS_LENGTH,
    ENVIRONMENT,
    ENVIRONMENT_LENGTH,
    SCRATCH,
    STATE,
)
from curta.machine.parts.operations import Extension
from curta.machine.wasm.module import FunctionType
from curta.machine.wasm.opcodes import ValueType

MODULE = "curta"
_END_OF_BYTES = 0xFFFF_FFFF
_ERRORS_FILE = 2


def _value2(name: str) -> Callable[[Body], None]:
    def native(body: Body) -> None:
        a, b = body.pop_words(2)
        body.push(body.binary(name, a, b))

    return native


def _sum3(body: Body) -> None:
    a, b, c = body.pop_words(3)
    body.push(add3(body, a, b, c))


def _difference3(body: Body) -> None:
    a, b, c = body.pop_words(3)
    body.push(sub3(body, a, b, c))


def _funnel(name: str) -> Callable[[Body], None]:
    def native(body: Body) -> None:
        high, low, amount = body.pop_words(3)
        body.push(funnel(body, name, high, low, amount))

    return native


def add3(body: Body, a: int, b: int, c: int, word: int = 0, avoid: tuple[int, ...] = ()) -> int:
    """The operand a + b + c."""
    registers = [operand for operand in (a, b, c) if operand >= 0]
    constant = sum(~operand for operand in (a, b, c) if operand < 0) % (1 << 32)
    if len(registers) < 2:
        first = registers[0] if registers else ~0
        return body.binary("add", first, ~constant, None, word, avoid)
    if len(registers) == 2 and constant == 0:
        return body.binary("add", registers[0], registers[1], None, word, avoid)
    d = body.new(word, avoid)
    if len(registers) == 2:
        body.add("add3", d, registers[0], -1, registers[1], constant)
    else:
        body.add("add3", d, *registers)
    return d


def sub3(body: Body, a: int, b: int, c: int, word: int = 0, avoid: tuple[int, ...] = ()) -> int:
    """The operand a - b - c."""
    if b < 0:
        b, c = c, b
    if c < 0:
        if b < 0:
            return body.binary("sub", a, ~((~b + ~c) % (1 << 32)), None, word, avoid)
        if c == ~0:
            return body.binary("sub", a, b, None, word, avoid)
        b, c = c, b
    d = body.new(word, avoid)
    if b < 0:
        body.add("sub3", d, body.register(a), -1, c, ~b)
    else:
        body.add("sub3", d, body.register(a), b, c)
    return d


def funnel(
    body: Body,
    name: str,
    high: int,
    low: int,
    amount: int,
    word: int = 0,
    avoid: tuple[int, ...] = (),
) -> int:
    """The operand that a funnel shift gives."""
    left = name == "funnel_shl"
    if amount < 0:
        count = ~amount % 32
        if count == 0:
            return high if left else low
        if high < 0 and low < 0:
            whole = ~high << 32 | ~low
            return ~((whole << count >> 32 if left else whole >> count) % (1 << 32))
        if high == ~0:
            return body.binary("shr_u", low, ~(32 - count if left else count), None, word, avoid)
        if low == ~0:
            return body.binary("shl", high, ~(count if left else 32 - count), None, word, avoid)
    d = body.new(word, avoid)
    a, c = body.register(high), body.register(low)
    if amount < 0:
        body.add(name, d, a, -1, c, ~amount)
    else:
        body.add(name, d, a, amount, c)
    return d


def _trap(body: Body) -> None:
    """The number of a trap is part of the instruction: one that is computed is looked for."""
    code = body.pop()
    numbers = [~code] if code < 0 else list(range(len(TRAPS)))
    for number in numbers[:-1]:
        other = body.new_label()
        body.jump("jump_ne", other, code, immediate=number)
        body.add("trap", immediate=number)
        body.put_label(other)
    body.trap(min(numbers[-1], len(TRAPS) - 1))


def _exit(body: Body) -> None:
    """The word that was said last is the exit code."""
    body.copy(SCRATCH, body.pop())
    body.add("exit")
    body.live = False


def _say(body: Body, name: str, byte: int) -> None:
    if byte < 0:
        body.add(name, immediate=~byte % 256)
    else:
        body.add(name, b=byte)


def _write(body: Body) -> None:
    file, byte = body.pop_words(2)
    if file < 0:
        _say(body, "write_err" if ~file == _ERRORS_FILE else "write_out", byte)
        return
    errors, done = body.new_label(), body.new_label()
    body.jump("jump_eq", errors, file, immediate=_ERRORS_FILE)
    _say(body, "write_out", byte)
    body.put_label(done)
    before = body.aside()
    body.put_label(errors)
    _say(body, "write_err", byte)
    body.jump("jump", done)
    body.rarely(body.steps)
    body.steps = before


def _read(body: Body) -> None:
    d = body.new()
    body.add("read", d)
    body.push(d)


def _string_byte(length: int, place: int) -> Callable[[Body], None]:
    """A byte of the arguments or the environment, or the end."""

    def native(body: Body) -> None:
        index = body.register(body.pop())
        within, done, limit = body.new_label(), body.new_label(), body.temporary()
        d = body.new(0, (index,))
        body.add("peek32", limit, body.register(~0), immediate=length)
        body.jump("jump_lt_u", within, index, limit)
        body.copy(d, ~_END_OF_BYTES)
        body.jump("jump", done)
        body.put_label(within)
        body.add("peek8", d, index, immediate=place)
        body.put_label(done)
        body.push(d)

    return native


def _private_place(body: Body, operand: int, base: int) -> tuple[int, int]:
    """Register and immediate of an address in the private memory."""
    if operand < 0 and ~operand + base < 1 << 32:
        return body.register(~0), ~operand + base
    return body.register(operand), base


def _peek(name: str, base: int = 0, shift: int = 0) -> Callable[[Body], None]:
    def native(body: Body) -> None:
        place = body.pop()
        if shift:
            place = body.binary("shl", place, ~shift, body.temporary())
        register, immediate = _private_place(body, place, base)
        d = body.new()
        body.add(name, d, register, immediate=immediate)
        body.push(d)

    return native


def _poke(name: str, base: int = 0, shift: int = 0) -> Callable[[Body], None]:
    def native(body: Body) -> None:
        place, value = body.pop_words(2)
        if shift:
            place = body.binary("shl", place, ~shift, body.temporary())
        register, immediate = _private_place(body, place, base)
        body.add(name, a=register, c=body.register(value), immediate=immediate)

    return native


_NATIVES: dict[str, tuple[int, int, Callable[[Body], None]]] = {
    "mul_high": (2, 1, _value2("mul_high")),
    "carry": (2, 1, _value2("carry")),
    "add3": (3, 1, _sum3),
    "sub3": (3, 1, _difference3),
    "funnel_shl": (3, 1, _funnel("funnel_shl")),
    "funnel_shr": (3, 1, _funnel("funnel_shr")),
    "trap": (1, 0, _trap),
    "exit": (1, 0, _exit),
    "write": (2, 0, _write),
    "read": (0, 1, _read),
    "argument": (1, 1, _string_byte(ARGUMENTS_LENGTH, ARGUMENTS)),
    "environ": (1, 1, _string_byte(ENVIRONMENT_LENGTH, ENVIRONMENT)),
    "load_state": (1, 1, _peek("peek32", STATE, 2)),
    "store_state": (2, 0, _poke("poke32", STATE, 2)),
    "peek8": (1, 1, _peek("peek8")),
    "peek32": (1, 1, _peek("peek32")),
    "poke8": (2, 0, _poke("poke8")),
    "poke32": (2, 0, _poke("poke32")),
}
"""Parameters and results, all i32, and what adds the steps."""


def call_native(body: Body, name: str) -> None:
    extension = body.context.extensions.get(name)
    if extension is None:
        _NATIVES[name][2](body)
    else:
        _extended(body, extension)


def _extended(body: Body, extension: Extension) -> None:
    """One instruction; only its second source may be a constant."""
    first, *others = body.pop_words(extension.parameters)
    d = body.new()
    step = body.add(extension.name, d, body.register(first))
    if others:
        second = others[0]
        step.b, step.immediate = (second, 0) if second >= 0 else (-1, ~second)
    if len(others) > 1:
        step.c = body.register(others[1])
    body.push(d)


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
